"""Health of the daemon, told to the service manager only while every one of its threads moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic

import structlog

from grader_daemon.daemon.notify import Notifier
from grader_daemon.domain.ledger import BEHIND
from grader_daemon.storage.records import AWAITED, WATCHED

_PATIENCE_SECONDS = 180.0
"""A thread that has not moved for so long hangs, unless the service manager has less patience."""

_CAUGHT_UP_SECONDS = 5.0
"""Wait at which it has caught up: less than `BEHIND`, so that a daemon at its limit does not say so time and again."""


class Health:
    """The pulses of the daemon's threads, and what is said of them. The service's loop owns it."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._patience_seconds = min(_PATIENCE_SECONDS, notifier.watchdog_seconds or _PATIENCE_SECONDS)
        self._pulses: list[Pulse] = []
        self._hanging: list[str] = []
        self._ready = False
        self._lag = Lag()
        self._log = structlog.get_logger()

    def add_pulse(self, name: str) -> Pulse:
        """Return the pulse of one more thread."""
        self._pulses.append(Pulse(name, patience_seconds=self._patience_seconds, clock=monotonic))
        return self._pulses[-1]

    def tell(self, watching: Mapping[str, str], *, waiting: int, paused: bool) -> None:
        """Send the service manager a line on how things stand, and a sign of life if there is one.

        Args:
            watching: how each folder is watched, as in `DaemonStatus`.
            waiting: how many sessions are to be graded.
            paused: whether the database cannot be written.
        """
        hanging = [pulse.name for pulse in self._pulses if not pulse.alive]
        if not hanging:
            self._notifier.alive()
        elif not self._hanging:
            self._log.error("service.stuck", threads=", ".join(hanging))
        self._hanging = hanging
        watched = sum(state == WATCHED for state in watching.values())
        expected = sum(state != AWAITED for state in watching.values())
        how = "paused, the database cannot be written" if paused else f"{waiting} waiting"
        self._notifier.status(f"{watched} of {expected} folders watched, {how}")
        if not self._ready:
            self._ready = True
            self._notifier.ready()

    def note_waiting(self, files: int, longest_seconds: float) -> None:
        """Note how many files wait to be graded, and how long the first has; told when the daemon falls behind."""
        if not self._lag.note(longest_seconds):
            return
        if self._lag.is_behind:
            self._log.warning("intake.behind", waiting=files, oldest_seconds=round(longest_seconds, 1))
        else:
            self._log.info("intake.caught_up")

    def tell_end(self) -> None:
        """Note that the daemon ends."""
        self._notifier.stopping()


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
        """Note that the thread moves, and in how long at most it will say so again."""
        self._missed_at = self._clock() + next_within_seconds + self._patience_seconds

    @property
    def alive(self) -> bool:
        """True while the thread moves."""
        return self._clock() <= self._missed_at


class Lag:
    """Notices when files begin to wait for long, and when they do no more."""

    def __init__(self) -> None:
        self.is_behind = False

    def note(self, waited_seconds: float) -> bool:
        """Note how long the oldest file has waited (0: none waits); say whether that changed `is_behind`."""
        before = self.is_behind
        self.is_behind = waited_seconds >= (_CAUGHT_UP_SECONDS if before else BEHIND.total_seconds())
        return self.is_behind is not before
