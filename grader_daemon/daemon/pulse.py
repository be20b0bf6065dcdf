"""Signs of life of the daemon's threads: a thread that hangs is seen by the others."""

from __future__ import annotations

from collections.abc import Callable


class Pulse:
    """One thread beats, another looks. A beat is one assignment, so no lock is needed."""

    def __init__(self, name: str, *, patience_seconds: float, clock: Callable[[], float]) -> None:
        """Set up; a thread that has not begun does not hang.

        Args:
            name: of the thread, as it is told to people.
            patience_seconds: the thread hangs when its next beat is later than it said by more than that.
            clock: gives seconds that never go back.
        """
        self.name = name
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._missed_at = float("inf")

    def beat(self, *, next_within_seconds: float = 0.0) -> None:
        """Say that the thread moves, and in how long at most it will say so again."""
        self._missed_at = self._clock() + next_within_seconds + self._patience_seconds

    @property
    def alive(self) -> bool:
        """Does the thread move?"""
        return self._clock() <= self._missed_at
