"""Units that wait for the worker: bounded, and each at most once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from time import monotonic

from grader_daemon.domain.unit import Unit


class WorkQueue:
    """Keyed by unit. Thread-safe. What does not fit is refused: the disk remembers it."""

    def __init__(self, capacity: int, *, clock: Callable[[], float] = monotonic) -> None:
        """`clock` gives seconds that never go back."""
        self._capacity = capacity
        self._clock = clock
        # Since when each waits, the longest waiting first.
        self._units: dict[Unit, float] = {}
        self._in_hand = False
        self._in_hand_since: float | None = None
        self._closed = False
        self._woken = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._units)

    def put(self, units: Iterable[Unit]) -> bool:
        """Add units that do not wait already; False when one did not fit."""
        fits = True
        with self._changed:
            for unit in units:
                if unit in self._units:
                    continue
                if len(self._units) >= self._capacity:
                    fits = False
                    break
                self._units[unit] = self._clock()
            self._changed.notify()
        return fits

    def take(self, limit: int, *, wait: bool) -> list[Unit]:
        """Return up to `limit` units, the longest waiting first.

        Gives [] when there are none and `wait` is not set, or when woken or closed while waiting. Whoever took, even
        nothing, calls `finish`.
        """
        with self._changed:
            while wait and not (self._units or self._closed or self._woken):
                self._changed.wait()
            self._woken = False
            if self._closed:
                return []
            taken = [unit for unit, _ in zip(self._units, range(limit), strict=False)]
            for unit in taken:
                self._in_hand_since = self._units.pop(unit)
            self._in_hand = True
            return taken

    def finish(self) -> None:
        """Mark what was taken last as done."""
        with self._changed:
            self._in_hand = False
            self._in_hand_since = None

    def waited_seconds(self) -> float:
        """Return how long the unit has waited that waits longest, 0 if none does; of those in hand the last counts."""
        with self._changed:
            since = self._in_hand_since if self._in_hand_since is not None else next(iter(self._units.values()), None)
            return 0.0 if since is None else self._clock() - since

    @property
    def idle(self) -> bool:
        """True if nothing waits, and nothing is in the worker's hands."""
        with self._changed:
            return not (self._units or self._in_hand)

    def wake(self) -> None:
        """Make `take` return though there may be nothing to take."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def close(self) -> None:
        """End all waiting; what still waits is left to the disk."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """True once `close` has been called."""
        return self._closed
