from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel
from grader_daemon.domain.analysis import Category, ErrorSign, Failure, Step
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.errors import StoreError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.maintenance.inspection import Inspection
from grader_daemon.storage.maintenance.salvage import SavedTable, salvage
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.schema import migrations
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.damage import DAMAGES, PAGE, leaves_of, make_database, overwrite
from tests.earlier import add_migration, make_unreleased
from tests.strategies import NOW, SESSION_GRADES, WEEKLY_REPORTS, grade, new_grade
from tests.units import unit

SESSIONS = 400
ISSUE = "1-aaaaaaaaaaaa"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with something in every table that is copied."""
    path = tmp_path_factory.mktemp("made") / "whole.db"
    failure = Failure(2, "terminal", Category.TIMEOUT, "git", ISSUE, Step("read_file", None, worked=True))
    sign = ErrorSign(
        fingerprint=ISSUE, tool="terminal", command="git", category=Category.TIMEOUT, signal="slow", example="slow"
    )
    with closing(SqliteStore(path)) as store, store.transaction():
        for number in range(SESSIONS):
            failures = (failure,) if number % 5 == 0 else ()
            one = grade(
                session_id=f"s{number:05}",
                session_file=f"/s/{number}.json",
                failures=failures,
                total_errors=len(failures),
            )
            save_grades(store, [new_grade(one)])
        store.issues.save_signs([sign])
        store.save_entries([_entry(number) for number in range(SESSIONS)], now=NOW)
        store.issues.mark(ISSUE, resolved_at=NOW, ignored_at=None)
        store.alerts.add(
            Alert(kind=AlertKind.DEGRADATION, level=AlertLevel.WARNING, drops=(), opened_at=NOW, began_at=NOW)
        )
    return path


@pytest.fixture(autouse=True)
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for several times as many numbers as there are rows, not for as many as take a second."""
    monkeypatch.setattr("grader_daemon.storage.maintenance.salvage._FRUITLESS", 5 * SESSIONS)


@pytest.fixture
def damaged(made: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    path = tmp_path / "damaged.db"
    path.write_bytes(made.read_bytes())
    return path


def everything(path: Path) -> dict[str, list[object]]:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM pragma_table_list WHERE type = 'table'")]
        return {
            str(table): sorted(connection.execute(f"SELECT * FROM {table}"), key=repr)
            for table in tables
            if table not in ("rollup_days", "sqlite_schema", "sqlite_temp_schema", "sqlite_stat1", "sqlite_stat4")
        }


def rescue(damaged: Path) -> tuple[Path, dict[str, SavedTable]]:
    fresh = damaged.with_name("fresh.db")
    before = damaged.read_bytes()
    tables = {table.name: table for table in salvage(damaged, fresh)}
    assert damaged.read_bytes() == before
    with Inspection(fresh) as inspection:
        assert inspection.damage() == []
        assert inspection.miscounted() == {}
    return fresh, tables


def test_a_whole_database_is_copied_byte_for_byte(damaged: Path) -> None:
    expected = everything(damaged)

    fresh, tables = rescue(damaged)

    assert everything(fresh) == expected
    assert tables["session_grades"] == SavedTable("session_grades", SESSIONS, 0)
    assert all(table.lost == 0 for table in tables.values())


def test_rows_on_both_sides_of_several_damaged_places_are_saved(damaged: Path) -> None:
    leaves = leaves_of(damaged, "session_grades")
    bad = [leaves[number] for number in (1, len(leaves) // 2, len(leaves) - 2)]
    overwrite(damaged, bad)

    fresh, tables = rescue(damaged)

    on_a_page = SESSIONS / len(leaves)
    assert tables["session_grades"].saved >= SESSIONS - 2 * on_a_page * len(bad)
    assert tables["session_grades"].lost == SESSIONS - tables["session_grades"].saved
    assert tables["session_details"] == SavedTable("session_details", SESSIONS, 0)
    assert len(everything(fresh)["session_files"]) == SESSIONS


def test_a_table_is_searched_on_as_long_as_rows_are_found(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows lie between the damaged places than numbers are asked for in vain."""
    leaves = leaves_of(damaged, "session_grades")
    overwrite(damaged, [leaves[1], leaves[-2]])
    on_a_page = SESSIONS / len(leaves)
    monkeypatch.setattr("grader_daemon.storage.maintenance.salvage._FRUITLESS", int(3 * on_a_page))

    _, tables = rescue(damaged)

    assert tables["session_grades"].saved >= SESSIONS - 4 * on_a_page > 3 * on_a_page


def test_of_one_of_before_the_first_release_the_columns_that_both_have_are_saved(tmp_path: Path) -> None:
    left = tmp_path / "left.db"
    make_unreleased(left)

    fresh, tables = rescue(left)

    assert {name: tables[name].saved for name in ("session_grades", "feedback", "alerts")} == {
        "session_grades": 189,
        "feedback": 122,
        "alerts": 1,
    }
    with closing(SqliteStore(fresh)) as store:
        assert len(store.grades.page(GradeFilter(limit=500)).grades) == 189


def test_of_one_of_an_earlier_version_all_rows_are_saved(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "left.db"
    shutil.copy(damaged, left)
    add_migration(monkeypatch)
    with closing(SqliteStore(damaged)):
        pass

    fresh, tables = rescue(left)

    assert [table for table in tables.values() if table.lost] == []
    kept, expected = everything(fresh), everything(damaged)
    for table in ("session_grades", "session_files", "feedback", "outbox", "alerts", "grade_changes"):
        assert kept[table] == expected[table], table


def test_details_between_two_damaged_places_are_found_by_the_ids_of_grades(damaged: Path) -> None:
    leaves = leaves_of(damaged, "session_details")
    overwrite(damaged, [leaves[1], leaves[-2]])

    _, tables = rescue(damaged)

    assert tables["session_grades"].saved == SESSIONS
    assert tables["session_details"].saved >= SESSIONS - 4 * SESSIONS / len(leaves)


def test_a_damaged_index_costs_no_row(damaged: Path) -> None:
    expected = everything(damaged)
    for index in ("sqlite_autoindex_session_grades_1", "session_details_ended_at", "sqlite_autoindex_session_files_1"):
        overwrite(damaged, leaves_of(damaged, index))

    fresh, _ = rescue(damaged)

    assert everything(fresh) == expected


def test_a_file_cut_short_gives_what_is_before_the_cut(damaged: Path) -> None:
    os.truncate(damaged, damaged.stat().st_size * 3 // 4 + 100)

    _, tables = rescue(damaged)

    assert tables["session_grades"].saved > SESSIONS // 3


def test_what_is_only_in_the_log_is_saved_too(damaged: Path, tmp_path: Path) -> None:
    working = tmp_path / "working.db"
    working.write_bytes(damaged.read_bytes())
    with closing(SqliteStore(working)) as store:
        with store.transaction():
            save_grades(store, [new_grade(grade(session_id="in_the_log"))])
        for suffix in ("", "-wal"):
            Path(f"{damaged}{suffix}").write_bytes(Path(f"{working}{suffix}").read_bytes())
    overwrite(damaged, leaves_of(damaged, "error_issues"))

    fresh, _ = rescue(damaged)

    assert "in_the_log" in {row[1] for row in everything(fresh)["session_grades"]}  # type: ignore[index]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "table"),
    [
        ("UPDATE session_grades SET task_completed = 'garbage' WHERE id = 7", "session_grades"),
        ("UPDATE session_grades SET task_summary = x'ff' WHERE id = 7", "session_grades"),
        ("UPDATE session_grades SET task_summary = CAST(x'ff' AS TEXT) WHERE id = 7", "session_grades"),
        ("UPDATE session_grades SET task_summary = char(65, 0, 65) WHERE id = 7", "session_grades"),
        ("UPDATE session_details SET state = 'garbage' WHERE session_id = 's00007'", "session_details"),
        ("UPDATE session_details SET reasons = '[{' WHERE session_id = 's00007'", "session_details"),
        ("UPDATE session_details SET verdict_by = 'garbage' WHERE session_id = 's00007'", "session_details"),
        ("UPDATE session_details SET claims = '[{' WHERE session_id = 's00007'", "session_details"),
        ("UPDATE session_details SET ended_at = 'then' WHERE session_id = 's00007'", "session_details"),
        ("UPDATE session_files SET state = 'garbage' WHERE rowid = 7", "session_files"),
        ("UPDATE rollup_days SET day = 'never'", "rollup_days"),
    ],
)
def test_rows_that_nobody_wrote_are_left_behind(damaged: Path, change: str, table: str) -> None:
    with closing(apsw.Connection(str(damaged))) as connection:
        connection.execute(change)

    fresh, tables = rescue(damaged)

    assert tables[table].lost == 1
    with closing(SqliteStore(fresh)) as store:
        store.grades.stored([f"s{number:05}" for number in range(SESSIONS)])


def test_numbers_of_lost_rows_are_not_given_again(damaged: Path) -> None:
    overwrite(damaged, leaves_of(damaged, "session_grades")[-1:])

    fresh, tables = rescue(damaged)

    assert tables["session_grades"].lost
    with closing(SqliteStore(fresh)) as store:
        with store.transaction():
            save_grades(store, [new_grade(grade(session_id="new"))])
        assert store.grades.stored(["new"])["new"].id == SESSIONS + 1


def test_the_day_of_the_first_use_is_kept(damaged: Path) -> None:
    with closing(apsw.Connection(str(damaged))) as connection:
        connection.execute("UPDATE schema_migrations SET applied_at = '2026-01-02 03:04:05+00:00'")

    fresh, _ = rescue(damaged)

    assert len(everything(fresh)["schema_migrations"]) == len(migrations())
    with closing(SqliteStore(fresh)) as store:
        installed = store.reports.installed_at()
    assert installed is not None
    assert installed.isoformat() == "2026-01-02T03:04:05+00:00"


def test_a_damaged_original_database_gives_its_grades(tmp_path: Path) -> None:
    damaged = tmp_path / "original.db"
    with closing(apsw.Connection(str(damaged))) as connection, connection:
        connection.execute(f"{SESSION_GRADES}; {WEEKLY_REPORTS}")
        connection.executemany(
            "INSERT INTO session_grades VALUES (NULL, ?, '/gone', 'in March', 1, 4, 3, 1, 7, 'm', 'cli', NULL, 12.5,"
            " 'Old work', 1, 'no JSON', NULL, 0, 0, 0)",
            [(f"old{number:04}",) for number in range(400)],
        )
    overwrite(damaged, leaves_of(damaged, "session_grades")[1:2])

    fresh, tables = rescue(damaged)

    assert 300 < tables["session_grades"].saved < 400
    with closing(SqliteStore(fresh)) as store:
        assert store.grades.stored(["old0399"])["old0399"].detailed is False


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("INSERT INTO schema_migrations SELECT max(version) + 1, 'a', 'b' FROM schema_migrations", "schema is newer"),
        ("DROP TABLE session_grades; DROP TABLE session_files", "to another program"),
    ],
)
def test_what_this_program_would_not_know_how_to_keep_is_left_alone(damaged: Path, change: str, why: str) -> None:
    with closing(apsw.Connection(str(damaged))) as connection:
        connection.execute(change)

    with pytest.raises(StoreError, match=why):
        rescue(damaged)


@pytest.mark.parametrize("damage", ["text", "zero-length", "noise-in-the-header", "first-page-of-zeros"])
def test_a_file_that_does_not_say_where_its_tables_are_gives_a_new_database(damaged: Path, damage: str) -> None:
    DAMAGES[damage](damaged)

    fresh, tables = rescue(damaged)

    assert tables == {}
    assert everything(fresh)["session_grades"] == []


@pytest.mark.parametrize("seed", range(8))
def test_no_damage_is_too_much(tmp_path: Path, seed: int) -> None:
    damaged = tmp_path / "damaged.db"
    make_database(damaged, sessions=200)
    chance = random.Random(seed)
    with open(damaged, "r+b") as file:
        for _ in range(chance.choice([1, 10, 100])):
            file.seek(chance.randrange(PAGE * (seed % 2), damaged.stat().st_size))
            file.write(chance.randbytes(chance.choice([1, 16, 300, PAGE])))

    _, tables = rescue(damaged)

    assert sum(table.saved for table in tables.values()) >= 0


def _entry(number: int) -> LedgerEntry:
    return LedgerEntry(
        unit=unit(f"/s/{number}.json"),
        stamp=number.to_bytes(8, "big"),
        written_ns=4,
        state=FileState.GRADED,
        digest="d",
        session_id=f"s{number:05}",
        rules_version="r",
    )
