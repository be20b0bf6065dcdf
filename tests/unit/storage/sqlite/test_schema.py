from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calendar import ALWAYS
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SessionKind
from grader_daemon.errors import StoreDamagedError, StoreError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.schema import migrate, migrations
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.earlier import add_migration
from tests.strategies import NOW, SESSION_GRADES, WEEKLY_REPORTS, grade, new_grade


def ddl(path: Path) -> dict[str, str]:
    """What SQLite keeps of the definition of each table."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A database as the original program left it: two tables, a grade, a report."""
    path = tmp_path / "original.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(SESSION_GRADES.replace("    -- Core", "    \n    -- Core"))
        connection.execute(WEEKLY_REPORTS)
        connection.execute(
            "INSERT INTO session_grades VALUES (7, 'old', '/s/session_old.json', '2026-03-01T10:00:00.5', 1, 4, 3, 1,"
            " 9, 'm', NULL, '2026-03-01T09:00:00', 12.5, 'Fix', 2, '[\"timeout\"]', NULL, 0, 0, 1)"
        )
        connection.execute("INSERT INTO weekly_reports VALUES (1, '2026-02-23', '2026-03-01', '2026-03-02', '{}')")
    return path


def test_a_fresh_database_has_the_tables_of_the_original_design_byte_for_byte(store: SqliteStore) -> None:
    store.close()
    found = ddl(store.path)
    assert (found["session_grades"], found["weekly_reports"]) == (SESSION_GRADES, WEEKLY_REPORTS)


def test_an_original_database_is_not_rewritten(original: Path) -> None:
    before = ddl(original)
    SqliteStore(original).close()
    after = ddl(original)
    assert {name: after[name] for name in before} == before


def test_an_original_database_keeps_its_rows(original: Path) -> None:
    SqliteStore(original).close()
    with closing(sqlite3.connect(original)) as connection:
        reports = connection.execute("SELECT * FROM weekly_reports").fetchall()
        grades = connection.execute(
            "SELECT id, session_id, graded_at, tools_with_errors FROM session_grades"
        ).fetchall()
    assert reports == [(1, "2026-02-23", "2026-03-01", "2026-03-02", "{}")]
    assert grades == [(7, "old", "2026-03-01T10:00:00.5", None)]


def test_a_grade_of_the_original_program_is_listed_without_details(original: Path) -> None:
    store = SqliteStore(original)
    (stored,) = store.grades.page(GradeFilter()).grades
    store.close()
    assert (stored.id, stored.detailed, stored.grade.session_id) == (7, False, "old")
    assert (stored.grade.error_types, stored.grade.tools_with_errors) == (("timeout",), ())


def test_grading_again_keeps_the_id_of_an_original_row(original: Path) -> None:
    store = SqliteStore(original)
    with store.transaction():
        save_grades(store, [new_grade(grade(session_id="old"))])
    (stored,) = store.grades.page(GradeFilter()).grades
    store.close()
    assert (stored.id, stored.detailed) == (7, True)


def test_opening_twice_migrates_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    SqliteStore(path).close()
    before = ddl(path)
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        versions = connection.execute("SELECT version FROM schema_migrations ORDER BY version").fetchall()
    assert ddl(path) == before
    assert versions == [(number,) for number, _, _ in migrations()]


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [number for number, _, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_later_migration_keeps_rows_and_counts_sums_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    with closing(SqliteStore(path)) as store:
        with store.transaction():
            save_grades(store, [new_grade(grade(session_id="a"))])
        before = store.rollups.group(Dimension.OVERALL, "", ALWAYS)
    version = add_migration(monkeypatch)

    with closing(SqliteStore(path)) as store:
        assert store.rollups.group(Dimension.OVERALL, "", ALWAYS) == before
        assert list(store.grades.stored(["a"])) == ["a"]
        assert store.rows("SELECT version, name FROM schema_migrations")[-1] == (version + 1, "later")


def test_alerts_of_the_best_guess_are_over_when_facts_are_watched(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "a.db"))) as connection:
        migrate(connection, "a.db", up_to=5)
        for number, metric in enumerate(("completion_rate", "failure_rate"), 1):
            drops = f'[{{"stream":{{"metric":"{metric}","dimension":"overall","name":""}}}}]'
            connection.execute(
                "INSERT INTO alerts (id, kind, level, drops, sessions, changes, opened_at, began_at, told)"
                " VALUES (?, 'degradation', 'warning', ?, '[]', '[]', ?, ?, 1)",
                (number, drops, NOW.isoformat(), NOW.isoformat()),
            )
            connection.execute("INSERT INTO alert_streams VALUES (?, 'overall', '', '{}')", (metric,))
        migrate(connection, "a.db")
        assert list(connection.execute("SELECT id FROM alerts WHERE resolved_at IS NULL")) == [(2,)]
        assert list(connection.execute("SELECT metric FROM alert_streams")) == [("failure_rate",)]


def test_claims_of_an_earlier_version_are_counted_where_they_lie(store: SqliteStore) -> None:
    claims = tuple(Claim(ClaimKind.TESTS_PASSED, support, None, 3) for support in Support)
    sent = Claim(ClaimKind.SENT, Support.VERIFIED, None, 3)
    with store.transaction():
        save_grades(
            store,
            [
                new_grade(grade(session_id="all", claims=claims)),
                new_grade(grade(session_id="twice", claims=(sent, sent), model="größer" * 50)),
                new_grade(grade(session_id="unnamed", claims=claims[:2], model="", ended_on="2026-10-31")),
                new_grade(grade(session_id="unknown", claims=claims[1:3], model=None, ended_on="2026-10-31")),
                new_grade(grade(session_id="none")),
                new_grade(grade(session_id="open", claims=claims, state=SessionState.OPEN)),
                new_grade(grade(session_id="run", claims=claims, kind=SessionKind.CRON)),
            ],
        )
    kept = [store.rows(f"SELECT * FROM {table}") for table in ("daily_claims", "monthly_claims")]
    store.connection.execute("DROP TABLE daily_claims; DROP TABLE monthly_claims")
    store.connection.execute("UPDATE session_details SET claims = '[{' WHERE session_id = 'none'")

    store.connection.execute(next(sql for _, name, sql in migrations() if name == "claim_sums"))

    assert [store.rows(f"SELECT * FROM {table}") for table in ("daily_claims", "monthly_claims")] == kept


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'future', ?)", (NOW.isoformat(),))
    before = ddl(path)
    with pytest.raises(StoreError, match="schema 9999 is newer"):
        SqliteStore(path)
    assert ddl(path) == before


@pytest.mark.parametrize("read_only", [True, False])
def test_a_number_that_damage_left_is_not_taken_for_a_newer_schema(tmp_path: Path, *, read_only: bool) -> None:
    """Page 2 holds the numbers of the migrations; 3,000 random bytes in it leave a schema of 1,403,518."""
    path = tmp_path / "a.db"
    SqliteStore(path).close()
    content = bytearray(path.read_bytes())
    content[8000:11_000] = random.Random(1).randbytes(3000)
    path.write_bytes(content)

    with pytest.raises(StoreDamagedError, match=r"damaged .* restore a backup: grader-daemon .* backup restore FILE$"):
        SqliteStore(path, read_only=read_only)


def test_a_table_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE session_grades (id INTEGER, session_id TEXT, mark TEXT)")
    with pytest.raises(StoreError, match=r"lacks .*graded_at"):
        SqliteStore(path)
    assert set(ddl(path)) == {"session_grades"}


def test_a_failing_migration_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE session_files (path TEXT)")
    with pytest.raises(StoreError):
        SqliteStore(path)
    assert set(ddl(path)) == {"session_files"}


def test_a_disk_that_is_full_at_any_moment_of_the_first_start_is_told_as_that(tmp_path: Path) -> None:
    """SQLite takes the transaction back by itself then."""
    for pages in (2, 30):
        with closing(apsw.Connection(str(tmp_path / f"{pages}.db"))) as connection:
            connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
            with pytest.raises(apsw.FullError):
                migrate(connection, "it")
            assert not connection.in_transaction
