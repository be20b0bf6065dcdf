from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader_daemon.daemon.notify import Notifier


@pytest.fixture(params=["file", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """A service manager's socket, and its address as the environment has it."""
    path = str(tmp_path / "notify")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind("\0" + path if request.param == "abstract" else path)
    listening.settimeout(5)
    yield ("@" + path if request.param == "abstract" else path), listening
    listening.close()


def test_the_manager_is_told(manager: tuple[str, socket.socket]) -> None:
    address, listening = manager
    notifier = Notifier({"NOTIFY_SOCKET": address})
    notifier.ready()
    notifier.status("3 waiting")
    notifier.alive()
    notifier.stopping()
    notifier.close()
    told = [listening.recv(100).decode() for _ in range(4)]
    assert told == ["READY=1", "STATUS=3 waiting", "WATCHDOG=1", "STOPPING=1"]


def test_without_a_manager_nothing_is_said() -> None:
    notifier = Notifier({"WATCHDOG_USEC": "1000000"})
    notifier.ready()
    notifier.close()
    assert notifier.watchdog_seconds is None


def test_a_manager_that_is_gone_does_no_harm(tmp_path: Path) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")})
    notifier.alive()
    notifier.close()


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        pytest.param({}, None, id="not-asked-for"),
        pytest.param({"WATCHDOG_USEC": "180000000"}, 180.0, id="asked-for"),
        pytest.param({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": str(os.getpid())}, 2.0, id="of-this-process"),
        pytest.param({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}, None, id="of-another-process"),
        pytest.param({"WATCHDOG_USEC": "soon"}, None, id="not-a-number"),
    ],
)
def test_the_interval_of_the_watchdog(
    manager: tuple[str, socket.socket], environment: dict[str, str], seconds: float | None
) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager[0], **environment})
    notifier.close()
    assert notifier.watchdog_seconds == seconds
