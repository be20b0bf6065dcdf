"""Intake of changes that are not quiet yet: paths of which events told, and the units that these touch.

A path is looked at soon after its first event, and the units that it touches wait until they are quiet: a database is
written to all the time, and what is quiet is one session in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from grader_daemon.daemon.debounce import Debouncer
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.protocol import Sources

TOO_MANY = "more changes than the queue holds"

_GATHER_SECONDS = 0.1
"""Events of one path are gathered for so long, or half the quiet time if that is shorter, before it is looked at."""

_LOOK_SHARE = 0.05
"""The part of the loop's time that looks at paths may take: to look at a large database takes milliseconds."""

T = TypeVar("T", str, Unit)


class Intake:
    """Watchdog's threads and the worker notice; the loop's thread looks, and takes what is quiet."""

    def __init__(
        self,
        sources: Sources,
        *,
        quiet_seconds: float,
        max_wait_seconds: float,
        capacity: int,
        noticed: threading.Condition,
        on_gap: Callable[[str], None],
    ) -> None:
        """Set up.

        Args:
            sources: say whose a path is, and which units it touches.
            quiet_seconds: a unit that was not touched for so long is quiet.
            max_wait_seconds: it is taken as quiet so long after its first touch.
            capacity: at most so many paths wait, and so many units; for one more there is a gap.
            noticed: guards all of it, and is notified where nothing waited before.
            on_gap: told why changes may have been missed.
        """
        self._sources = sources
        self._noticed = noticed
        self._on_gap = on_gap
        gather = min(_GATHER_SECONDS, quiet_seconds / 2)
        self._paths = Debouncer[str](quiet=gather, max_wait=gather, capacity=capacity)
        self._units = Debouncer[Unit](quiet=quiet_seconds, max_wait=max_wait_seconds, capacity=capacity)
        self._next_look = 0.0  # owned by the loop's thread

    def __len__(self) -> int:
        """Return how many paths and units wait."""
        return len(self._paths) + len(self._units)

    def notice_path(self, path: str) -> None:
        """A file changed."""
        if self._sources.claims(path):
            self._note(self._paths, path)

    def notice_unit(self, unit: Unit) -> None:
        """A unit changed while it was read, or was written just now."""
        self._note(self._units, unit)

    def hold(self, unit: Unit, seconds: float) -> None:
        """A unit is to wait for so long unless it changes again; without room for it the next scan finds it."""
        with self._noticed:
            now = monotonic()
            self._units.hold(unit, now, until=now + seconds)
            self._noticed.notify()

    def _note(self, debouncer: Debouncer[T], what: T) -> None:
        with self._noticed:
            was_empty = debouncer.next_due() is None
            if not debouncer.touch(what, monotonic()):
                self._on_gap(TOO_MANY)
            if was_empty:
                self._noticed.notify()

    def look(self) -> None:
        """Queue the units that changes of paths touch, each since the last change of its path."""
        began = monotonic()
        if began < self._next_look:
            return
        with self._noticed:
            paths = self._paths.pop_due(began)
        if not paths:
            return
        touched = [(unit, at) for path, at in paths.items() for unit in self._sources.touched(path)]
        ended = monotonic()
        self._next_look = ended + (ended - began) / _LOOK_SHARE
        with self._noticed:
            for unit, at in touched:
                if not self._units.touch(unit, at):
                    self._on_gap(TOO_MANY)

    def pop_quiet(self) -> list[Unit]:
        """Return and forget the units that are quiet."""
        with self._noticed:
            return list(self._units.pop_due(monotonic()))

    def next_due(self) -> list[float]:
        """Return the moments at which there is something to do, by the monotonic clock. Called with `noticed` held."""
        moments = []
        if (due := self._units.next_due()) is not None:
            moments.append(due)
        if (due := self._paths.next_due()) is not None:
            moments.append(max(due, self._next_look))
        return moments
