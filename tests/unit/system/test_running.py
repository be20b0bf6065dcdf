from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader_daemon.system import running
from grader_daemon.system.running import (
    give_back_memory,
    is_of_this_user,
    processor_seconds,
    told_seconds,
    usable_cores,
)
from tests.waiting import wait_until


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        pytest.param("max 100000", 8, id="no-quota"),
        pytest.param("250000 100000", 2, id="of-two-and-a-half"),
        pytest.param("50000 100000", 1, id="of-a-half"),
        pytest.param(None, 8, id="not-told"),
    ],
)
def test_processors_are_those_that_affinity_and_quota_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str | None, expected: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_text("0::/user.slice/grader\n")
    group = tmp_path / "user.slice" / "grader"
    group.mkdir(parents=True)
    if quota is not None:
        (group / "cpu.max").write_text(f"{quota}\n")

    assert usable_cores(tmp_path, tmp_path) == expected


def test_processors_are_counted_where_no_affinity_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 3)

    assert usable_cores(tmp_path, tmp_path) == 3


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        pytest.param("  0:00.05\n", 0.05, id="macos"),
        pytest.param("123:59.90\n", 7439.9, id="macos-after-hours"),
        pytest.param("00:01:02\n", 62, id="linux"),
        pytest.param("1-02:00:03\n", 93_603, id="linux-after-a-day"),
    ],
)
def test_a_time_is_read_as_ps_tells_it(told: str, seconds: float) -> None:
    assert told_seconds(told) == pytest.approx(seconds)


def test_both_ways_to_ask_tell_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_clock = processor_seconds(os.getpid())
    monkeypatch.setattr(running, "_PROC", tmp_path / "none")

    assert by_clock - 1.1 <= processor_seconds(os.getpid()) <= by_clock + 5  # whole seconds here


@pytest.mark.parametrize("way", ["clock", "ps"])
def test_a_process_that_has_ended_has_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    if way == "ps":
        monkeypatch.setattr(running, "_PROC", tmp_path / "none")

    with pytest.raises(OSError, match=r"such process|Invalid argument"):
        processor_seconds(ended.pid)


_CHILD = """
import ctypes, os, sys, time
from grader_daemon.system import running
if "without prctl" in sys.argv:
    ctypes.CDLL = lambda _: object()
    running._LOOKS_EVERY_SECONDS = 0.01
running.end_with_parent(os.getppid())
print(os.getpid(), flush=True)
time.sleep(600)
"""

_PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


@pytest.mark.parametrize("how", ["by the kernel", "without prctl"])
def test_a_process_ends_with_its_parent(how: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, _CHILD, how], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()

    try:
        wait_until(lambda: _is_gone(child), f"process {child} has ended")
    finally:
        if not _is_gone(child):
            os.kill(child, signal.SIGKILL)


def _is_gone(pid: int) -> bool:
    """Return whether a process has ended; whoever adopted it may not have asked for its end yet."""
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return told.stdout.strip()[:1] in ("", "Z")


def test_a_program_of_this_user_is_known() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_of_this_user(ours)


@pytest.mark.parametrize(("user", "expected"), [(0, True), (501, False)])
def test_whoever_asks_is_known_by_the_words_of_macos(
    monkeypatch: pytest.MonkeyPatch, *, user: int, expected: bool
) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    monkeypatch.setattr(socket, "LOCAL_PEERCRED", 1, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 0)

    class Peer:
        def getsockopt(self, level: int, option: int, length: int) -> bytes:
            assert (level, option) == (0, 1)
            return (b"\0\0\0\0" + user.to_bytes(4, "little")).ljust(length, b"\0")

    assert is_of_this_user(Peer()) is expected  # type: ignore[arg-type]


def test_memory_is_given_back_where_the_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Glibc has a function for it; musl and macOS have none."""
    asked: list[int] = []
    for library in (SimpleNamespace(malloc_trim=asked.append), SimpleNamespace()):
        monkeypatch.setattr(ctypes, "CDLL", lambda _, library=library: library)
        give_back_memory()
    assert asked == [0]
