from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.sources.hermes.verification_ledger import NotedCheck, noted_check

EVENTS = (
    "CREATE TABLE verification_events (id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL,"
    " session_id TEXT NOT NULL, cwd TEXT NOT NULL, root TEXT NOT NULL, command TEXT NOT NULL, canonical_command TEXT"
    " NOT NULL, kind TEXT NOT NULL, scope TEXT NOT NULL, status TEXT NOT NULL, exit_code INTEGER NOT NULL,"
    " output_summary TEXT NOT NULL)"
)
STATE = (
    "CREATE TABLE verification_state (session_id TEXT NOT NULL, root TEXT NOT NULL, last_event_id INTEGER,"
    " last_edit_at TEXT, changed_paths_json TEXT NOT NULL DEFAULT '[]', PRIMARY KEY (session_id, root))"
)


def ledger(home: Path, *, status: object = "passed", edited_at: str | None = None, tables: str = "es") -> None:
    """Write the ledger as Hermes makes it, with one check of the session "a"."""
    with closing(apsw.Connection(str(home / "verification_evidence.db"))) as database:
        if "e" in tables:
            database.execute(EVENTS)
            database.execute(
                "INSERT INTO verification_events VALUES (7, '2026-11-22', 'a', '/s', '/s', 'x', 'x', 'test', 'full', ?,"
                " 0, '')",
                (status,),
            )
        if "s" in tables:
            database.execute(STATE)
            database.execute("INSERT INTO verification_state VALUES ('a', '/s', 7, ?, '[]')", (edited_at,))


def noted(home: Path, *, file: str = "state.db", session_id: str = "a") -> NotedCheck | None:
    return noted_check(str(home / file), session_id)


@pytest.mark.parametrize("file", ["state.db", "sessions/a.json"])
def test_the_last_check_is_read_from_the_home_of_a_session(tmp_path: Path, file: str) -> None:
    ledger(tmp_path)

    assert noted(tmp_path, file=file) == NotedCheck(kind="test", scope="full", passed=True, is_stale=False)


def test_what_was_edited_since_makes_it_stale(tmp_path: Path) -> None:
    ledger(tmp_path, status="failed", edited_at="2026-11-22T15:00:00+00:00")

    assert noted(tmp_path) == NotedCheck(kind="test", scope="full", passed=False, is_stale=True)


def test_of_other_sessions_nothing_is_noted(tmp_path: Path) -> None:
    assert noted(tmp_path) is None
    ledger(tmp_path)

    assert noted(tmp_path, session_id="b") is None


@pytest.mark.parametrize("tables", ["", "e", "s"])
def test_a_ledger_of_another_kind_says_nothing(tmp_path: Path, tables: str) -> None:
    ledger(tmp_path, tables=tables)

    assert noted(tmp_path) is None


def test_a_status_that_nobody_knows_says_nothing(tmp_path: Path) -> None:
    ledger(tmp_path, status="unclear")

    assert noted(tmp_path) is None


def test_a_file_that_is_no_database_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "verification_evidence.db").write_bytes(b"SQLite format 3\0" + bytes(4_000))

    assert noted(tmp_path) is None
