"""Salvage of a damaged database: what can still be read of it, row by row, into a new one.

Each table is read from both of its ends up to the damage; what lies between two damaged places is asked for row by row.
A row is taken only if it has the types, times and JSON that its columns ask for: damaged pages may read as rows that
nobody wrote. Of a file that does not say any more where its tables begin nothing is read: grades come again from the
session files, and the rest from a backup. Sums are not copied but counted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from grader_daemon.domain.alert import AlertKind, AlertLevel
from grader_daemon.domain.analysis import Category, FailureKind, SessionState, Subcategory
from grader_daemon.domain.feedback import FeedbackSource, Sampling
from grader_daemon.domain.ledger import FileState
from grader_daemon.domain.quality import CheckOutcome
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import StoreError
from grader_daemon.storage.sqlite.database import translated
from grader_daemon.storage.sqlite.rollups import DERIVED
from grader_daemon.storage.sqlite.schema import BEFORE_RELEASE, applied_version, has_table, migrate, newest_version
from grader_daemon.storage.sqlite.session_list import LISTING
from grader_daemon.storage.sqlite.store import SqliteStore

_NOT_COPIED = frozenset({*DERIVED, *LISTING, "file_counts", "daemon_status", "schema_migrations"})
_OF_THE_ORIGINAL = frozenset({"session_grades", "weekly_reports"})
"""Tables whose times another program may have written in its own way; they are read with patience."""
_DAMAGE: Final = (apsw.Error, UnicodeDecodeError)
"""What reading a damaged file raises."""
_Key = tuple[Any, ...]
_BATCH: Final = 256
_LAST_NUMBER: Final = (1 << 63) - 1
_FRUITLESS: Final = 50_000
"""So many numbers in succession are asked for in vain, within a second, before the rest of a table is given up."""
_JSON = frozenset(
    {
        *(("session_details", name) for name in ("reasons", "tools", "features", "claims", "people")),
        *(("alerts", name) for name in ("drops", "sessions", "changes", "decomposition")),
        *(("alert_streams", "state"), ("alert_outbox", "payload"), ("outbox", "payload")),
        *(("calibrations", "model"), ("calibrations", "evidence")),
    }
)
_KINDS: Mapping[tuple[str, str], Callable[[str], object]] = {
    ("session_details", "state"): SessionState,
    ("session_details", "verdict_by"): VerdictBy,
    ("session_details", "automatic_by"): VerdictBy,
    ("session_failures", "category"): Category,
    ("session_failures", "kind"): FailureKind,
    ("session_failures", "subcategory"): Subcategory,
    ("session_files", "state"): FileState,
    ("error_issues", "category"): Category,
    ("error_issues", "subcategory"): Subcategory,
    ("alerts", "kind"): AlertKind,
    ("alerts", "level"): AlertLevel,
    ("feedback", "source"): FeedbackSource,
    ("feedback", "sampled"): Sampling,
    ("feedback", "verdict_before"): VerdictBy,
    ("calibrations", "verdict_by"): VerdictBy,
    ("quality_checks", "outcome"): CheckOutcome,
}
_TYPES: Mapping[str, type | tuple[type, ...]] = {"INTEGER": int, "TEXT": str, "REAL": (float, int)}


class SavedTable(msgspec.Struct, frozen=True):
    """Rows of a table: how many were saved, and how many not; None when nobody can tell."""

    name: str
    saved: int
    lost: int | None


def salvage(damaged: Path, fresh: Path) -> list[SavedTable]:
    """Copy the rows of `damaged` that can be read into the empty file `fresh`; `damaged` is not changed.

    Raises:
        StoreError: `damaged` is newer than this program, or of another; or `fresh` cannot be written.
    """
    saved: list[SavedTable] = []
    source = _open(damaged)
    if source is not None:
        with closing(source):
            _check_schema(source, damaged)
            saved = _copy(source, fresh)
    with closing(SqliteStore(fresh)) as store, store.transaction():
        store.recount()
        store.recount_files()
    return [table for table in saved if table.saved or table.lost]


def _copy(source: apsw.Connection, fresh: Path) -> list[SavedTable]:
    """Copy all tables into a database of the version of `source`: only migrations know where an older one's rows go."""
    with translated(fresh), closing(apsw.Connection(str(fresh))) as connection:
        migrate(connection, str(fresh), up_to=len(_versions(source)) or None)
        saved = []
        for name in copied_tables(connection):
            with connection:
                saved.append(_save(name, source, connection))
        with connection:
            save_sequences(source, connection)
    return saved


# -- opening a damaged file --------------------------------------------------------------------------------------------


def _open(path: Path) -> apsw.Connection | None:
    """Open a file if its schema can be read and names a table."""
    connection = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        # Without it SQLite reads nothing of a file that is shorter than its header says.
        connection.execute("PRAGMA writable_schema = ON")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        found = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").get
    except _DAMAGE:
        found = 0
    if not found and connection is not None:
        connection.close()
    return connection if found else None


def _check_schema(source: apsw.Connection, damaged: Path) -> None:
    """Check that a schema is ours, and not newer: with rows that this program would not know how to keep."""
    if not any(has_table(source, name) for name in ("session_grades", "session_files")):
        raise StoreError(f"database {damaged}: it belongs to another program, and was not changed")
    if len(_versions(source)) > newest_version():
        raise StoreError(f"database {damaged}: its schema is newer than this program; update grader-daemon")


def _versions(source: apsw.Connection) -> range:
    """Return the migrations that were applied, if they are all there: a number alone may be damage.

    Of one of before the first release none is known.
    """
    try:
        applied = [row[0] for row in source.execute("SELECT version FROM schema_migrations ORDER BY version")]
    except _DAMAGE:
        return range(0)
    expected = range(1, len(applied) + 1)
    is_ours = applied_version(source) != BEFORE_RELEASE
    return expected if is_ours and applied == list(expected) else range(0)


# -- one table ---------------------------------------------------------------------------------------------------------


def copied_tables(fresh: apsw.Connection) -> list[str]:
    """Name the tables to copy, grades first."""
    names = [
        row[0]
        for row in fresh.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            " ORDER BY name <> 'session_grades', name"
        )
    ]
    return [name for name in names if name not in _NOT_COPIED]


def _save(name: str, source: apsw.Connection, fresh: apsw.Connection) -> SavedTable:
    """Copy one table."""
    table = _Table(name, source, fresh)
    if not table.columns:
        return SavedTable(name, 0, 0)
    expected = table.count()
    table.copy()
    saved = int(fresh.execute(f"SELECT count(*) FROM {name}").get)
    return SavedTable(name, saved, None if expected is None else max(0, expected - saved))


def save_sequences(source: apsw.Connection, fresh: apsw.Connection) -> None:
    """Keep what no row says: the last number given to one, and when the program was first used."""
    with suppress(*_DAMAGE):
        for name, last in source.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
            if isinstance(last, int):
                fresh.execute("DELETE FROM sqlite_sequence WHERE name = ? AND seq < ?", (name, last))
                fresh.execute(
                    "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2"
                    " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)",
                    (name, last),
                )
    with suppress(*_DAMAGE):
        for version, applied_at in source.execute("SELECT version, applied_at FROM schema_migrations").fetchall():
            if isinstance(applied_at, str) and _reads("schema_migrations", "applied_at", applied_at):
                fresh.execute("UPDATE schema_migrations SET applied_at = ? WHERE version = ?", (applied_at, version))


class _Table:
    """A table that may be damaged anywhere, and the same one of the new database, which takes its rows.

    `columns` are those that both have, the key is that in whose order the rows are stored.
    """

    def __init__(self, name: str, source: apsw.Connection, fresh: apsw.Connection) -> None:
        self._name = name
        self._source = source
        self._fresh = fresh
        known: list[Any] = fresh.execute(f"PRAGMA table_info({name})").fetchall()
        definition = fresh.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).get
        parts = sorted((row[5], row[1]) for row in known if row[5])
        self._key = tuple(column for _, column in parts) if "WITHOUT ROWID" in definition else ("rowid",)
        there = _columns_of(source, name)
        self._checked = [row for row in known if row[1] in there]
        self.columns = [row[1] for row in self._checked]
        self._select = f"SELECT {', '.join((*self._key, *self.columns))} FROM {name}"
        marks = ", ".join("?" * len(self.columns))
        self._insert = f"INSERT OR IGNORE INTO {name} ({', '.join(self.columns)}) VALUES ({marks})"

    def count(self) -> int | None:
        """Count the rows as they were, in the table or in an index of it, whichever knows more; None if neither."""
        counts = []
        for how in ("", " NOT INDEXED"):
            with suppress(*_DAMAGE):
                counts.append(int(self._source.execute(f"SELECT count(*) FROM {self._name}{how}").get))
        return max(counts, default=None)

    def copy(self) -> None:
        """Copy what can be read: from the first row on, from the last one back, and one by one in between."""
        last, is_whole = self._run("ASC", _leads_on)
        if is_whole:
            return
        first, _ = self._run(
            "DESC", lambda before, key: (before is None or key < before) and (last is None or last < key)
        )
        if self._key == ("rowid",):
            self._run_between(0 if last is None else last[0] + 1, _LAST_NUMBER if first is None else first[0])
        elif self._key[0] == "session_id":
            self._ask_for_each("session_id", self._missing_sessions())

    def _run_between(self, low: int, high: int) -> None:
        """Copy what lies between two numbers, on from each one in turn until rows follow it again."""
        fruitless = 0
        while low < high and fruitless < _FRUITLESS:
            last, is_whole = self._run("ASC", _leads_from(low), "WHERE rowid >= ? AND rowid < ?", (low, high))
            if is_whole:
                return
            fruitless = fruitless + 1 if last is None else 0
            low = low + 1 if last is None else last[0] + 1

    def _run(
        self, order: str, leads: Callable[[_Key | None, _Key], bool], which: str = "", bounds: Sequence[int] = ()
    ) -> tuple[_Key | None, bool]:
        """Copy rows in order up to the first that cannot be read, or does not lead on: damaged pages may lead back.

        Returns:
            the key of the last one, and whether it was the last of all.
        """
        by = ", ".join(f"{column} {order}" for column in self._key)
        before: _Key | None = None
        batch: list[Sequence[Any]] = []
        is_whole = False
        with suppress(*_DAMAGE, TypeError):  # keys of damaged pages need not compare
            for row in self._source.execute(f"{self._select} {which} ORDER BY {by}", bounds):
                key = tuple(row[: len(self._key)])
                if not leads(before, key):
                    break
                before = key
                batch.append(row)
                if len(batch) == _BATCH:
                    self._keep(batch)
                    batch = []
            else:
                is_whole = True
        if batch:
            self._keep(batch)
        return before, is_whole

    def _ask_for_each(self, column: str, values: Iterable[object]) -> None:
        """Copy the rows that have one of these values in a column that an intact part of the tree may lead to."""
        for value in values:
            with suppress(*_DAMAGE):
                self._keep(self._source.execute(f"{self._select} WHERE {column} = ?", (value,)).fetchall())

    def _missing_sessions(self) -> list[str]:
        """Return the sessions that have a grade and no row here yet."""
        return [
            row[0]
            for row in self._fresh.execute(
                "SELECT session_id FROM session_grades AS g WHERE NOT EXISTS"
                f" (SELECT 1 FROM {self._name} AS t WHERE t.session_id = g.session_id)"
            )
        ]

    def _keep(self, rows: Iterable[Sequence[Any]]) -> None:
        """Insert the sound ones of some rows."""
        bare = [row[len(self._key) :] for row in rows]
        self._fresh.executemany(self._insert, [row for row in bare if self._is_sound(row)])

    def _is_sound(self, values: Sequence[Any]) -> bool:
        return all(_fits(self._name, column, value) for column, value in zip(self._checked, values, strict=True))


def _leads_on(before: _Key | None, key: _Key) -> bool:
    return before is None or before < key


def _leads_from(low: int) -> Callable[[_Key | None, _Key], bool]:
    return lambda before, key: low <= key[0] and _leads_on(before, key)


def _columns_of(source: apsw.Connection, table: str) -> set[Any]:
    try:
        return {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
    except _DAMAGE:
        return set()


def _fits(table: str, column: Sequence[Any], value: Any) -> bool:
    """Return whether a column of ours can hold this value. `column` is a row of ``PRAGMA table_info``."""
    _, name, declared, is_required, *_ = column
    if value is None:
        return not is_required
    if not isinstance(value, _TYPES.get(declared, object)):
        return False
    return not isinstance(value, str) or _reads(table, name, value)


def _reads(table: str, name: str, text: str) -> bool:
    """Return whether a text says what it should: a time, a day, JSON, one of a few words."""
    try:
        if (table, name) in _JSON:
            msgspec.json.decode(text)
        elif (table, name) in _KINDS:
            _KINDS[table, name](text)
        elif table not in _OF_THE_ORIGINAL and (name.endswith("_at") or name == "until"):
            datetime.fromisoformat(text)
        elif table not in _OF_THE_ORIGINAL and name in ("day", "week_start"):
            date.fromisoformat(text)
    except (msgspec.MsgspecError, ValueError):
        return False
    return "\0" not in text
