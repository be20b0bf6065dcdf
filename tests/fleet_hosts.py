"""Machines of a fleet: how they are let in, and whether the server has of one exactly what it has itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from grader_daemon import SelfGrader
from grader_daemon.api.documents import grade_document
from grader_daemon.fleet.admin import fleet_database
from grader_daemon.storage.records import GradeFilter
from tests.postgres import LOOPBACK, Server

_OF_THE_SERVER = {"changed_seq", "received_at", "request", "wording"}


def make_fleet(server: Server) -> None:
    """Make a fleet that has no hosts."""
    with fleet_database(server.socket_url()) as fleet:
        fleet.make()


def let_in(
    server: Server, host: str, *, at: str = LOOPBACK, port: int | None = None, options: Mapping[str, str] | None = None
) -> str:
    """Let a host in, and return its URL: `at` a name of the server, or a `port` of another, with options of libpq."""
    with fleet_database(server.socket_url()) as fleet:
        login = fleet.add(host)
    url = f"postgresql://{login.role}:{login.password}@{at}:{port or server.port}/{login.database}"
    return f"{url}?{urlencode(options)}" if options else url


def password(url: str) -> str:
    """Return the password of a host's URL."""
    return str(conninfo_to_dict(url)["password"])


def counted(server: Server) -> dict[str, int]:
    """Return how many grades the server has of each host."""
    with server.admin() as connection:
        return dict(connection.execute("SELECT host, count(*) FROM grader.grades GROUP BY host").fetchall())


def assert_has_exactly(server: Server, host: str, database: Path) -> None:
    """Compare all that the server has of a host, which sends texts too, with what the database of the host has."""
    own = _documents(database)
    there = _rows(server, host)
    assert sorted(there) == sorted(own)
    for session_id, document in own.items():
        row = there[session_id]
        document |= {"host": host}
        assert row.keys() - _OF_THE_SERVER == document.keys()
        unlike = {name: (value, row[name]) for name, value in document.items() if _like(value, row[name]) != row[name]}
        assert not unlike, (session_id, unlike)


def _documents(database: Path) -> dict[str, dict[str, Any]]:
    with SelfGrader(db_path=database) as grader:
        trust = grader.grades.trust()
        documents = [
            grade_document(each.grade, each.id, trust=trust)
            | {"failures": each.grade.failures, "edited_paths": each.grade.edited_paths}
            for each in grader.grades.every(GradeFilter())
        ]
    return {document["session_id"]: document for document in msgspec.json.decode(msgspec.json.encode(documents))}


def _rows(server: Server, host: str) -> dict[str, dict[str, Any]]:
    with server.admin() as connection, connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute("SELECT * FROM grader.grades WHERE host = %s", (host,)).fetchall()
    return {row["session_id"]: row for row in rows}


def _like(value: Any, other: Any) -> Any:
    """Return a value of a document as the type that the column of the table has."""
    if isinstance(other, datetime):
        return datetime.fromisoformat(value)
    return date.fromisoformat(value) if isinstance(other, date) else value
