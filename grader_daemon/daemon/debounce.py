"""Detect that something is quiet. Pure: time comes in as seconds of any monotonic clock."""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush, heapreplace
from math import inf
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Debouncer(Generic[T]):
    """Holds back what changes until nothing touched it for `quiet` seconds, but never longer than `max_wait`.

    At most `capacity` things are held; one more is refused, and the caller must find it again on the disk.
    Not thread-safe: its owner guards it.
    """

    def __init__(self, *, quiet: float, max_wait: float, capacity: int) -> None:
        self._quiet = quiet
        self._max_wait = max(max_wait, quiet)
        self._capacity = capacity
        self._first_touch: dict[T, float] = {}
        self._last_touch: dict[T, float] = {}
        self._not_before: dict[T, float] = {}
        # Each that is held stands there at the moment at which it is due, or at an earlier one: what puts that off
        # leaves it where it stands, what advances it adds another. The number is for things of one moment.
        self._queue: list[tuple[float, int, T]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._last_touch)

    def touch(self, what: T, at: float) -> bool:
        """Note a change at that time, which may be earlier than those of other things; False if there is no room.

        It ends a `hold`.
        """
        if what not in self._last_touch:
            if len(self._last_touch) >= self._capacity:
                return False
            self._first_touch[what] = self._last_touch[what] = at
            self._push(what)
            return True
        self._last_touch[what] = max(at, self._last_touch[what])
        if self._not_before.pop(what, None) is not None:
            self._push(what)
        return True

    def hold(self, what: T, at: float, *, until: float) -> bool:
        """Note a change, and that it waits until that time unless another comes; False if there is no room."""
        fits = self.touch(what, at)
        if fits:
            self._not_before[what] = until
        return fits

    def pop_due(self, now: float) -> dict[T, float]:
        """Return and forget what is quiet, or has waited for too long, each with the time of its last change."""
        due = {}
        while (first := self._first()) is not None and first[0] <= now:
            what = heappop(self._queue)[2]
            due[what] = self._last_touch.pop(what)
            del self._first_touch[what]
            self._not_before.pop(what, None)
        return due

    def next_due(self) -> float | None:
        """Return the time at which the next thing is due; None when nothing is held."""
        first = self._first()
        return None if first is None else first[0]

    def _first(self) -> tuple[float, int, T] | None:
        """Return what is due first, once what was put off meanwhile stands in its place."""
        while self._queue:
            noted, number, what = self._queue[0]
            if what not in self._last_touch:
                heappop(self._queue)
            elif (due := self._due_at(what)) > noted:
                heapreplace(self._queue, (due, number, what))
            else:
                return self._queue[0]
        return None

    def _push(self, what: T) -> None:
        self._count += 1
        heappush(self._queue, (self._due_at(what), self._count, what))

    def _due_at(self, what: T) -> float:
        due = min(self._last_touch[what] + self._quiet, self._first_touch[what] + self._max_wait)
        return max(due, self._not_before.get(what, -inf))
