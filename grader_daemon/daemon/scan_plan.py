"""Plan the next scan, and find what is missing after it. Pure: time comes in as seconds of any monotonic clock.

This is what makes everything else replaceable: after a crash, an overflow of the kernel's event queue, a suspend or a
full queue, the difference between disk and ledger is the work that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from math import inf

from grader_daemon.domain.unit import Found, Stamp, Unit

_LONGEST_PAUSE_SECONDS = 3600.0
BLIND_PAUSE_SECONDS = 2.0
_BLIND_CPU_SHARE = 0.02
"""While events cannot be relied on, scans find what is new, and may cost more for that; so may those asked for."""

Remembered = Callable[[Sequence[Unit]], Sequence[Stamp | None]]
"""Gives the stamps that the ledger has for units; None for one that it does not know."""


class ScanPlan:
    """Decides when a scan begins: at once, then after pauses that keep its cost small, or when one is asked for.

    A regular pause begins where a scan ends; before one that is asked for it begins where the scan before it began, and
    beside a backlog that was long ago. Not thread-safe: its owner guards it.
    """

    def __init__(self, *, scan_seconds: float, cpu_share: float) -> None:
        """`scan_seconds` is the shortest pause, `cpu_share` the part of one processor that scans may take."""
        self._scan_seconds = scan_seconds
        self._cpu_share = cpu_share
        self._regular_at = -inf
        self._asked_at = inf
        self._soonest = -inf
        self._began_at = -inf
        self._running = False

    def ask(self, at: float) -> None:
        """Ask for a scan by then, or after the one under way, which may have passed some places already.

        Later if scans cost so much that asking for them all the time would keep a processor busy.
        """
        self._asked_at = min(self._asked_at, at)

    @property
    def is_asked(self) -> bool:
        """True if a scan is asked for that has not begun."""
        return self._asked_at < inf

    def next_due(self) -> float:
        """Return the time at which the next scan is due; `inf` while one is under way."""
        return inf if self._running else min(self._regular_at, max(self._asked_at, self._soonest))

    def begin(self, now: float) -> bool:
        """Return whether a scan is due; then it is under way until `end`."""
        if now < self.next_due():
            return False
        self._running, self._asked_at, self._began_at = True, inf, now
        return True

    def end(self, now: float, *, cpu_seconds: float, is_blind: bool) -> None:
        """Note the end of a scan and what it cost; `is_blind` says that events cannot be relied on."""
        least, share = self._scan_seconds, self._cpu_share
        if is_blind:
            least, share = min(BLIND_PAUSE_SECONDS, least), _BLIND_CPU_SHARE
        self._running = False
        self._soonest = self._began_at + min(cpu_seconds / _BLIND_CPU_SHARE, _LONGEST_PAUSE_SECONDS)
        self._regular_at = now + min(max(least, cpu_seconds / share), _LONGEST_PAUSE_SECONDS)


def missing_units(found: Sequence[Found], remembered: Remembered, again: Set[Unit]) -> list[Found]:
    """Return the units that the ledger does not know, or knows with another stamp, or that are to be read again.

    Args:
        found: units on disk.
        remembered: gives the stamps that the ledger has for units.
        again: units for which that says nothing.
    """
    known = remembered([each.unit for each in found])
    return [
        each for each, stamp in zip(found, known, strict=True) if stamp != each.stamp or (again and each.unit in again)
    ]
