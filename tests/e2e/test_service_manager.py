"""What the daemon tells a service manager, without one: a socket and a journal of the test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess, environment
from tests.e2e.session_files import write
from tests.waiting import PATIENCE_SECONDS, wait_until

_WATCHDOG_SECONDS = 3


class Manager:
    """Collects what it is told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))

    def hear(self, beginning: str) -> bool:
        """Was something told that begins so?"""
        try:
            while True:
                self.told.append(self._socket.recv(1000).decode())
        except BlockingIOError:
            return any(message.startswith(beginning) for message in self.told)

    def forget(self) -> None:
        self.hear("")
        self.told.clear()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    listening = Manager(tmp_path / "notify")
    yield listening
    listening.close()


@pytest.fixture
def managed(manager: Manager, start_daemon: StartDaemon) -> DaemonProcess:
    """A daemon that was started by the manager."""
    return start_daemon(
        under=("env", f"NOTIFY_SOCKET={manager.path}", f"WATCHDOG_USEC={_WATCHDOG_SECONDS * 1_000_000}")
    )


def test_it_says_when_it_is_ready_how_it_is_and_when_it_stops(manager: Manager, managed: DaemonProcess) -> None:
    wait_until(lambda: manager.hear("READY=1"), "READY")
    wait_until(lambda: manager.hear("STATUS=1 of 1 folders watched, 0 waiting"), "STATUS")

    managed.stop()

    assert manager.hear("STOPPING=1")


def test_it_gives_signs_of_life(manager: Manager, managed: DaemonProcess) -> None:
    for _ in range(2):
        manager.forget()
        wait_until(lambda: manager.hear("WATCHDOG=1"), "a sign of life")
    assert managed.running


def test_it_gives_no_sign_of_life_when_the_worker_hangs(
    manager: Manager, managed: DaemonProcess, sessions: Path
) -> None:
    """A database that another program keeps locked stands for whatever a thread may hang in."""
    write(sessions, "first")
    managed.wait_for_grade("first")
    with closing(apsw.Connection(str(managed.database))) as other:
        other.execute("BEGIN IMMEDIATE")
        write(sessions, "held_up")
        managed.wait_for_event("service.stuck", threads="worker")
        wait_until(lambda: _passes_in_silence(manager), "a round without a sign of life")
    managed.wait_for_grade("held_up")
    wait_until(lambda: manager.hear("WATCHDOG=1"), "a sign of life")


def _passes_in_silence(manager: Manager) -> bool:
    """Wait for the next round of the daemon; did it give no sign of life?"""
    manager.forget()
    wait_until(lambda: manager.hear("STATUS"), "another round")
    return not manager.hear("WATCHDOG=1")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        pytest.param({"quiet_seconds": "soon"}, 78, id="a-wrong-setting"),
        pytest.param({"rules_file": "/nowhere/rules.toml"}, 78, id="rules-that-are-not-there"),
        pytest.param({"db_path": "/proc/grades.db"}, 2, id="a-database-that-cannot-be-made"),
    ],
)
def test_only_a_wrong_configuration_ends_the_service_for_good(
    home: Path, tmp_path: Path, settings: dict[str, object], code: int
) -> None:
    with (tmp_path / "journal").open("w+") as journal:
        status = os.fstat(journal.fileno())
        ended = subprocess.run(
            [sys.executable, "-m", "grader_daemon", "run"],
            env=environment(home, settings) | {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"},
            stderr=journal,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        journal.seek(0)
        said = journal.read()
    assert ended.returncode == code
    assert said.startswith("<3>grader-daemon: ")
    assert said.count("\n") == 1


def test_an_abort_tells_where_each_thread_was(home: Path) -> None:
    """It is what the watchdog of a service manager sends: the traces say what hung."""
    daemon = DaemonProcess(home)
    daemon.wait_for_event("reconcile.finished")
    code, _ = daemon.stop(signal.SIGABRT)
    daemon.end()
    assert code == -signal.SIGABRT
    assert any("worker.py" in line for line in daemon.strange_lines())
