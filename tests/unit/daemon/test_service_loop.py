"""What the loop decides; the whole daemon at work is tested from outside, in tests/e2e."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from grader_daemon.daemon import backlog, scanner, worker
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.scan_plan import missing_units
from grader_daemon.daemon.scanner import ScanReport
from grader_daemon.daemon.service_loop import Service
from grader_daemon.errors import StoreError
from grader_daemon.settings import load_settings
from grader_daemon.storage.records import WATCHED
from tests.e2e.session_files import write
from tests.units import unit
from tests.waiting import PATIENCE_SECONDS, wait_until

Logs = list[MutableMapping[str, Any]]


class HeldScan:
    """The first scan stands still at its end until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        monkeypatch.setattr(scanner, "missing_units", self._plan)

    def _plan(self, *arguments: Any) -> Any:
        self.entered.set()
        assert self.open.wait(PATIENCE_SECONDS)
        return missing_units(*arguments)


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as captured:
        yield captured


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> HeldScan:
    return HeldScan(monkeypatch)


@pytest.fixture
def service(tmp_path: Path, held: HeldScan, logs: Logs) -> Iterator[Service]:  # noqa: ARG001  captured from the start
    """A daemon in its first scan; the next is an hour away, unless something asks for it."""
    root = tmp_path / "root"
    root.mkdir()
    settings = load_settings(
        watch_roots=[root], db_path=tmp_path / "database" / "grades.db", scan_seconds=3600, quiet_seconds=2
    )
    made = Service(settings, Notifier({}))
    running = threading.Thread(target=made.run)
    running.start()
    assert held.entered.wait(PATIENCE_SECONDS)
    yield made
    held.open.set()
    made.stop()
    running.join(PATIENCE_SECONDS)
    assert not running.is_alive()


def test_what_may_have_been_missed_during_a_scan_is_looked_for_by_another(
    service: Service, held: HeldScan, logs: Logs
) -> None:
    """The scan under way may have passed that place already."""
    service._notice_gap("a folder appeared")
    wait_until(lambda: told(logs), "the gap to be noticed")
    held.open.set()

    wait_until(lambda: service._scans > 1, "another scan")


def test_each_kind_of_gap_is_told_once_a_scan(service: Service, held: HeldScan, logs: Logs) -> None:
    for reason in ("one", "other", "one"):
        service._notice_gap(reason)
        wait_until(lambda: not service._gaps, "the gap to be noticed")
    held.open.set()
    wait_until(lambda: service._scans > 1, "another scan")

    assert told(logs) == ["one", "other"]
    service._notice_gap("one")
    wait_until(lambda: told(logs) == ["one", "other", "one"], "the gap to be told again")


def told(logs: Logs) -> list[str]:
    return [line["reason"] for line in logs if line["event"] == "watcher.gap_noticed"]


@pytest.mark.parametrize(
    ("folders", "told"),
    [
        pytest.param(1, [], id="each-that-can-be-read-is-watched"),
        pytest.param(2, ["1 of 2 folders are watched; raise fs.inotify.max_user_watches"], id="one-is-not"),
    ],
)
def test_folders_that_cannot_be_read_hide_no_watch_that_is_missing(
    service: Service, tmp_path: Path, logs: Logs, folders: int, told: list[str]
) -> None:
    """One folder could not be read: no watch is to be expected of it."""
    wait_until(lambda: set(service._watchers.states().values()) == {WATCHED}, "the watcher")
    below = {str(tmp_path / "root"): folders}
    service._finish_scan(
        ScanReport(folders_below=below, files=0, missing=0, unreadable=("/closed",), seconds=0.1, cpu_seconds=0.1)
    )

    assert [line["reason"] for line in logs if line["event"] == "watcher.degraded"] == told


def test_a_daemon_that_does_not_get_to_its_files_says_so(
    service: Service, held: HeldScan, logs: Logs, tmp_path: Path
) -> None:
    """Its worker stands still in the first scan; the clock of the queue is put forward instead of waiting."""
    service._queue._clock = lambda: 1000.0
    service._queue.put([unit(tmp_path / "root" / "session_a.json")])
    service._queue._clock = lambda: 1360.0
    wait_until(lambda: [line for line in logs if line["event"] == "intake.behind"], "the warning")
    held.open.set()

    wait_until(lambda: [line for line in logs if line["event"] == "intake.caught_up"], "the end of it")
    [behind] = [line for line in logs if line["event"] == "intake.behind"]
    assert (behind["waiting"], behind["oldest_seconds"]) == (1, 360.0)


def test_a_stop_before_the_first_comparison_ended_says_so(service: Service, held: HeldScan, logs: Logs) -> None:
    service.stop()
    held.open.set()
    [stopped] = wait_until(lambda: [line for line in logs if line["event"] == "service.stopped"], "the end")

    assert stopped["compared"] is (service._scans > 0)


def test_a_first_start_tells_how_much_lay_there_and_later_ones_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logs: Logs
) -> None:
    monkeypatch.setattr(backlog, "_FEWEST", 1)
    write(tmp_path / "root", "s1")
    settings = load_settings(watch_roots=[tmp_path / "root"], db_path=tmp_path / "db" / "grades.db", quiet_seconds=0)

    for _ in range(2):
        Service(settings, Notifier({})).run(once=True)

    assert [line["files"] for line in logs if line["event"] == "backlog.found"] == [1]


def test_a_run_that_ends_by_itself_leaves_what_it_could_not_read(
    tmp_path: Path, logs: Logs, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    (tmp_path / "open").mkdir()
    closed = tmp_path / "closed"
    (closed / "projects").mkdir(parents=True)
    closed.chmod(0)
    settings = load_settings(
        watch_roots=[tmp_path / "open"],
        sources=["hermes", "claude-code"],
        claude_code_roots=[closed / "projects"],
        db_path=tmp_path / "db" / "grades.db",
    )

    with rights_of_owner():
        made = Service(settings, Notifier({}))
        made.run(once=True)

    assert made.left == 1
    assert [line["unreadable"] for line in logs if line["event"] == "reconcile.finished"] == [(str(closed),)]


def test_a_run_that_ends_by_itself_does_not_wait_for_ever_for_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(worker, "_PATIENCE_SECONDS", 0.1)
    write(tmp_path / "root", "s1")
    path = tmp_path / "db" / "grades.db"
    made = Service(load_settings(watch_roots=[tmp_path / "root"], db_path=path, quiet_seconds=0), Notifier({}))
    made._store.connection.execute("PRAGMA query_only = ON").fetchall()

    with pytest.raises(StoreError, match=f"database {path}: attempt to write a readonly database"):
        made.run(once=True)
