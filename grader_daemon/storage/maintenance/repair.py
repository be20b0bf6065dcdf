"""Repairs of a database that need no person's judgement; nothing here deletes a row."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import datetime
from pathlib import Path

import apsw
import msgspec

from grader_daemon.storage.maintenance.atomic_swap import swap_in, temporary_beside
from grader_daemon.storage.maintenance.backup import settle
from grader_daemon.storage.maintenance.inspection import HALF_GRADED
from grader_daemon.storage.maintenance.salvage import SavedTable, salvage
from grader_daemon.storage.sqlite.database import translated
from grader_daemon.storage.sqlite.rows import to_text
from grader_daemon.storage.sqlite.store import SqliteStore

_OF_AN_INDEX = re.compile(r"(?:row \d+ missing from|wrong # of entries in|non-unique entry in) index (\w+)")
_LINES = 1000


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """A database that was made anew: what was saved of each table, and where the damaged one is kept."""

    tables: list[SavedTable]
    kept: str | None


def rebuild(path: Path, *, now: datetime) -> Rebuilt:
    """Replace a damaged database, which is kept, by a new one with all rows that can be read.

    Sessions whose grades are not whole, and those that were set aside for another, are looked at again by the next run.
    No daemon may run on it.

    Raises:
        StoreError: a program has it open, or the new one cannot be written; nothing was changed then.
    """
    with temporary_beside(path) as fresh:
        tables = salvage(path, fresh)
        with closing(SqliteStore(fresh)) as store:
            grade_again(store, now=now)
            _compare_again(store, now=now)
        settle(fresh)
        kept = swap_in(fresh, path, why="damaged", now=now)
    return Rebuilt(tables=tables, kept=None if kept is None else str(kept))


def recount(store: SqliteStore) -> None:
    """Make the sums anew from the rows."""
    with store.transaction():
        store.recount()


def grade_again(store: SqliteStore, *, now: datetime) -> int:
    """Have the files graded again whose grades are not whole; gives how many."""
    return _change(
        store,
        f"UPDATE session_files SET retry_at = ?, rules_version = NULL WHERE rowid IN ({HALF_GRADED})",
        to_text(now),
    )


def try_dead_again(store: SqliteStore, *, now: datetime) -> int:
    """Have each dead file tried once more; returns how many."""
    return _change(store, "UPDATE session_files SET state = 'retry', retry_at = ? WHERE state = 'dead'", to_text(now))


def rebuild_indexes(store: SqliteStore) -> list[str]:
    """Build the indexes again that lack rows; gives their names, none if something else is damaged too."""
    with translated(store.path):
        try:
            lines = [row[0] for row in store.connection.execute(f"PRAGMA integrity_check({_LINES})")]
        except apsw.CorruptError:
            return []
        found = [_OF_AN_INDEX.fullmatch(line) for line in lines]
        names = sorted({match.group(1) for match in found if match})
        if not all(found):
            return []
        for name in names:
            store.connection.execute(f"REINDEX {name}")
    return names


def _compare_again(store: SqliteStore, *, now: datetime) -> int:
    """Have files looked at again that were set aside for others: those may be what was lost."""
    return _change(
        store,
        "UPDATE session_files SET retry_at = ? WHERE state = 'skipped' AND reason IN ('copy', 'superseded')",
        to_text(now),
    )


def _change(store: SqliteStore, sql: str, *values: str | None) -> int:
    """Run one statement; gives how many rows it changed."""
    with store.transaction():
        store.connection.execute(sql, values)
        return store.connection.changes()
