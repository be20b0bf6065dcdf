"""Telling receivers of alerts: what waits in the outbox goes out, until it has arrived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

import structlog
import tenacity

from grader_daemon.errors import DeliveryError
from grader_daemon.integrations.receivers import Receiver
from grader_daemon.storage.records import OutboxMessage
from grader_daemon.storage.sqlite.store import SqliteStore

_AT_ONCE = 10
_TRIES = 3
_PAUSES: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60))
_KEPT: Final = timedelta(days=30)


class Delivery:
    """Sends what is due to each receiver, in order; the pauses between tries grow to an hour and never end."""

    name = "delivery"

    def __init__(self, store: SqliteStore, receivers: Mapping[str, Receiver], *, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._receivers = receivers
        self._clock = clock
        self._log = structlog.get_logger()

    def run(self, now: datetime) -> bool:
        """Send what is due. A receiver that is down ends its own turn, and keeps no other waiting for long.

        Returns:
            whether anything was due.
        """
        tried = [self._serve(channel, receiver, now) for channel, receiver in self._receivers.items()]
        if any(tried):
            with self._store.transaction():
                self._store.outbox.forget_delivered(now - _KEPT)
        return any(tried)

    def _serve(self, channel: str, receiver: Receiver, now: datetime) -> bool:
        """Send up to `_AT_ONCE` messages, until one fails; gives whether any was due."""
        for sent in range(_AT_ONCE):
            message = self._store.outbox.next(channel)
            # one that is to wait longer than any pause got its time from a wrong clock, and is due
            if message is None or now < message.next_at <= now + _PAUSES[-1]:
                return sent > 0
            if not self._send(message, receiver):
                break
        return True

    def _send(self, message: OutboxMessage, receiver: Receiver) -> bool:
        try:
            self._patiently()(self._hand_over, message, receiver)
        except DeliveryError as error:
            self._put_off(message, str(error))
            return False
        except Exception as error:  # noqa: BLE001  a bug of ours, told with its traceback; the others are served
            self._log.exception("job.crashed", job=self.name)
            self._put_off(message, f"{type(error).__name__}: {error}")
            return False
        with self._store.transaction():
            self._store.outbox.delivered(message.number, self._clock())
        return True

    def _hand_over(self, message: OutboxMessage, receiver: Receiver) -> None:
        receiver.send(message.payload, delivery=message.number, now=self._clock())

    def _put_off(self, message: OutboxMessage, error: str) -> None:
        pause = _PAUSES[min(message.attempts, len(_PAUSES) - 1)]
        self._log.warning(
            "delivery.failed",
            delivery=message.number,
            channel=message.channel,
            error=error,
            attempts=message.attempts + 1,
            retry_seconds=pause.total_seconds(),
        )
        with self._store.transaction():
            self._store.outbox.failed(message.number, error, again_at=self._clock() + pause)

    def _patiently(self) -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(DeliveryError),
            stop=tenacity.stop_after_attempt(_TRIES),
            wait=tenacity.wait_random_exponential(0.2, max=2),
            reraise=True,
        )
