"""What a copy of a fleet's grades knows of where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.domain.fleet_hosts import FleetHostState, copied_id
from grader_daemon.storage.records import FleetCopyState
from grader_daemon.storage.sqlite.alerts import ALERT_COLUMNS
from grader_daemon.storage.sqlite.database import Database
from grader_daemon.storage.sqlite.rows import to_moment, to_text

_HOST: Final = FleetHostState.__struct_fields__
_HOSTS: Final = f"SELECT {', '.join(_HOST)} FROM fleet_hosts ORDER BY host"
_ALERT: Final = ("id", *ALERT_COLUMNS)
_OUTBOX: Final = (
    *("id", "kind", "subject", "event", "channel", "payload", "created_at", "attempts", "next_at"),
    *("delivered_at", "last_error"),
)
_DECISIONS: Final = {
    "alerts": (_ALERT, ""),
    "alert_streams": (("metric", "dimension", "name", "state"), ""),
    "alert_position": (("id", "ended_at", "session_id", "watched_from"), ""),
    "alert_silences": (("metric", "dimension", "name", "until"), ""),
    "outbox": (_OUTBOX, " WHERE delivered_at IS NULL"),
}
"""What all copies share beside grades: tables, each with its columns and which of its rows."""
_MARKS: Final = (
    "SELECT fingerprint, resolved_at, ignored_at FROM error_issues"
    " WHERE resolved_at IS NOT NULL OR ignored_at IS NOT NULL ORDER BY fingerprint"
)

_UNMARK: Final = (
    "UPDATE error_issues SET resolved_at = NULL, ignored_at = NULL"
    " WHERE resolved_at IS NOT NULL OR ignored_at IS NOT NULL"
)


class FleetCopies:
    """Which fleet it is, its machines, and how far each is here."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self) -> FleetCopyState | None:
        rows = self._database.rows("SELECT fleet, version, read_at, decisions, labels_at FROM fleet_copy")
        if not rows:
            return None
        fleet, version, read_at, decisions, labels_at = rows[0]
        return FleetCopyState(
            fleet=fleet,
            version=version,
            read_at=to_moment(read_at),
            decisions=decisions,
            labels_at=to_moment(labels_at),
        )

    def save_state(self, state: FleetCopyState) -> None:
        self._database.connection.execute(
            "INSERT OR REPLACE INTO fleet_copy (id, fleet, version, read_at, decisions, labels_at)"
            " VALUES (1, ?, ?, ?, ?, ?)",
            (state.fleet, state.version, to_text(state.read_at), state.decisions, to_text(state.labels_at)),
        )

    def hosts(self) -> list[FleetHostState]:
        rows = self._database.rows(_HOSTS)
        return [
            FleetHostState(
                **{**dict(zip(_HOST, row, strict=True)), "last_seen": to_moment(row[_HOST.index("last_seen")])}
            )
            for row in rows
        ]

    def save_host(self, host: FleetHostState) -> None:
        self._database.connection.execute(
            f"INSERT OR REPLACE INTO fleet_hosts ({', '.join(_HOST)}) VALUES ({', '.join('?' * len(_HOST))})",
            tuple({**msgspec.structs.asdict(host), "last_seen": to_text(host.last_seen)}.values()),
        )

    def forget_host(self, host: str) -> None:
        self._database.connection.execute("DELETE FROM fleet_hosts WHERE host = ?", (host,))

    def sessions_of(self, host: str, limit: int) -> Sequence[str]:
        first = copied_id(host, "")
        rows = self._database.rows(
            "SELECT session_id FROM session_grades WHERE session_id > ?1 AND session_id < ?1 || char(1114111) LIMIT ?2",
            (first, limit),
        )
        return [name for (name,) in rows]

    def ended_before(self, moment: datetime, limit: int) -> Sequence[str]:
        rows = self._database.rows(
            "SELECT session_id FROM session_list WHERE ended_at < ? LIMIT ?", (to_text(moment), limit)
        )
        return [name for (name,) in rows]

    def decisions(self) -> bytes:
        tables = {
            name: self._database.rows(f"SELECT {', '.join(columns)} FROM {name}{condition} ORDER BY 1, 2")
            for name, (columns, condition) in _DECISIONS.items()
        }
        return msgspec.json.encode({**tables, "marks": self._database.rows(_MARKS)})

    def replace_decisions(self, content: bytes) -> None:
        connection, tables = self._database.connection, msgspec.json.decode(content)
        for name, (columns, condition) in _DECISIONS.items():
            connection.execute(f"DELETE FROM {name}{condition}")
            connection.executemany(
                f"INSERT OR REPLACE INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                tables[name],
            )
        connection.execute(_UNMARK)
        connection.executemany(
            "UPDATE error_issues SET resolved_at = ?2, ignored_at = ?3 WHERE fingerprint = ?1", tables["marks"]
        )
        # What a round took up that did not come to be kept is taken up again.
        connection.execute(
            "UPDATE session_details SET watched = 0 WHERE watched"
            " AND (ended_at, session_id) > (SELECT ended_at, session_id FROM alert_position)"
        )
