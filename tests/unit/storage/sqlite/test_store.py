from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.unit import Found
from grader_daemon.errors import InputError, StoreBusyError, StoreDamagedError, StoreError, StoreReplacedError
from grader_daemon.pipeline.saving import retract, save_grades
from grader_daemon.storage.records import DaemonStatus, GradeFilter
from grader_daemon.storage.sqlite import database
from grader_daemon.storage.sqlite.database import IN_MEMORY, holds_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.begun import PRAGMAS
from tests.earlier import add_migration
from tests.strategies import NOW, failures, grade, grades, ledger_entries, new_grade
from tests.units import unit, units

A = unit("/s/a")
STAMP = b"12345"
same_store = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def save(store: SqliteStore, *made: Grade) -> None:
    with store.transaction():
        save_grades(store, [new_grade(one) for one in made])


def save_entry(store: SqliteStore, **changes: object) -> None:
    base = LedgerEntry(unit=A, stamp=STAMP, written_ns=4, state=FileState.GRADED, session_id="a", rules_version="r1")
    with store.transaction():
        store.save_entries([msgspec.structs.replace(base, **changes)], now=NOW)


def ids(store: SqliteStore, which: GradeFilter) -> list[str]:
    return [stored.grade.session_id for stored in store.grades.page(which).grades]


# -- the file ----------------------------------------------------------------------------------------------------


def _damage(database: Path, page: int) -> None:
    """Overwrite a page; they are counted from 1 on."""
    content = bytearray(database.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    database.write_bytes(content)


def test_a_large_database_is_only_read_through_after_an_unclean_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.storage.sqlite.database._SMALL_BYTES", 0)
    ended, killed = tmp_path / "ended.db", tmp_path / "killed.db"
    SqliteStore(ended).close()
    writer = SqliteStore(ended)
    save_entry(writer)
    [(page,)] = writer.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'feedback'")
    shutil.copy(ended, killed)
    shutil.copy(f"{ended}-wal", f"{killed}-wal")
    writer.close()
    _damage(ended, page)
    _damage(killed, page)

    with closing(SqliteStore(ended)) as store:
        store.check_if_doubted()
    with closing(SqliteStore(killed)) as store, pytest.raises(StoreDamagedError):
        store.check_if_doubted()


def test_the_database_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.db"
    old_mask = os.umask(0)
    try:
        store = SqliteStore(path)
    finally:
        os.umask(old_mask)
    save(store, grade())
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
    store.close()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert set(modes) >= {"a.db", "a.db-wal"}
    assert set(modes.values()) == {0o600}


def test_a_database_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch(0o644)
    path.chmod(0o644)
    SqliteStore(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("log", ["-wal", "-shm"])
def test_a_log_that_was_left_for_reading_alone_is_written_again(
    tmp_path: Path, log: str, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    """Who reads a database of mode 0400 leaves them with that mode."""
    path = tmp_path / "a.db"
    SqliteStore(path).close()
    left = path.with_name(path.name + log)
    left.touch(0o400)

    with rights_of_owner(), closing(SqliteStore(path)) as store:
        save(store, grade(session_id="a"))
        mode = stat.S_IMODE(left.stat().st_mode)

    assert mode == 0o600


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    SqliteStore(tmp_path / "a.db").close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize("read_only", [pytest.param(False, id="to-write"), pytest.param(True, id="to-read")])
def test_what_is_no_database_is_refused_and_keeps_its_content(read_only: bool, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 200)
    with pytest.raises(StoreError, match="not a database but another file"):
        SqliteStore(path, read_only=read_only)
    assert path.read_text() == "Dear diary, " * 200


def test_a_database_is_read_where_nothing_may_be_written(
    right_to_read: Callable[[], AbstractContextManager[None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with closing(SqliteStore(path)) as store:
            save(store, grade(session_id="a"))
        path.chmod(0o444)
        path.parent.chmod(0o555)

        with right_to_read(), closing(SqliteStore(path, read_only=True)) as reader:
            found = ids(reader, GradeFilter())

        assert found == ["a"]
        assert [entry.name for entry in path.parent.iterdir()] == ["a.db"]
        path.parent.chmod(0o700)


def test_a_database_of_an_older_version_is_read_by_none_and_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    SqliteStore(path).close()
    add_migration(monkeypatch)
    before = path.read_bytes()

    with pytest.raises(StoreError, match=r"an earlier version .* \(schema \d+, .* run --once"):
        SqliteStore(path, read_only=True)

    assert path.read_bytes() == before


def test_a_database_of_another_program_is_not_read(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "a.db"))) as connection:
        connection.execute("CREATE TABLE mine (a TEXT)")
    with pytest.raises(StoreError, match="it has no grades; check db_path"):
        SqliteStore(tmp_path / "a.db", read_only=True)


def test_reading_does_not_make_a_database(tmp_path: Path) -> None:
    path = tmp_path / "absent.db"
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore(path, read_only=True)
    assert not path.exists()


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(lambda path: path.mkdir(), id="a-folder"),
        pytest.param(lambda path: path.symlink_to("elsewhere.db"), id="a-symbolic-link"),
    ],
)
def test_what_is_no_file_is_refused(prepare: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    prepare(path)
    with pytest.raises(StoreError, match="cannot be created"):
        SqliteStore(path)
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created"):
        SqliteStore(tmp_path / "file" / "a.db")


def test_a_reader_sees_what_a_writer_wrote(store: SqliteStore) -> None:
    save(store, grade())
    reader = SqliteStore(store.path, read_only=True)
    found = ids(reader, GradeFilter())
    reader.close()
    assert found == [grade().session_id]


def test_a_reader_cannot_write(store: SqliteStore) -> None:
    reader = SqliteStore(store.path, read_only=True)
    with pytest.raises(StoreError):
        save(reader, grade())
    reader.close()


@pytest.mark.parametrize("name", ["other", str(IN_MEMORY)])
def test_a_store_in_memory_works_without_a_file_and_leaves_others_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = tmp_path / name
    other.write_bytes(b"of somebody else")
    other.chmod(0o644)
    with closing(SqliteStore(IN_MEMORY)) as store, closing(SqliteStore(IN_MEMORY)) as another:
        other.rename(tmp_path / "moved")
        save(store, grade(session_id="a"))
        store.check_if_doubted()
        assert (store.in_place, store.identity, ids(store, GradeFilter())) == (True, "0.0", ["a"])
        assert ids(another, GradeFilter()) == []
    assert [file.name for file in tmp_path.iterdir()] == ["moved"]
    moved = tmp_path / "moved"
    assert (moved.read_bytes(), stat.S_IMODE(moved.stat().st_mode)) == (b"of somebody else", 0o644)


def test_closing_twice_is_safe(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    store.close()
    store.close()


def test_a_transaction_that_fails_changes_nothing(store: SqliteStore) -> None:
    def fail() -> None:
        with store.transaction():
            save_grades(store, [new_grade(grade())])
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert store.grades.page(GradeFilter()).grades == []


def test_a_locked_database_is_busy(store: SqliteStore) -> None:
    other = SqliteStore(store.path)
    store.connection.set_busy_timeout(10)
    with other.transaction(), pytest.raises(StoreBusyError, match="locked"):
        save(store, grade())
    other.close()


def test_a_second_connection_leaves_the_locks_of_the_first(store: SqliteStore) -> None:
    """Closing any descriptor of a file drops all POSIX locks of the process on it; SQLite's protect the WAL."""
    save(store, grade())
    log = store.path.with_name(store.path.name + "-wal")
    before = log.stat().st_ino
    SqliteStore(store.path).close()
    script = "c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM session_grades').fetchall(); c.close()"
    subprocess.run([sys.executable, "-c", f"import sqlite3, sys; {script}", str(store.path)], check=True)
    assert log.exists()
    assert log.stat().st_ino == before


# -- grades ------------------------------------------------------------------------------------------------------


@same_store
@given(made=grades())
def test_a_grade_survives_the_database(store: SqliteStore, made: Grade) -> None:
    save(store, made)
    stored = store.grades.find(made.session_id)
    assert stored.grade == made
    assert stored.detailed


def test_grading_again_replaces_the_grade_and_keeps_its_row(store: SqliteStore) -> None:
    save(store, grade(failures=failures(3), total_errors=3), grade(session_id="other"))
    first = store.grades.find(grade().session_id)
    save(store, grade(response_quality=1, failures=failures(1), total_errors=1))
    (second,) = [
        stored for stored in store.grades.page(GradeFilter()).grades if stored.grade.session_id == grade().session_id
    ]
    assert (second.id, second.grade.response_quality, second.grade.failures) == (first.id, 1, failures(1))


def test_other_programs_read_plain_columns(store: SqliteStore) -> None:
    save(store, grade(error_types=("timeout", "unknown"), total_errors=2))
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        row = connection.execute(
            "SELECT graded_at, task_completed, error_types, tools_with_errors, session_start FROM session_grades"
        ).fetchone()
    assert row == (
        "2026-11-21T22:00:00+00:00",
        1,
        '["timeout","unknown"]',
        "[]",
        "2026-11-21T21:55:00+00:00",
    )


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        pytest.param("abc1", "abc1", id="whole-id"),
        pytest.param("abc2", "abc23", id="unique-prefix"),
        pytest.param("x", "x%y", id="one-letter"),
        pytest.param("abc", "abc", id="an-id-that-begins-others"),
    ],
)
def test_an_id_may_be_shortened(store: SqliteStore, prefix: str, found: str) -> None:
    save(store, *(grade(session_id=name) for name in ("abc", "abc1", "abc12", "abc23", "x%y")))
    assert store.grades.find(prefix).grade.session_id == found


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        pytest.param("ab", "several session ids begin with 'ab'", id="ambiguous"),
        pytest.param("z", "no graded session has an id that begins with 'z'", id="unknown"),
        pytest.param("%", "no graded session", id="a-percent-sign-is-no-wildcard"),
        pytest.param("a_c", "no graded session", id="an-underscore-is-no-wildcard"),
        pytest.param("ABC1", "no graded session", id="case-matters"),
    ],
)
def test_an_id_that_names_not_one_session_is_an_error(store: SqliteStore, prefix: str, words: str) -> None:
    save(store, *(grade(session_id=name) for name in ("abc1", "abc23")))
    with pytest.raises(InputError) as caught:
        store.grades.find(prefix)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_retracted_grade_is_gone_and_its_file_says_why(store: SqliteStore) -> None:
    save(store, grade(session_id="a", failures=failures(2), total_errors=2), grade(session_id="b"))
    save_entry(store)
    with store.transaction():
        retract(store, "a", SkipReason.SUPERSEDED)
    entry = store.ledger_entry(A)
    assert entry is not None
    assert (entry.state, entry.reason) == (FileState.SKIPPED, "superseded")
    assert ids(store, GradeFilter()) == ["b"]
    assert store.rows("SELECT * FROM session_failures") == []


# -- the ledger --------------------------------------------------------------------------------------------------


@same_store
@given(entry=ledger_entries())
def test_a_ledger_row_survives_the_database(store: SqliteStore, entry: LedgerEntry) -> None:
    with store.transaction():
        store.save_entries([entry], now=NOW)
    assert store.ledger_entry(entry.unit) == entry
    assert store.unit_stamps([A, entry.unit, entry.unit]) == [None, entry.stamp, entry.stamp]


def test_an_unknown_file_has_no_row(store: SqliteStore) -> None:
    assert (store.ledger_entry(A), store.unit_stamps([A])) == (None, [None])


def test_due_files_come_longest_due_first(store: SqliteStore) -> None:
    for path, minutes in (("/s/late", 5), ("/s/soon", 30), ("/s/later", 1), ("/s/never", None)):
        due = None if minutes is None else NOW + timedelta(minutes=minutes)
        save_entry(store, unit=unit(path), state=FileState.RETRY, look_again_at=due)
    now, hour = NOW + timedelta(minutes=5), timedelta(hours=1)
    assert store.due_units(now, longest_pause=hour, limit=10) == units(["/s/later", "/s/late"])
    assert store.due_units(now, longest_pause=hour, limit=1) == [unit("/s/later")]


def test_what_is_due_later_than_any_pause_is_due_now_because_the_clock_was_set_back(store: SqliteStore) -> None:
    pause = timedelta(hours=1)
    save_entry(store, unit=unit("/s/waiting"), state=FileState.RETRY, look_again_at=NOW + pause)
    save_entry(store, unit=unit("/s/of_next_week"), state=FileState.RETRY, look_again_at=NOW + timedelta(days=7))
    assert store.due_units(NOW, longest_pause=pause, limit=10) == [unit("/s/of_next_week")]


def test_a_forgotten_retry_is_not_due(store: SqliteStore) -> None:
    save_entry(store, state=FileState.RETRY, look_again_at=NOW)
    with store.transaction():
        store.forget_retry(A)
    assert store.due_units(NOW, longest_pause=timedelta(hours=1), limit=10) == []


def test_only_graded_files_of_other_rules_are_outdated(store: SqliteStore) -> None:
    save_entry(store, unit=unit("/s/a"), rules_version="r2")
    save_entry(store, unit=unit("/s/b"), rules_version="r1")
    save_entry(store, unit=unit("/s/c"), rules_version=None)
    save_entry(store, unit=unit("/s/d"), rules_version="r0", state=FileState.SKIPPED, reason="copy")
    save_entry(store, unit=unit("/s/e"), rules_version="r0")
    save_entry(store, unit=unit("/s/f"), rules_version="r0")

    found = store.outdated_units("r1", after=None, limit=10)

    assert [each.unit.locator for each in found] == ["/s/c", "/s/e", "/s/f", "/s/a"]
    for number in range(4):
        assert store.outdated_units("r1", after=found[number], limit=2) == found[number + 1 : number + 3]


def test_files_are_counted_by_state_and_reason(store: SqliteStore) -> None:
    save_entry(store, unit=unit("/s/a"))
    save_entry(store, unit=unit("/s/b"), state=FileState.SKIPPED, reason="copy")
    save_entry(store, unit=unit("/s/c"), state=FileState.SKIPPED, reason="copy")
    save_entry(store, unit=unit("/s/d"), state=FileState.DEAD, reason="not JSON")
    assert store.file_counts() == {"graded": 1, "skipped": 2, "dead": 1}
    assert store.skip_counts() == {"copy": 2}
    assert [entry.unit.locator for entry in store.troubled_entries(limit=5)] == ["/s/d"]


@same_store
@given(entries=st.lists(ledger_entries(), max_size=6), gone=st.integers(0, 2))
def test_counts_of_files_follow_all_that_happens_to_them(tmp_path: Path, entries: list[LedgerEntry], gone: int) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder, closing(SqliteStore(Path(folder) / "a.db")) as store:
        with store.transaction():
            for number, entry in enumerate(entries):
                changed = msgspec.structs.replace(entry, unit=unit(f"/{number % 3}"), session_id="a")
                store.save_entries([changed], now=NOW)
            retract(store, "a", SkipReason.COPY)
            store.connection.execute("DELETE FROM session_files WHERE path = ?", (f"/{gone}",))
        counted = "SELECT state, coalesce(reason, ''), count(*) FROM session_files GROUP BY 1, 2"
        assert store.rows("SELECT * FROM file_counts WHERE files <> 0 ORDER BY 1, 2") == store.rows(counted)
        with store.transaction():
            store.connection.execute("UPDATE file_counts SET files = 7")
            store.recount_files()
        assert store.rows("SELECT * FROM file_counts ORDER BY 1, 2") == store.rows(counted)


# -- how soon ----------------------------------------------------------------------------------------------------


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 10**9


@pytest.mark.parametrize(
    ("changes", "lag"),
    [
        pytest.param({"digest": "new"}, 5.0, id="written-anew"),
        pytest.param({"unit": unit("/s/other")}, 5.0, id="a-file-nobody-knew"),
        pytest.param({"rules_version": "r2"}, None, id="graded-again"),
        pytest.param(
            {"digest": "new", "written_ns": nanoseconds(NOW - timedelta(days=40))}, None, id="older-than-the-daemon"
        ),
        pytest.param({"digest": "new", "written_ns": nanoseconds(NOW + timedelta(hours=1))}, None, id="of-the-future"),
        pytest.param({"digest": "new", "state": FileState.SKIPPED, "reason": "copy"}, None, id="not-graded"),
    ],
)
def test_how_soon_a_session_is_graded_is_told_of_what_happens_live(
    store: SqliteStore, changes: dict[str, Any], lag: float | None
) -> None:
    save_entry(store, digest="old", written_ns=nanoseconds(NOW - timedelta(seconds=5)))
    store.live_since = NOW - timedelta(hours=1)

    save_entry(store, **{"digest": "old", "written_ns": nanoseconds(NOW - timedelta(seconds=5)), **changes})

    live, last = store.last_grade(live=True), store.last_grade(live=False)
    assert (None if live is None else live.lag_seconds) == lag
    assert last is not None
    assert (last.session_id, last.graded_at) == ("a", NOW)


def test_what_no_daemon_grades_is_not_live(store: SqliteStore) -> None:
    save_entry(store, written_ns=nanoseconds(NOW - timedelta(seconds=5)))
    assert store.last_grade(live=True) is None
    assert store.last_grade(live=False) is not None


# -- rows that stay ----------------------------------------------------------------------------------------------


def test_a_restamped_file_keeps_everything_else(store: SqliteStore) -> None:
    save_entry(store, digest="d")
    before = store.ledger_entry(A)
    with store.transaction():
        store.restamp(Found(A, b"56789", 8))
    assert before is not None
    assert store.ledger_entry(A) == msgspec.structs.replace(before, stamp=b"56789", written_ns=8)


# -- the daemon --------------------------------------------------------------------------------------------------


def test_the_daemons_word_is_kept(store: SqliteStore) -> None:
    status = DaemonStatus(pid=7, started_at=NOW, said_at=NOW, backlog=3, watching={"/s": "watched"}, waiting_since=NOW)
    before = store.daemon.status()
    with store.transaction():
        store.daemon.save(msgspec.structs.replace(status, backlog=9))
        store.daemon.save(status)
    assert (before, store.daemon.status()) == (None, status)


def test_every_connection_is_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_PRAGMAS", PRAGMAS)  # other tests wait for no disk
    asked = ("journal_mode", "synchronous", "wal_autocheckpoint", "cache_size", "checkpoint_fullfsync")
    with closing(SqliteStore(tmp_path / "grades.db")) as store:
        assert [store.rows(f"PRAGMA {name}")[0][0] for name in asked] == ["wal", 1, 4000, -8000, 1]


def test_the_log_of_a_replaced_database_is_not_replayed_into_the_new_one(store: SqliteStore) -> None:
    save_entry(store, unit=unit("/s/a"))
    copy = store.path.with_name("copy")
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    copy.write_bytes(store.path.read_bytes())
    save_entry(store, unit=unit("/s/b"))
    copy.replace(store.path)

    assert not store.in_place
    with pytest.raises(StoreReplacedError):
        save_entry(store, unit=unit("/s/c"))
    store.close()
    assert sorted(file.name for file in store.path.parent.iterdir()) == ["session_grades.db"]

    reopened = SqliteStore(store.path)
    assert reopened.rows("SELECT path FROM session_files") == [("/s/a",)]
    reopened.close()


def test_the_log_that_another_program_has_made_for_a_new_database_stays(store: SqliteStore) -> None:
    save_entry(store, unit=unit("/s/a"))
    for file in store.path.parent.iterdir():
        file.unlink()
    other = SqliteStore(store.path)
    save_entry(other, unit=unit("/s/b"))
    store.close()
    assert store.path.with_name("session_grades.db-wal").exists()
    other.close()


def test_a_database_whose_tables_are_in_its_log_alone_holds_grades(tmp_path: Path) -> None:
    """As of a daemon that began a moment ago."""
    with closing(SqliteStore(tmp_path / "a.db")):
        assert b"session_grades" not in (tmp_path / "a.db").read_bytes()
        assert holds_grades(tmp_path / "a.db")
    (tmp_path / "b.db").write_bytes(b"Dear diary")
    assert not holds_grades(tmp_path / "b.db")
