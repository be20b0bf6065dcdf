"""Databases as earlier versions of the program left them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from grader_daemon.storage.sqlite.schema import migrations

_NOT_COPIED = ("schema_migrations", "sqlite_sequence")
_BEFORE_UNITS = {"mtime_ns": "written_ns"} | dict.fromkeys(("device", "inode", "size", "ctime_ns"), "7")
"""Columns of `session_files` before it was keyed by unit, and what stands in them."""


def make_earlier(path: Path, version: int, *, holding: Path | None = None) -> None:
    """Make a database of the schema `version`; it holds what that version can hold of the rows of another one."""
    with closing(apsw.Connection(str(path))) as connection:
        made = "version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL"
        connection.execute(f"CREATE TABLE schema_migrations ( {made})")  # to the letter: `restore` compares schemas
        for number, name, sql in migrations()[:version]:
            connection.execute(sql)
            connection.execute("INSERT INTO schema_migrations VALUES (?, ?, '2026-11-21')", (number, name))
        if holding is not None:
            connection.execute("ATTACH ? AS other", (str(holding),))
            for table in _tables(connection):
                columns, now = (_columns(connection, database, table) for database in ("main", "other"))
                values = [name if name in now else _BEFORE_UNITS[name] for name in columns]
                connection.execute(
                    f"INSERT OR REPLACE INTO main.{table} ({', '.join(columns)})"
                    f" SELECT {', '.join(values)} FROM other.{table}"
                )


def _columns(connection: apsw.Connection, database: str, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA {database}.table_info({table})")]


def _tables(connection: apsw.Connection) -> list[str]:
    """Name the tables that both databases have."""
    rows = connection.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table'"
        " INTERSECT SELECT name FROM other.sqlite_schema WHERE type = 'table'"
    ).fetchall()
    names = [str(row[0]) for row in rows]
    return [name for name in names if name not in _NOT_COPIED and not name.startswith("session_words")]
