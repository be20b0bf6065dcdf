"""A start on a full disk: what a running daemon does then, one that begins does too."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from grader_daemon import bootstrap
from grader_daemon.daemon import supervisor as supervisor_module
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.supervisor import Supervisor
from grader_daemon.errors import StoreFullError
from grader_daemon.settings import Settings, load_settings
from tests.waiting import PATIENCE_SECONDS, wait_until


class Disk:
    """A disk without room for a database until it has some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = True
        self._open = bootstrap.open_store
        monkeypatch.setattr(bootstrap, "open_store", self._opened)
        monkeypatch.setattr(supervisor_module, "_FIRST_PAUSE_SECONDS", 0.01)

    def _opened(self, settings: Settings, **options: Any) -> Any:
        if self.is_full:
            raise StoreFullError(f"database {settings.db_path}: the disk is full")
        return self._open(settings, **options)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def supervisor(disk: Disk, tmp_path: Path) -> Supervisor:
    assert disk.is_full
    (tmp_path / "root").mkdir()
    settings = load_settings(watch_roots=[tmp_path / "root"], db_path=tmp_path / "database" / "grades.db")
    return Supervisor(lambda: settings, Notifier({}))


def test_a_start_on_a_full_disk_waits_and_goes_on(disk: Disk, supervisor: Supervisor) -> None:
    with capture_logs() as logs:
        running = threading.Thread(target=supervisor.run)
        running.start()

        def told(event: str) -> list[Any]:
            return [line for line in logs if line["event"] == event]

        wait_until(lambda: told("intake.paused"), "the pause")
        disk.is_full = False
        wait_until(lambda: told("service.started"), "the start")
        supervisor.stop()
        running.join(PATIENCE_SECONDS)

    assert not running.is_alive()
    assert [line["error"].partition(": ")[2] for line in told("intake.paused")] == ["the disk is full"]
    assert len(told("intake.resumed")) == 1


@pytest.mark.usefixtures("disk")
def test_a_stop_ends_the_wait(supervisor: Supervisor) -> None:
    with capture_logs() as logs:
        running = threading.Thread(target=supervisor.run)
        running.start()
        wait_until(lambda: logs, "the pause")
        supervisor.stop()
        running.join(PATIENCE_SECONDS)

    assert not running.is_alive()


@pytest.mark.usefixtures("disk")
def test_a_run_of_once_does_not_wait(supervisor: Supervisor) -> None:
    with pytest.raises(StoreFullError):
        supervisor.run(once=True)
