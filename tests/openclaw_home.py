"""Databases of OpenClaw as it makes them, for tests: the tables and columns that are read, and rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from grader_daemon.system import zstd
from tests.pi_lines import Line

TABLES = (
    "PRAGMA journal_mode = WAL",
    """CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL,
       previous_session_id TEXT, reason TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, status TEXT,
       channel TEXT, model TEXT, spawned_by TEXT) STRICT""",
    """CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
       created_at INTEGER NOT NULL, event_zstd BLOB, event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq),
       CHECK (octet_length(event_json) > 0 OR event_zstd IS NOT NULL)) STRICT""",
    "CREATE TABLE transcript_rewrite_watermarks (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT) STRICT",
    "CREATE TABLE auth_profile_store (id TEXT PRIMARY KEY, secret TEXT) STRICT",
    "CREATE TABLE memory_index_chunks (id TEXT PRIMARY KEY, text TEXT) STRICT",
)
OLD_TABLES = (
    "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, session_key TEXT, updated_at INTEGER)",
    """CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER,
       PRIMARY KEY (session_id, seq))""",
)
WINDOW = (
    "INSERT INTO session_windows (session_id, session_key, previous_session_id, reason, created_at, updated_at)"
    " VALUES (?, ?, ?, ?, 1, 1)"
)
LINE = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)"
PACKED = (
    "INSERT INTO transcript_events (session_id, seq, event_zstd, event_utf8_bytes, created_at) VALUES (?, ?, ?, ?, ?)"
)
_WAITS_MILLISECONDS = 60_000

Statement = tuple[str, Sequence[Any]]


def database_in(root: Path, agent: str = "main") -> Path:
    """Return where the database of one of its agents lies."""
    path = root / agent / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def run(path: Path, *statements: Statement) -> None:
    """Run statements in one transaction."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.set_busy_timeout(_WAITS_MILLISECONDS)  # readers hold it for a moment as they open and close it
        with connection:
            for statement, values in statements:
                connection.execute(statement, values).fetchall()


def made(path: Path, tables: Sequence[str] = TABLES) -> Path:
    """Make the tables."""
    with closing(apsw.Connection(str(path))) as connection:
        for statement in tables:
            connection.execute(statement).fetchall()
    return path


def window(name: str, key: str = "agent:main:main", *, previous: str | None = None, reason: str = "") -> Statement:
    """Return what adds a session."""
    return WINDOW, (name, key, previous, reason or None)


def rows(name: str, lines: Sequence[Line], *, begin: int = 0, packed: bool = False) -> list[Statement]:
    """Return what adds lines to a session, from those of number `begin` on; written one second after the other."""
    statements: list[Statement] = []
    for seq, line in list(enumerate(lines))[begin:]:
        text, time = json.dumps(line, ensure_ascii=False), 1_795_000_000_000 + seq * 1_000
        if packed:
            content = text.encode()
            statements.append((PACKED, (name, seq, zstd.compress(content), len(content), time)))
        else:
            statements.append((LINE, (name, seq, text, time)))
    return statements
