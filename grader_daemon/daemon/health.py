"""Is the daemon well? It says so to the service manager, but only while every one of its threads moves."""

from __future__ import annotations

from time import monotonic

import structlog

from grader_daemon.daemon.lag import Lag
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.pulse import Pulse

_PATIENCE_SECONDS = 180.0
"""A thread that has not moved for so long hangs, unless the service manager has less patience."""


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
        """Give the pulse of one more thread."""
        self._pulses.append(Pulse(name, patience_seconds=self._patience_seconds, clock=monotonic))
        return self._pulses[-1]

    def tell(self, status: str) -> None:
        """Say how things stand in a line, and give a sign of life if there is one."""
        hanging = [pulse.name for pulse in self._pulses if not pulse.alive]
        if not hanging:
            self._notifier.alive()
        elif not self._hanging:
            self._log.error("service.stuck", threads=", ".join(hanging))
        self._hanging = hanging
        self._notifier.status(status)
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
        """Say that the daemon ends."""
        self._notifier.stopping()
