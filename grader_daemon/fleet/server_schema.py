"""The schema of a fleet's database: numbered migrations, which only `fleet init` applies, all in one transaction."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import psycopg

from grader_daemon.errors import StoreError
from grader_daemon.fleet.server_connection import bound_waiting

HOST_GROUP: Final = "grader_host"
READER_GROUP: Final = "grader_reader"
MEMBER_GROUP: Final = "grader_member"
_GROUPS: Final = (HOST_GROUP, READER_GROUP, MEMBER_GROUP)
_MIGRATIONS: Final = Path(__file__).parent / "migrations"


def migrate(connection: psycopg.Connection) -> int:
    """Apply what is missing, all or nothing; returns the version that was there before, 0: none.

    Raises:
        StoreError: the schema is newer than this program.
    """
    bound_waiting(connection, statement_seconds=0)
    with connection.transaction():
        before = _locked_version(connection)
        _refuse_newer(before)
        _make_groups(connection)
        if before == 0:
            _begin(connection)
        for number, sql in migrations():
            if number > before:
                connection.execute(sql)
                connection.execute("INSERT INTO grader.schema_versions (version) VALUES (%s)", (number,))
    return before


def _locked_version(connection: psycopg.Connection) -> int:
    """Return the version of the schema, which nobody else migrates until the transaction ends.

    The lock is one that takes a right which hosts and members have not.
    """
    before = applied_version(connection)
    if before:
        connection.execute("LOCK TABLE grader.schema_versions IN SHARE ROW EXCLUSIVE MODE")
    return applied_version(connection)


def check_version(connection: psycopg.Connection) -> None:
    """See that the schema is of this program's version.

    Raises:
        StoreError: it is not there, older or newer.
    """
    applied = applied_version(connection)
    _refuse_newer(applied)
    if applied < newest_version():
        found = (
            f"its schema {applied} is older than this program's {newest_version()}" if applied else "there is no fleet"
        )
        raise StoreError(f"the fleet's database: {found}; its administrator runs: grader-daemon fleet init")


def applied_version(connection: psycopg.Connection) -> int:
    """Return the number of the last migration that was applied; 0: none."""
    [is_there] = connection.execute("SELECT to_regclass('grader.schema_versions') IS NOT NULL").fetchone() or (False,)
    if not is_there:
        return 0
    [version] = connection.execute("SELECT coalesce(max(version), 0) FROM grader.schema_versions").fetchone() or (0,)
    return int(version)


def newest_version() -> int:
    """Return the number of the last migration that this program knows."""
    return migrations()[-1][0]


@cache
def migrations() -> list[tuple[int, bytes]]:
    """Return number and SQL of every migration, in order."""
    named = ((re.fullmatch(r"(\d{4})_\w+\.sql", entry.name), entry) for entry in _MIGRATIONS.iterdir())
    return sorted((int(numbered[1]), entry.read_bytes()) for numbered, entry in named if numbered)


def _make_groups(connection: psycopg.Connection) -> None:
    """Make the groups of roles; they are of the whole server, and another fleet may have them."""
    for group in _GROUPS:
        known = connection.execute("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = %s", (group,)).fetchone()
        if known is None:
            connection.execute(f"CREATE ROLE {group} NOLOGIN".encode())


def _begin(connection: psycopg.Connection) -> None:
    """Make what the first migration needs."""
    connection.execute("CREATE SCHEMA grader")
    connection.execute(
        "CREATE TABLE grader.schema_versions (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    )


def _refuse_newer(applied: int) -> None:
    if applied > newest_version():
        raise StoreError(
            f"the fleet's database: its schema {applied} is newer than this program's {newest_version()};"
            " update grader-daemon"
        )
