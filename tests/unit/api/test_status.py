"""How far the daemon is, by a clock of the test."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.api import status as status_module
from grader_daemon.api.context import GraderContext
from grader_daemon.api.status import read_status
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.settings import load_settings
from grader_daemon.storage.lock import DaemonLock
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock
from tests.strategies import NOW
from tests.unit.api.conftest import Save
from tests.units import unit


def test_without_a_database_there_is_a_status_and_still_no_database(tmp_path: Path) -> None:
    settings = load_settings(db_path=tmp_path / "grades.db", watch_roots=(tmp_path,))

    status = read_status(GraderContext(settings))

    assert (status.running, status.pid, status.roots) == (False, None, (str(tmp_path),))
    assert (status.files, status.last_graded_at, status.troubled) == ({}, None, [])
    assert not settings.db_path.exists()


def test_silence_is_counted_in_whole_days_by_the_clock(context: GraderContext, save: Save, clock: Clock) -> None:
    save("last", ended_at=NOW)
    clock.now = NOW + timedelta(days=3, hours=23)
    later = read_status(context)
    clock.now = NOW - timedelta(hours=1)
    set_back = read_status(context)

    assert (later.last_ended_at, later.silent_days) == (NOW, 3)
    assert set_back.silent_days == 0


def test_files_that_could_not_be_graded_are_listed(context: GraderContext, store: SqliteStore) -> None:
    where = unit("/s/x.json")
    broken = LedgerEntry(unit=where, state=FileState.DEAD, stamp=b"1", written_ns=4, attempts=6, reason="broken JSON")
    with store.transaction():
        store.save_entries([broken], now=NOW)

    status = read_status(context)

    assert status.files == {"dead": 1}
    assert [(entry.path, entry.reason) for entry in status.troubled] == [("/s/x.json", "broken JSON")]
    assert status.newest_without_grade == {"hermes": "/s/x.json"}


def test_a_full_disk_is_the_pause_of_a_daemon_that_runs(
    context: GraderContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_module, "is_disk_full", lambda _: True)
    stopped = read_status(context)
    with DaemonLock(context.settings.db_path):
        running = read_status(context)

    assert (stopped.paused, running.paused) == (None, "the database's disk is full")
