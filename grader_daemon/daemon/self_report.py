"""Report of the daemon on itself, for commands that ask the database: how far it is, and what it fails on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import msgspec
import structlog

from grader_daemon.daemon.source_troubles import SourceTroubles
from grader_daemon.storage.maintenance.upgrade import Upgrade
from grader_daemon.storage.records import DaemonStatus


class SelfReport:
    """Made by the service's loop, when there is news; the worker's thread notes scans, each by one assignment."""

    def __init__(self, troubles: SourceTroubles, *, clock: Callable[[], datetime]) -> None:
        """The daemon begins now, by the `clock`."""
        self._troubles = troubles
        self._clock = clock
        self._started_at = clock()
        self._compared_at: datetime | None = None
        self._scanned_at: datetime | None = None
        self._said: DaemonStatus | None = None
        self._said_of: datetime | None = None

    def note_scan(self, *, whole: bool) -> None:
        """A scan ended; unless it is `whole`, a source failed on something that lies there."""
        self._scanned_at = now = self._clock()
        if whole:
            self._compared_at = now

    def news(self, *, watching: Mapping[str, str], backlog: int, waited: float) -> DaemonStatus | None:
        """Return how things stand; None if that was said already, and no scan ended since.

        Args:
            watching: as in `DaemonStatus`.
            backlog: as in `DaemonStatus`.
            waited: how many seconds the file has waited that waits longest; 0 where none does.
        """
        now, scanned_at = self._clock(), self._scanned_at
        status = DaemonStatus(
            pid=os.getpid(),
            started_at=self._started_at,
            said_at=now,
            backlog=backlog,
            watching=dict(watching),
            waiting_since=now - timedelta(seconds=waited) if waited else None,
            compared_at=self._compared_at,
            failures=self._troubles.failures,
            failing=self._troubles.failing,
        )
        if scanned_at == self._said_of and self._said is not None and _facts(status) == _facts(self._said):
            return None
        self._said, self._said_of = status, scanned_at
        return status


def tell_upgrade(upgrade: Upgrade) -> None:
    """Log that the database was upgraded, and the way back."""
    structlog.get_logger().info("store.upgraded", level="notice", kept=str(upgrade.kept), upgrade=str(upgrade))


def _facts(status: DaemonStatus) -> DaemonStatus:
    """Return a status without what is another at each moment."""
    return msgspec.structs.replace(status, said_at=status.started_at, waiting_since=None)
