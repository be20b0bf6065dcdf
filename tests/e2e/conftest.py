"""Daemons that end with their test, and must not have said anything strange."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from tests.e2e.daemon_process import DaemonProcess, run_command
from tests.e2e.session_files import PERMISSION_DENIED, turns, write
from tests.strategies import json_answer, json_round, json_user

signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""What starts the tests may have it ignored (``nohup``), and programs under test would inherit that."""


class StartDaemon(Protocol):
    """See `start_daemon`."""

    def __call__(
        self, *roots: Path, arguments: Sequence[str] = (), under: Sequence[str] = (), **settings: object
    ) -> DaemonProcess: ...


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """HOME of the programs under test."""
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def sessions(home: Path) -> Path:
    """A folder below the default root in which an agent leaves its sessions."""
    made = home / ".timmy" / "hermes" / "sessions"
    made.mkdir(parents=True, exist_ok=True)
    return made


@pytest.fixture
def start_daemon(home: Path) -> Iterator[StartDaemon]:
    """Start daemons in `home`; whatever they wrote must be log events, and none of those a failure of ours."""
    started: list[DaemonProcess] = []

    def start(
        *roots: Path, arguments: Sequence[str] = (), under: Sequence[str] = (), **settings: object
    ) -> DaemonProcess:
        daemon = DaemonProcess(home, *roots, arguments=arguments, under=under, settings=settings)
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        daemon.end()
    for daemon in started:
        assert daemon.strange_lines() == []
        assert daemon.events("worker.failed") + daemon.events("source.failed") == []


def _grade_three(home: Path) -> Path:
    sessions = home / ".timmy" / "hermes" / "sessions"
    write(sessions, "20261121_100000_aaaaaa", turns(2))
    failed = [json_user("Deploy the release"), *json_round(PERMISSION_DENIED), json_answer("I could not deploy it.")]
    write(sessions, "20261121_100000_bbbbbb", failed)
    write(sessions, "20261122_110000_cccccc", turns(1, answer=None))
    assert run_command(home, "grade", sessions).returncode == 0
    return home


@pytest.fixture
def graded_home(home: Path) -> Path:
    """A home with three graded sessions: one fine, one with a failure, one still open."""
    return _grade_three(home)


@pytest.fixture(scope="module")
def asked_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for tests that only ask."""
    return _grade_three(tmp_path_factory.mktemp("asked"))
