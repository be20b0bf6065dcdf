from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from time import monotonic

import pytest

from grader_daemon.errors import CallError
from grader_daemon.integrations.programs import ask_program

MANY = b"x" * 3_000_000


def ask(source: str, document: bytes = b"", *arguments: str, timeout: float = 10, most: int = 5_000_000) -> bytes:
    return ask_program(
        [sys.executable, "-S", "-c", source, *arguments],
        document,
        environment=dict(os.environ),
        timeout_seconds=timeout,
        most_bytes=most,
    )


@pytest.mark.parametrize(
    ("source", "document", "said"),
    [
        pytest.param("import sys; sys.stdout.write(sys.stdin.read())", MANY, MANY, id="an-echo-of-much"),
        pytest.param("import sys; sys.stdout.write(sys.stdin.read())", b"", b"", id="an-echo-of-nothing"),
        pytest.param("print('x' * 100_000, end='')", MANY, b"x" * 100_000, id="speaks-and-does-not-listen"),
        pytest.param("import sys; sys.stdin.close(); print(1, end='')", MANY, b"1", id="closes-its-input"),
        pytest.param("import sys; sys.stdin.read(10); print(1, end='')", MANY, b"1", id="reads-a-part"),
    ],
)
def test_what_a_program_writes_is_given(source: str, document: bytes, said: bytes) -> None:
    assert ask(source, document) == said


@pytest.mark.parametrize("count", [1000, 1001])
def test_no_more_is_read_than_is_allowed(count: int) -> None:
    if count <= 1000:
        assert len(ask(f"print('x' * {count}, end='')", most=1000)) == count
    else:
        with pytest.raises(CallError, match="more than 1,000 bytes"):
            ask(f"print('x' * {count}, end='')", most=1000)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("time.sleep(60)", id="waits-itself"),
        pytest.param("pass", id="leaves-its-output-to-a-child"),
        pytest.param("print('x' * 10_000_000)", id="writes-too-much"),
    ],
)
def test_a_program_that_is_cut_off_leaves_nothing_running(tmp_path: Path, end: str) -> None:
    pids = tmp_path / "pids"
    source = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        "open(sys.argv[1], 'w').write(f'{os.getpid()} {child.pid}')\n"
        f"{end}"
    )
    began = monotonic()
    with pytest.raises(CallError):
        ask(source, b"", str(pids), timeout=1)

    assert monotonic() - began < 5
    left = [int(pid) for pid in pids.read_text().split()]
    deadline, bell = monotonic() + 5, threading.Event()
    while any(map(_is_running, left)):
        assert monotonic() < deadline, "it was not ended"
        bell.wait(0.01)


def _is_running(pid: int) -> bool:
    """Zombies do not run: nobody may be there to bury them."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
