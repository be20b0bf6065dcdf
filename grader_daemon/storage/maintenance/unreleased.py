"""Carrying over a database of a build before the first release: its rows go into one of the schema of now.

Those builds had migrations of their own, which added tables and columns one by one. A table that is there is copied by
the columns that both have; a few columns of the oldest builds lie elsewhere. Sums and the list are made anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from grader_daemon.errors import StoreError
from grader_daemon.storage.maintenance.atomic_swap import swap_in, temporary_beside
from grader_daemon.storage.maintenance.backup import settle
from grader_daemon.storage.maintenance.salvage import copied_tables, save_sequences
from grader_daemon.storage.sqlite.database import translated
from grader_daemon.storage.sqlite.store import SqliteStore

_OLD_NAMES: Final = {"outbox": "alert_outbox"}
_NOTHING_FINISHED = """features = '[[],""]' OR session_id IN (
    SELECT session_id FROM old.session_grades WHERE total_api_calls = 0)"""
_ELSEWHERE: Final[Mapping[tuple[str, str], str]] = {
    ("session_files", "source"): "'hermes'",
    ("session_files", "key"): "''",
    ("session_files", "stamp"): "zeroblob(40)",
    ("session_files", "written_ns"): "mtime_ns",
    ("outbox", "kind"): "'alert'",
    ("outbox", "subject"): "alert",
    ("session_details", "agent"): "iif(format = 'hermes', 'hermes', NULL)",
    ("session_details", "scored"): f"NOT (tool_calls = 0 AND ({_NOTHING_FINISHED}))",
}
"""What stands in a column that an old table lacks, in its own words."""

_AFTERWARDS: Final = """
UPDATE session_details
SET started_at = (SELECT g.session_start FROM session_grades AS g WHERE g.session_id = session_details.session_id)
WHERE conversation IS NOT NULL AND started_at IS NULL;
UPDATE session_failures SET ended_at = NULL
WHERE session_id IN (SELECT session_id FROM session_details WHERE kind <> 'main');
"""
_FEED: Final = """
INSERT INTO grade_changes (kind, subject) SELECT 'grade', session_id FROM session_grades ORDER BY id;
INSERT INTO grade_changes (kind, subject) SELECT 'label', session_id FROM feedback GROUP BY session_id ORDER BY max(id);
INSERT INTO grade_changes (kind, subject) SELECT 'alert', id FROM alerts ORDER BY id;
"""


class CarriedOver(msgspec.Struct, frozen=True, kw_only=True):
    """Number of rows of each table that were carried over, and where the old database is kept."""

    rows: dict[str, int]
    kept: str


def carry_over(path: Path, *, now: datetime) -> CarriedOver:
    """Replace a database of before the first release, which is kept, by one with all its rows. No daemon may run on it.

    Raises:
        StoreError: a program has it open, or the new one cannot be written; nothing was changed then.
    """
    with temporary_beside(path) as fresh:
        with closing(SqliteStore(fresh)) as store, translated(path):
            rows = _copy(path, store.connection)
            with store.transaction():
                store.recount()
                store.recount_files()
        settle(fresh)
        kept = swap_in(fresh, path, why="before-release", now=now)
    return CarriedOver(rows=rows, kept=str(kept))


def _copy(path: Path, fresh: apsw.Connection) -> dict[str, int]:
    """Copy all rows; returns how many of each table, the tables that have none left out."""
    fresh.execute("ATTACH ? AS old", (str(path),))
    try:
        with fresh:
            there = {name for (name,) in fresh.execute("SELECT name FROM old.sqlite_master WHERE type = 'table'")}
            rows = {name: _copy_table(name, there, fresh) for name in copied_tables(fresh)}
            fresh.execute(_AFTERWARDS if "grade_changes" in there else _AFTERWARDS + _FEED)
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as source, fresh:
            save_sequences(source, fresh)
    finally:
        fresh.execute("DETACH old")
    return {name: count for name, count in rows.items() if count}


def _copy_table(name: str, there: Collection[str], fresh: apsw.Connection) -> int:
    """Copy one table whole; returns the number of its rows.

    Raises:
        StoreError: the new table takes fewer than the old one has.
    """
    was = next((each for each in (name, _OLD_NAMES.get(name)) if each in there), None)
    if was is None:
        return 0
    old = _columns(fresh, "old", was)
    taken = {
        column: column if column in old else _ELSEWHERE[name, column]
        for column in _columns(fresh, "main", name)
        if column in old or (name, column) in _ELSEWHERE
    }
    fresh.execute(f"INSERT INTO main.{name} ({', '.join(taken)}) SELECT {', '.join(taken.values())} FROM old.{was}")
    rows, before = (int(fresh.execute(f"SELECT count(*) FROM {each}").get) for each in (f"main.{name}", f"old.{was}"))
    if rows != before:
        raise StoreError(f"{rows:,} of {before:,} rows of {name} could be carried over; nothing was changed")
    return rows


def _columns(connection: apsw.Connection, database: str, table: str) -> list[Any]:
    return [row[1] for row in connection.execute(f"PRAGMA {database}.table_info({table})")]
