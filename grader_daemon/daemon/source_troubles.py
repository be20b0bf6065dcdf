"""Failures of sources by bugs of ours: told once, counted, and made good by scans after growing pauses.

A source that fails stops no other: `sources.protocol.Sources` passes over what it fails on, and tells of it here.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic

import structlog

from grader_daemon.domain.unit import Unit

_PAUSES_SECONDS = (5.0, 15.0, 60.0, 300.0, 900.0)
"""Pauses after the first failure, the second, and so on; the last one for all that follow."""


_OURS = "grader-daemon"
"""Name under which failures are counted that are of no source."""


class _Trouble:
    """One source that fails, from its first failure until a scan goes well; seconds are those of the clock."""

    def __init__(self, now: float) -> None:
        self.began_at = self.failed_at = now
        self.failures = 0
        self._tries = 0
        self.retry_at = now + self.pause_seconds

    @property
    def pause_seconds(self) -> float:
        """The pause before it is tried again."""
        return _PAUSES_SECONDS[min(self._tries, len(_PAUSES_SECONDS) - 1)]

    def put_off(self, now: float) -> None:
        """Plan the next try, later than the last time if that was reached."""
        if now >= self.retry_at:
            self._tries += 1
            self.retry_at = now + self.pause_seconds


class SourceTroubles:
    """Counts the failures of each source. Any thread notes them; the worker's ends them."""

    def __init__(self, ask_scan: Callable[[float], None], *, clock: Callable[[], float] = monotonic) -> None:
        """`ask_scan` has a scan begin by some time of the `clock`, whose seconds never go back."""
        self._ask_scan = ask_scan
        self._clock = clock
        self._log = structlog.get_logger()
        self._lock = threading.Lock()
        # Guarded by _lock.
        self._failures: Counter[str] = Counter()
        self._troubles: dict[str, _Trouble] = {}

    def note_session(self, unit: Unit, error: Exception) -> None:
        """We failed on one session, which the ledger has tried again."""
        self._count(unit.source)
        self._log.error("worker.failed", path=str(unit), exc_info=error)

    def note_batch(self, units: int, error: Exception) -> None:
        """We failed with so many units in hand, which the next scan finds again."""
        self._count(_OURS)
        self._log.error("worker.failed", paths=units, exc_info=error)

    def _count(self, source: str) -> None:
        with self._lock:
            self._failures[source] += 1

    def note(self, source: str, error: Exception) -> None:
        """A source failed on something else: the first time it is told, and a scan is to make up for it."""
        now = self._clock()
        with self._lock:
            self._failures[source] += 1
            is_news = source not in self._troubles
            trouble = self._troubles.setdefault(source, _Trouble(now))
            trouble.failed_at = now
            trouble.failures += 1
        if is_news:
            said = f"{type(error).__name__}: {error}"
            self._log.error(
                "source.failed", source=source, error=said, retry_seconds=trouble.pause_seconds, exc_info=error
            )
            self._ask_scan(trouble.retry_at)

    def settle(self, scan_seconds: float) -> None:
        """A scan ended that took so long: a source that did not fail since, nor for a pause before, is well again."""
        now = self._clock()
        with self._lock:
            well = {
                source: trouble
                for source, trouble in self._troubles.items()
                if trouble.failed_at < now - max(scan_seconds, trouble.pause_seconds)
            }
            for source in well:
                del self._troubles[source]
            for trouble in self._troubles.values():
                trouble.put_off(now)
            due = [trouble.retry_at for trouble in self._troubles.values()]
        for source, trouble in well.items():
            self._log.info(
                "source.recovered",
                level="notice",
                source=source,
                failures=trouble.failures,
                seconds=round(now - trouble.began_at, 1),
            )
        if due:
            self._ask_scan(min(due))

    @property
    def failures(self) -> dict[str, int]:
        """Number of failures of each source so far."""
        with self._lock:
            return dict(self._failures)

    @property
    def failing(self) -> tuple[str, ...]:
        """The sources that fail at the moment."""
        with self._lock:
            return tuple(sorted(self._troubles))
