"""Runs of the daemon and of its jobs, and the messages that they leave to be delivered.

A message stays until it is delivered, so each goes out at least once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from grader_daemon.domain.text import clean
from grader_daemon.storage.records import DaemonStatus, JobHistory, OutboxMessage
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.rows import known_moment, to_moment, to_text

_RUNS_KEPT = 500
_MANY_ATTEMPTS = 8


class DaemonState(Table):
    """Status of the daemon, by itself: one row, written over and over."""

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


class JobRuns(Table):
    """A row for each run of a job that did something, or failed; the newest of each job are kept."""

    def save(self, job: str, *, started_at: datetime, finished_at: datetime, error: str | None) -> None:
        """Note a run; `error` is None when it went well."""
        outcome, said = ("done", None) if error is None else ("failed", clean(error))
        self._database.connection.execute(
            "INSERT INTO job_runs (job, started_at, finished_at, outcome, error) VALUES (?, ?, ?, ?, ?)",
            (job, to_text(started_at), to_text(finished_at), outcome, said),
        )
        self._database.connection.execute(
            "DELETE FROM job_runs WHERE job = ?1"
            " AND id <= (SELECT id FROM job_runs WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
            (job, _RUNS_KEPT),
        )

    def history(self, job: str) -> JobHistory:
        """Return how a job went last."""
        rows = self._database.rows(
            "SELECT outcome, finished_at FROM job_runs WHERE job = ? ORDER BY id DESC LIMIT 20", (job,)
        )
        failures = next((count for count, row in enumerate(rows) if row[0] == "done"), len(rows))
        return JobHistory(ended_at=to_moment(rows[0][1]) if rows else None, failures=failures)


class Outbox(Table):
    """Messages that wait for their receivers."""

    def put(self, *, kind: str, subject: str, event: str, channel: str, payload: str, now: datetime) -> None:
        """Keep a message; call it inside the transaction that makes it true."""
        self._database.connection.execute(
            "INSERT INTO outbox (kind, subject, event, channel, payload, created_at, attempts, next_at)"
            " VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
            (kind, subject, event, channel, payload, to_text(now), to_text(now)),
        )

    def next(self, channel: str) -> OutboxMessage | None:
        """Return the oldest message of a channel that is not delivered; those after it wait for it.

        One that was tried many times stands back: it may be a message that its receiver will never take.
        """
        rows = self._database.rows(
            "SELECT id, payload, attempts, next_at FROM outbox WHERE delivered_at IS NULL AND channel = ?1"
            " ORDER BY attempts >= ?2, CASE WHEN attempts >= ?2 THEN next_at END, id LIMIT 1",
            (channel, _MANY_ATTEMPTS),
        )
        if not rows:
            return None
        number, payload, attempts, next_at = rows[0]
        return OutboxMessage(
            number=number, channel=channel, payload=payload, attempts=attempts, next_at=known_moment(next_at)
        )

    def waiting(self, channels: Iterable[str]) -> int:
        """Count how many messages of these channels are not delivered."""
        counts = dict(
            self._database.rows("SELECT channel, count(*) FROM outbox WHERE delivered_at IS NULL GROUP BY channel")
        )
        return sum(counts.get(channel, 0) for channel in channels)

    def delivered(self, number: int, now: datetime) -> None:
        """Note that a message arrived."""
        self._database.connection.execute(
            "UPDATE outbox SET delivered_at = ?, attempts = attempts + 1, last_error = NULL WHERE id = ?",
            (to_text(now), number),
        )

    def failed(self, number: int, error: str, *, again_at: datetime) -> None:
        """Note why a message did not arrive, and when to try again."""
        self._database.connection.execute(
            "UPDATE outbox SET attempts = attempts + 1, last_error = ?, next_at = ? WHERE id = ?",
            (clean(error), to_text(again_at), number),
        )

    def forget_delivered(self, before: datetime) -> None:
        """Delete messages that were delivered before `before`."""
        self._database.connection.execute("DELETE FROM outbox WHERE delivered_at < ?", (to_text(before),))
