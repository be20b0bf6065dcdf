"""Homes of Hermes whose sessions lie in a ``state.db``: the tables of its schemas, and rows as it writes them.

Only the columns that are read, and the indexes, which decide what a look costs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw

SCHEMAS = (11, 13, 22, 30)
BEGAN = 1_795_360_000.0
"""2026-11-22 15:06:40 UTC."""

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_SESSIONS = {
    11: (
        "id TEXT PRIMARY KEY", "source TEXT NOT NULL", "model TEXT", "model_config TEXT", "system_prompt TEXT",
        "parent_session_id TEXT", "started_at REAL NOT NULL", "ended_at REAL", "end_reason TEXT",
        "message_count INTEGER DEFAULT 0", *(f"{name} INTEGER DEFAULT 0" for name in _TOKENS),
        "estimated_cost_usd REAL", "actual_cost_usd REAL", "cost_status TEXT", "api_call_count INTEGER DEFAULT 0",
    ),
    22: ("cwd TEXT", "rewind_count INTEGER NOT NULL DEFAULT 0", "archived INTEGER NOT NULL DEFAULT 0"),
    30: ("system_prompt_hash TEXT", "last_activity_at REAL"),
}  # fmt: skip
_MESSAGES = {
    11: (
        "id INTEGER PRIMARY KEY AUTOINCREMENT", "session_id TEXT NOT NULL", "role TEXT NOT NULL", "content TEXT",
        "tool_call_id TEXT", "tool_calls TEXT", "tool_name TEXT", "timestamp REAL NOT NULL", "finish_reason TEXT",
    ),
    13: ("observed INTEGER DEFAULT 0",),
    22: ("active INTEGER NOT NULL DEFAULT 1", "compacted INTEGER NOT NULL DEFAULT 0"),
    30: ("_compressed_summary INTEGER", "display_kind TEXT"),
}  # fmt: skip
_USAGE = (
    "session_id TEXT NOT NULL", "model TEXT NOT NULL", "task TEXT NOT NULL DEFAULT ''",
    "api_call_count INTEGER NOT NULL DEFAULT 0", *(f"{name} INTEGER NOT NULL DEFAULT 0" for name in _TOKENS),
    "estimated_cost_usd REAL NOT NULL DEFAULT 0", "actual_cost_usd REAL NOT NULL DEFAULT 0", "cost_status TEXT",
    "PRIMARY KEY (session_id, model, task)",
)  # fmt: skip
_DELEGATIONS = (
    "delegation_id TEXT PRIMARY KEY", "origin_session TEXT NOT NULL", "parent_session_id TEXT", "state TEXT NOT NULL",
    "result_json TEXT",
)  # fmt: skip
_OTHERS = {
    11: (
        "CREATE TABLE schema_version (version INTEGER NOT NULL)",
        "CREATE INDEX idx_sessions_parent ON sessions(parent_session_id)",
        "CREATE INDEX idx_messages_session ON messages(session_id, timestamp)",
    ),
    22: (
        f"CREATE TABLE session_model_usage ({', '.join(_USAGE)})",
        f"CREATE TABLE async_delegations ({', '.join(_DELEGATIONS)})",
        "CREATE INDEX idx_messages_session_active ON messages(session_id, active, timestamp)",
    ),
    30: (
        "CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT)",
        "CREATE TABLE session_turn_leases (conversation_id TEXT PRIMARY KEY, holder TEXT, expires_at REAL)",
    ),
}


def schema(version: int) -> list[str]:
    """The statements that make the tables of a version."""

    def added(parts: dict[int, tuple[str, ...]]) -> list[str]:
        return [each for since, some in parts.items() if since <= version for each in some]

    sessions, messages = ", ".join(added(_SESSIONS)), ", ".join(added(_MESSAGES))
    tables = [f"CREATE TABLE sessions ({sessions})", f"CREATE TABLE messages ({messages})"]
    return [*tables, *added(_OTHERS), f"INSERT INTO schema_version VALUES ({version})"]


def inserted(table: str, **columns: object) -> tuple[str, tuple[object, ...]]:
    """The statement that adds a row, and its values."""
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values())


def call(call_id: str, tool: str = "terminal", **arguments: object) -> str:
    """A tool call as it stands in `messages.tool_calls`."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return json.dumps([{"id": call_id, "call_id": call_id, "type": "function", "function": function}])


class StateHome:
    """A home of Hermes with a database, closed between two statements."""

    def __init__(self, folder: Path, *, version: int = 22) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.path = folder / "state.db"
        self._at = BEGAN
        self.run(*((statement, ()) for statement in ["PRAGMA journal_mode = WAL", *schema(version)]))

    def run(self, *statements: tuple[str, Sequence[object]]) -> None:
        """Run statements, each in a transaction of its own."""
        with closing(apsw.Connection(str(self.path))) as connection:
            connection.set_busy_timeout(5_000)  # as the agent does
            for statement, values in statements:
                connection.execute(statement, values).fetchall()

    def session(self, session_id: str, *, source: str = "cli", started_at: float = BEGAN, **columns: object) -> None:
        """Add a session."""
        self.run(inserted("sessions", id=session_id, source=source, started_at=started_at, **columns))

    def message(self, session_id: str, role: str, content: str | None, **columns: object) -> None:
        """Add a message, a second after the one before."""
        self._at += 1
        at = columns.pop("timestamp", self._at)
        self.run(inserted("messages", session_id=session_id, role=role, content=content, timestamp=at, **columns))

    def turn(self, session_id: str, question: str = "What is 1 + 1?", answer: str = "It is 2.") -> None:
        """Add a question and its answer."""
        self.message(session_id, "user", question)
        self.message(session_id, "assistant", answer, finish_reason="stop")
