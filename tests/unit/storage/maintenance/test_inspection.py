from __future__ import annotations

import tempfile
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings

from grader_daemon.domain.analysis import Category, Failure
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.errors import StoreDamagedError, StoreError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.maintenance.inspection import Inspection, is_wal_reset_fixed, sqlite_version
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.damage import DAMAGES, leaves_of, make_database, overwrite
from tests.examples import about
from tests.strategies import grade, new_grade
from tests.unit.storage.sqlite.test_rollups import Event, histories


@settings(max_examples=about(20))
@given(history=histories())
def test_what_the_store_counts_is_never_called_miscounted(history: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with closing(SqliteStore(path)) as store, store.transaction():
            for step in history:
                if isinstance(step, list):
                    save_grades(store, [new_grade(made) for made in step])
        with Inspection(path) as inspection:
            assert inspection.miscounted() == {}


@pytest.mark.parametrize(
    "column", ["sessions", "open_sessions", "completed", "efficiency", "quality", "calls", "failures"]
)
def test_each_sum_of_a_day_is_compared(tmp_path: Path, column: str) -> None:
    make_database(tmp_path / "a.db", sessions=3)
    with closing(apsw.Connection(str(tmp_path / "a.db"))) as connection:
        connection.execute(f"UPDATE daily_rollups SET {column} = {column} + 1 WHERE dimension = 'overall'")

    with Inspection(tmp_path / "a.db") as inspection:
        assert inspection.miscounted() == {"days": 1, "months": 1}
        assert inspection.miscounted(inspection.any_day()) == {"days": 1, "months": 1}


def test_the_list_of_sessions_is_compared(tmp_path: Path) -> None:
    make_database(tmp_path / "a.db", sessions=3)
    with closing(apsw.Connection(str(tmp_path / "a.db"))) as connection:
        connection.execute("UPDATE session_list SET completed = NOT completed WHERE id = 2")

    with Inspection(tmp_path / "a.db") as inspection:
        assert inspection.miscounted() == {"listed sessions": 1}
        assert inspection.miscounted(inspection.any_day()) == {"listed sessions": 1}


def test_a_sampled_day_has_all_its_sessions_wherever_on_earth_it_is(tmp_path: Path) -> None:
    day = date(2026, 11, 2)
    ends = (datetime(2026, 11, 1, 10, 30, tzinfo=UTC), datetime(2026, 11, 3, 11, 30, tzinfo=UTC))
    with closing(SqliteStore(tmp_path / "a.db")) as store, store.transaction():
        made = [grade(session_id=str(end), ended_at=end, ended_on=day.isoformat()) for end in ends]
        save_grades(store, [new_grade(each) for each in made])

    with Inspection(tmp_path / "a.db") as inspection:
        assert inspection.any_day() == day
        assert inspection.miscounted(day) == {}


def test_an_issue_is_compared(tmp_path: Path) -> None:
    failed = Failure(2, "browser", Category.TIMEOUT, None, "1-00000000000a")
    with closing(SqliteStore(tmp_path / "a.db")) as store, store.transaction():
        save_grades(store, [new_grade(grade(failures=(failed,), total_errors=1))])
        store.connection.execute("UPDATE issue_days SET failures = 2")

    with Inspection(tmp_path / "a.db") as inspection:
        assert inspection.miscounted() == {"error issues": 1}
        assert inspection.miscounted(inspection.any_day()) == {"error issues": 1}


def test_claims_are_compared(tmp_path: Path) -> None:
    claim = Claim(ClaimKind.SENT, Support.STALE, None, 3)
    with closing(SqliteStore(tmp_path / "a.db")) as store, store.transaction():
        save_grades(store, [new_grade(grade(claims=(claim,)))])
        store.connection.execute("UPDATE daily_claims SET against = 0")

    with Inspection(tmp_path / "a.db") as inspection:
        assert inspection.miscounted() == {"claims": 1}
        assert inspection.miscounted(inspection.any_day()) == {"claims": 1}


def test_a_sample_leaves_out_other_days(tmp_path: Path) -> None:
    make_database(tmp_path / "a.db", sessions=3)
    with closing(apsw.Connection(str(tmp_path / "a.db"))) as connection:
        connection.execute("DELETE FROM session_details WHERE session_id = 's00001'")

    with Inspection(tmp_path / "a.db") as inspection:
        day = inspection.any_day()
        assert day is not None
        assert (inspection.foreign_grades(), inspection.foreign_grades(day)) == (1, 1)
        other = day + timedelta(days=30)
        assert (inspection.foreign_grades(other), inspection.miscounted(other)) == (0, {})


def test_a_sample_of_the_file_leaves_out_tables_that_grow(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    make_database(path, sessions=300)
    overwrite(path, leaves_of(path, "session_details"))

    with Inspection(path) as inspection:
        assert inspection.damage()
        assert not inspection.damage(date(2026, 1, 1))
    overwrite(path, leaves_of(path, "daily_rollups"))
    with Inspection(path) as inspection:
        assert inspection.damage(date(2026, 1, 1))


def test_an_inspection_of_damage_holds_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    make_database(path, sessions=300)
    DAMAGES["cut-in-half"](path)

    with pytest.raises(StoreDamagedError) as caught:
        Inspection(path)

    assert caught.value is not None
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    for level in (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED, apsw.SQLITE_LOCK_EXCLUSIVE):
        file.xLock(level)
    file.xUnlock(apsw.SQLITE_LOCK_NONE)
    file.xClose()


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Inspection(tmp_path / "none.db")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "fixed"), [("3.40.1", False), ("3.51.2", False), ("3.51.3", True), ("3.52.0", True), ("4.0.0", True)]
)
def test_the_flaw_of_sqlite_ends_with_a_release(version: str, fixed: bool) -> None:
    assert is_wal_reset_fixed(version) is fixed


def test_the_sqlite_of_this_package_is_without_it() -> None:
    assert is_wal_reset_fixed(sqlite_version())
