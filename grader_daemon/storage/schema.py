"""Bringing a database file to the current schema: numbered migrations, each in one transaction with its record.

A database of the original design (its two tables only) is adopted: the first migration leaves tables that exist alone.
"""

from __future__ import annotations

import re
from importlib.resources import files

import apsw

from grader_daemon.errors import StoreError
from grader_daemon.storage.rows import GRADE_COLUMNS

_ORIGINAL_COLUMNS = frozenset(GRADE_COLUMNS)


def migrations() -> list[tuple[int, str, str]]:
    """Give number, name and SQL of every migration, in order."""
    found = []
    for entry in files(__package__).joinpath("migrations").iterdir():
        numbered = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if numbered:
            found.append((int(numbered.group(1)), numbered.group(2), entry.read_text("utf-8")))
    return sorted(found)


def migrate(connection: apsw.Connection, name: str) -> None:
    """Apply the migrations that are missing. `name` is the database as a person knows it.

    Raises:
        StoreError: the database is newer than this program, or is not a database of grades.
    """
    known = migrations()
    applied = applied_version(connection)
    if applied > known[-1][0]:
        raise StoreError(
            f"database {name}: its schema {applied} is newer than this program's {known[-1][0]}; update grader-daemon"
        )
    if applied == known[-1][0]:
        return
    _check_original(connection, name)
    for number, title, sql in known:
        _apply(connection, number, title, sql)


def newest_version() -> int:
    """Give the number of the last migration that this program knows."""
    return migrations()[-1][0]


def applied_version(connection: apsw.Connection) -> int:
    """Give the number of the last migration that was applied; 0 if none was."""
    if not has_table(connection, "schema_migrations"):
        return 0
    return int(connection.execute("SELECT coalesce(max(CAST(version AS INTEGER)), 0) FROM schema_migrations").get)


def _apply(connection: apsw.Connection, number: int, title: str, sql: str) -> None:
    """Apply one migration unless another process was faster: the check is made inside the transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if applied_version(connection) < number:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS schema_migrations ("
                " version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
            )
            connection.execute(sql)
            connection.execute(
                "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, datetime('now') || '+00:00')",
                (number, title),
            )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _check_original(connection: apsw.Connection, name: str) -> None:
    if not has_table(connection, "session_grades"):
        return
    columns = {row[1] for row in connection.execute("PRAGMA table_info(session_grades)")}
    missing = sorted(_ORIGINAL_COLUMNS - columns)
    if missing:
        raise StoreError(
            f"database {name}: its table session_grades lacks {', '.join(missing)}; it was not made by a self-grader."
            " Set db_path to another file"
        )


def own_tables() -> frozenset[str]:
    """Name the tables that the migrations make."""
    connection = apsw.Connection(":memory:")
    migrate(connection, "in memory")
    return frozenset(row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))


def has_table(connection: apsw.Connection, table: str) -> bool:
    """Is there a table of this name?"""
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).get
    return row is not None
