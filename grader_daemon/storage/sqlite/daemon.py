"""What the daemon says of itself."""

from __future__ import annotations

from datetime import datetime

import msgspec

from grader_daemon.storage.records import DaemonStatus
from grader_daemon.storage.sqlite.database import Database
from grader_daemon.storage.sqlite.rows import to_moment, to_text


class DaemonState:
    """What the daemon says of itself: one row, written over and over."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, status: DaemonStatus) -> None:
        """Keep what the daemon says of itself."""
        self._database.connection.execute(
            "INSERT OR REPLACE INTO daemon_status (id, pid, started_at, said_at, backlog, watching, waiting_since,"
            " compared_at, failures, failing) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                status.pid,
                to_text(status.started_at),
                to_text(status.said_at),
                status.backlog,
                msgspec.json.encode(status.watching).decode(),
                to_text(status.waiting_since),
                to_text(status.compared_at),
                msgspec.json.encode(status.failures).decode(),
                msgspec.json.encode(status.failing).decode(),
            ),
        )

    def status(self) -> DaemonStatus | None:
        """Return what the daemon said of itself last; None when none ever ran."""
        rows = self._database.rows(
            "SELECT pid, started_at, said_at, backlog, watching, waiting_since, compared_at, failures, failing"
            " FROM daemon_status"
        )
        if not rows:
            return None
        pid, started_at, said_at, backlog, watching, waiting_since, compared_at, failures, failing = rows[0]
        return DaemonStatus(
            pid=pid,
            started_at=datetime.fromisoformat(started_at),
            said_at=datetime.fromisoformat(said_at),
            backlog=backlog,
            watching=msgspec.json.decode(watching, type=dict[str, str]),
            waiting_since=to_moment(waiting_since),
            compared_at=to_moment(compared_at),
            failures=msgspec.json.decode(failures, type=dict[str, int]),
            failing=msgspec.json.decode(failing, type=tuple[str, ...]),
        )
