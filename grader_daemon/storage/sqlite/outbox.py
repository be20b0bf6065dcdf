"""What is to be told to receivers outside. A row stays until it is delivered, so each goes out at least once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from grader_daemon.domain.text import clean
from grader_daemon.storage.records import OutboxMessage
from grader_daemon.storage.sqlite.database import Database
from grader_daemon.storage.sqlite.rows import known_moment, to_text

_MANY_ATTEMPTS = 8


class Outbox:
    """Messages that wait for their receivers."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
