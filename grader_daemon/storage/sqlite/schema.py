"""Bringing a database file to the current schema: numbered migrations with their records, all or none of them.

A database of the original design (its two tables only) is adopted: the first migration leaves tables that exist alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from grader_daemon.errors import StoreError, StoreOutdatedError

_MIGRATIONS = Path(__file__).parent / "migrations"
_ADOPTED = frozenset({"session_grades", "weekly_reports"})
"""Tables that may be as another program made them."""
BEFORE_RELEASE: Final = -1
"""The version of databases of builds before the first release, which had migrations of their own."""
_FIRST_OF_THOSE = "initial"
_INTERNAL = re.compile(r"sqlite_(?:sequence|stat[14]|autoindex_\w+)")


def migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of every migration, in order."""
    found = []
    for entry in _MIGRATIONS.iterdir():
        numbered = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if numbered:
            found.append((int(numbered.group(1)), numbered.group(2), entry.read_text("utf-8")))
    return sorted(found)


def migrate(connection: apsw.Connection, name: str, *, up_to: int | None = None) -> None:
    """Apply the migrations that are missing, all or `up_to` one, in one transaction: whoever is stopped left nothing.

    `name` is the database as a person knows it.

    Raises:
        StoreOutdatedError: a build before the first release left it.
        StoreError: the database is newer than this program, or is not a database of grades.
        apsw.CorruptError: it is damaged, so that it seems to be newer.
    """
    known = migrations()
    applied = applied_version(connection)
    if applied == known[-1][0]:
        return
    refuse_unreleased(applied, name)
    _refuse_newer(connection, applied, name)
    _check_original(connection, name)
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number, title, sql in known[applied_version(connection) : up_to]:  # another process may have been faster
            _apply(connection, number, title, sql)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends it
            connection.execute("ROLLBACK")
        raise


def check_readable(connection: apsw.Connection, name: str) -> None:
    """See that a database which is to be read, and left as it is, is of this version.

    Raises:
        StoreOutdatedError: it is older.
        StoreError: it is newer, or of another program.
        apsw.CorruptError: it is damaged, so that it seems to be newer.
    """
    applied, newest = applied_version(connection), newest_version()
    if applied == newest:
        return
    _refuse_newer(connection, applied, name)
    refuse_unreleased(applied, name)
    if not has_table(connection, "session_grades"):
        raise StoreError(f"database {name}: it has no grades; check db_path")
    raise StoreOutdatedError(
        f"database {name}: it is from an earlier version of grader-daemon (schema {applied}, this one has {newest});"
        " to upgrade it and keep a copy: grader-daemon run --once; to preview the changes:"
        " grader-daemon grade --again --diff"
    )


def _refuse_newer(connection: apsw.Connection, applied: int, name: str) -> None:
    if applied > newest_version():
        found = " ".join(str(connection.execute("PRAGMA quick_check(1)").get).split())
        if found != "ok":
            raise apsw.CorruptError(found)
        raise StoreError(
            f"database {name}: its schema {applied} is newer than this program's {newest_version()};"
            " update grader-daemon"
        )


def refuse_unreleased(applied: int, name: str) -> None:
    """Raise StoreOutdatedError for a database of a build before the first release."""
    if applied == BEFORE_RELEASE:
        raise StoreOutdatedError(
            f"database {name}: it is from a build before the first release; to convert it and keep the old file:"
            " grader-daemon doctor --repair"
        )


def newest_version() -> int:
    """Return the number of the last migration that this program knows."""
    return migrations()[-1][0]


def applied_version(connection: apsw.Connection) -> int:
    """Return the number of the last migration that was applied; 0 if none was, or `BEFORE_RELEASE`."""
    if not has_table(connection, "schema_migrations"):
        return 0
    if _FIRST_OF_THOSE in (connection.execute("SELECT * FROM schema_migrations WHERE version = 1").fetchone() or ()):
        return BEFORE_RELEASE
    return int(connection.execute("SELECT coalesce(max(CAST(version AS INTEGER)), 0) FROM schema_migrations").get)


def _apply(connection: apsw.Connection, number: int, title: str, sql: str) -> None:
    """Apply one migration and record it."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_migrations ("
        " version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
    )
    connection.execute(sql)
    connection.execute(
        "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, datetime('now') || '+00:00')",
        (number, title),
    )


def _check_original(connection: apsw.Connection, name: str) -> None:
    if not has_table(connection, "session_grades"):
        return
    from grader_daemon.storage.sqlite.rows import GRADE_COLUMNS  # who only reads need not wait for it

    columns = {row[1] for row in connection.execute("PRAGMA table_info(session_grades)")}
    missing = sorted(frozenset(GRADE_COLUMNS) - columns)
    if missing:
        raise StoreError(
            f"database {name}: its table session_grades lacks {', '.join(missing)}; it is not a"
            " self-grader's; set db_path to another file"
        )


@cache
def own_tables(version: int) -> frozenset[str]:
    """Name the tables that the migrations up to a version make; those of now for one of before the first release."""
    version = newest_version() if version == BEFORE_RELEASE else version
    return frozenset(entry.name for entry in _made_by(version) if entry.type == "table")


def strange_entries(connection: apsw.Connection) -> list[str]:
    """Name what in a schema could act in our place, and what of ours is missing; none if it is as its version makes it.

    Tables of others, with indexes of their own, do nothing by themselves: they are no strangers. Of a database of
    before the first release nobody knows.
    """
    if applied_version(connection) == BEFORE_RELEASE:
        return []
    ours = {entry.name: entry for entry in _made_by(applied_version(connection))}
    found = {entry.name: entry for entry in _entries(connection)}
    strange = [entry.name for entry in found.values() if not _is_harmless(entry, ours)]
    return sorted({*strange, *(ours.keys() - found.keys())})


class _Entry(NamedTuple):
    """Entry of a schema: a table, an index, a view or a trigger, with its `sql` in one spelling."""

    type: str
    name: str
    table: str
    sql: str


def _is_harmless(entry: _Entry, ours: Mapping[str, _Entry]) -> bool:
    if entry.name in ours and entry.name not in _ADOPTED:
        return entry == ours[entry.name]
    is_plain = entry.type == "table" and entry.sql.startswith("CREATE TABLE ")
    return is_plain or (entry.type == "index" and entry.table not in ours)


def _made_by(version: int) -> list[_Entry]:
    """Return what the migrations up to a version make."""
    with closing(apsw.Connection(":memory:")) as connection:
        for number, title, sql in migrations()[:version]:
            _apply(connection, number, title, sql)
        return _entries(connection)


def _entries(connection: apsw.Connection) -> list[_Entry]:
    """Read a schema, without the entries that SQLite keeps for itself."""
    rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master").fetchall()
    entries = [
        _Entry(str(row[0]), str(row[1]), str(row[2]), " ".join(str(row[3]).replace('"', "").split())) for row in rows
    ]
    return [entry for entry in entries if not _INTERNAL.fullmatch(entry.name)]


def has_table(connection: apsw.Connection, table: str) -> bool:
    """Return whether there is a table of this name."""
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).get
    return row is not None
