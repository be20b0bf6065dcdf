"""What can still be read of a damaged database, row by row, into a new one.

A row is taken only if it has the types, times and JSON that its columns ask for: damaged pages may read as rows that
nobody wrote. Pages that say where each table begins are taken from a new database when those of the file are gone: the
same migrations put them in the same places. Sums are not copied but counted again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from grader_daemon.domain.alert import AlertKind, AlertLevel
from grader_daemon.domain.analysis import Category, FailureKind, SessionState
from grader_daemon.domain.feedback import FeedbackSource, Sampling
from grader_daemon.domain.ledger import FileState
from grader_daemon.domain.quality import CheckOutcome
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import StoreError
from grader_daemon.storage.maintenance.atomic_swap import temporary_beside
from grader_daemon.storage.maintenance.damaged import DAMAGE, DamagedTable
from grader_daemon.storage.sqlite.listing import LISTING
from grader_daemon.storage.sqlite.rollups import DERIVED
from grader_daemon.storage.sqlite.schema import has_table, newest_version
from grader_daemon.storage.sqlite.store import SqliteStore

_NOT_COPIED = frozenset({*DERIVED, *LISTING, "file_counts", "daemon_status", "schema_migrations"})
_OF_THE_ORIGINAL = frozenset({"session_grades", "weekly_reports"})
"""Tables whose times another program may have written in its own way; they are read with patience."""
_Pieces = Mapping[int, bytes]
_PAGE_BYTES: Final = 4096
_HEADER_BYTES: Final = 100
_JSON = frozenset(
    {
        *(("session_details", name) for name in ("reasons", "tools", "features", "claims", "people")),
        *(("alerts", name) for name in ("drops", "sessions", "changes", "decomposition")),
        *(("alert_streams", "state"), ("outbox", "payload")),
        *(("calibrations", "model"), ("calibrations", "evidence")),
    }
)
_KINDS: Mapping[tuple[str, str], Callable[[str], object]] = {
    ("session_details", "state"): SessionState,
    ("session_details", "verdict_by"): VerdictBy,
    ("session_details", "automatic_by"): VerdictBy,
    ("session_failures", "category"): Category,
    ("session_failures", "kind"): FailureKind,
    ("session_files", "state"): FileState,
    ("error_issues", "category"): Category,
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
    """How many rows of a table were saved, and how many not; None when nobody can tell."""

    name: str
    saved: int
    lost: int | None


def salvage(damaged: Path, fresh: Path) -> list[SavedTable]:
    """Copy the rows of `damaged` that can be read into the empty file `fresh`; `damaged` is not changed.

    Raises:
        StoreError: `damaged` is newer than this program, or of another; or `fresh` cannot be written.
    """
    saved: list[SavedTable] = []
    store = SqliteStore(fresh)
    with closing(store):
        with _readable(damaged, _beginnings(store.connection)) as source:
            if source is not None:
                _check_schema(source, damaged)
                for name in _tables(store.connection):
                    with store.transaction():
                        saved.append(_save(name, source, store.connection))
                with store.transaction():
                    _save_sequences(source, store.connection)
        with store.transaction():
            store.recount()
    return [table for table in saved if table.saved or table.lost]


# -- opening a damaged file --------------------------------------------------------------------------------------------


def _beginnings(fresh: apsw.Connection) -> list[_Pieces]:
    """Give what may replace the beginning of a damaged file, each more than the one before, by its place in the file.

    The header; the first page; all pages of the schema.
    """
    whole = fresh.serialize("main")
    rows = fresh.execute("SELECT pageno FROM dbstat WHERE name IN ('sqlite_schema', 'sqlite_master')").fetchall()
    places = sorted((int(str(row[0])) - 1) * _PAGE_BYTES for row in rows)
    pages = {place: whole[place : place + _PAGE_BYTES] for place in places}
    return [{0: whole[:_HEADER_BYTES]}, {0: pages[0]}, pages]


@contextmanager
def _readable(damaged: Path, beginnings: Sequence[_Pieces]) -> Iterator[apsw.Connection | None]:
    """Open the file as it is, or else a copy with the first beginning that makes it readable; else give None."""
    source = _open(damaged)
    if source is not None:
        with closing(source):
            yield source
        return
    with temporary_beside(damaged) as copy:
        for beginning in beginnings:
            _transplant(damaged, copy, beginning)
            source = _open(copy)
            if source is not None:
                with closing(source):
                    yield source
                return
    yield None


def _open(path: Path) -> apsw.Connection | None:
    """Open a file if its schema can be read and names a table."""
    connection = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        # Without it SQLite reads nothing of a file that is shorter than its header says.
        connection.execute("PRAGMA writable_schema = ON")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        found = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").get
    except DAMAGE:
        found = 0
    if not found and connection is not None:
        connection.close()
    return connection if found else None


def _check_schema(source: apsw.Connection, damaged: Path) -> None:
    """Is it ours, and not newer: with rows that this program would not know how to keep?"""
    if not any(has_table(source, name) for name in ("session_grades", "session_files")):
        raise StoreError(f"database {damaged}: of another program, and left as it is")
    if len(_versions(source)) > newest_version():
        raise StoreError(f"database {damaged}: its schema is newer than this program; update grader-daemon")


def _versions(source: apsw.Connection) -> range:
    """Give the migrations that were applied, if they are all there: a number alone may be damage."""
    try:
        applied = [row[0] for row in source.execute("SELECT version FROM schema_migrations ORDER BY version")]
    except DAMAGE:
        return range(0)
    expected = range(1, len(applied) + 1)
    return expected if applied == list(expected) else range(0)


def _transplant(damaged: Path, copy: Path, pieces: _Pieces) -> None:
    """Copy the file and its log, with other pieces in their places."""
    shutil.copyfile(damaged, copy)
    with suppress(FileNotFoundError):
        shutil.copyfile(f"{damaged}-wal", f"{copy}-wal")
    with open(copy, "r+b") as file:
        for place, piece in pieces.items():
            file.seek(place)
            file.write(piece)
        for place, value in (
            (18, b"\x02\x02"),  # WAL, as all of ours
            (28, (os.stat(damaged).st_size // _PAGE_BYTES).to_bytes(4)),  # pages
            (32, bytes(8)),  # no list of free pages
        ):
            file.seek(place)
            file.write(value)


# -- one table ---------------------------------------------------------------------------------------------------------


def _tables(fresh: apsw.Connection) -> list[str]:
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
    keeper = _Keeper(name, source, fresh)
    if not keeper.columns:
        return SavedTable(name, 0, 0)
    table = DamagedTable(source, name, key=keeper.key, columns=keeper.columns, keep=keeper.keep)
    expected = table.count()
    table.read()
    if table.is_damaged and keeper.key[0] == "session_id":
        table.read_each("session_id", keeper.missing_sessions())
    saved = int(fresh.execute(f"SELECT count(*) FROM {name}").get)
    return SavedTable(name, saved, None if expected is None else max(0, expected - saved))


def _save_sequences(source: apsw.Connection, fresh: apsw.Connection) -> None:
    """Keep what no row says: the last number given to one, and when the program was first used."""
    with suppress(*DAMAGE):
        for name, last in source.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
            if isinstance(last, int):
                fresh.execute("DELETE FROM sqlite_sequence WHERE name = ? AND seq < ?", (name, last))
                fresh.execute(
                    "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2"
                    " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)",
                    (name, last),
                )
    with suppress(*DAMAGE):
        for version, applied_at in source.execute("SELECT version, applied_at FROM schema_migrations").fetchall():
            if isinstance(applied_at, str) and _reads("schema_migrations", "applied_at", applied_at):
                fresh.execute("UPDATE schema_migrations SET applied_at = ? WHERE version = ?", (applied_at, version))


class _Keeper:
    """The table of the new database that takes the rows of a damaged one.

    `columns` are those that both have, `key` those in whose order the rows are stored.
    """

    def __init__(self, name: str, source: apsw.Connection, fresh: apsw.Connection) -> None:
        self._name = name
        self._fresh = fresh
        known: list[Any] = fresh.execute(f"PRAGMA table_info({name})").fetchall()
        definition = fresh.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).get
        parts = sorted((row[5], row[1]) for row in known if row[5])
        self.key = tuple(column for _, column in parts) if "WITHOUT ROWID" in definition else ("rowid",)
        there = _columns_of(source, name)
        self._checked = [row for row in known if row[1] in there]
        self.columns = [row[1] for row in self._checked]
        marks = ", ".join("?" * len(self.columns))
        self._insert = f"INSERT OR IGNORE INTO {name} ({', '.join(self.columns)}) VALUES ({marks})"

    def keep(self, rows: Iterable[Sequence[Any]]) -> int:
        """Insert the sound ones of some rows; gives how many those are."""
        sound = [row for row in rows if self._is_sound(row)]
        self._fresh.executemany(self._insert, sound)
        return len(sound)

    def missing_sessions(self) -> list[str]:
        """Sessions that have a grade and no row here yet."""
        return [
            row[0]
            for row in self._fresh.execute(
                "SELECT session_id FROM session_grades AS g WHERE NOT EXISTS"
                f" (SELECT 1 FROM {self._name} AS t WHERE t.session_id = g.session_id)"
            )
        ]

    def _is_sound(self, values: Sequence[Any]) -> bool:
        return all(_fits(self._name, column, value) for column, value in zip(self._checked, values, strict=True))


def _columns_of(source: apsw.Connection, table: str) -> set[Any]:
    try:
        return {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
    except DAMAGE:
        return set()


def _fits(table: str, column: Sequence[Any], value: Any) -> bool:
    """Can a column of ours hold this value? `column` is a row of ``PRAGMA table_info``."""
    _, name, declared, is_required, *_ = column
    if value is None:
        return not is_required
    if not isinstance(value, _TYPES.get(declared, object)):
        return False
    return not isinstance(value, str) or _reads(table, name, value)


def _reads(table: str, name: str, text: str) -> bool:
    """Does a text say what it should: a time, a day, JSON, one of a few words?"""
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
