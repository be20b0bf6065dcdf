"""Threads of wings that answer other programs while the daemon runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from grader_daemon.daemon.health import Health, Pulse
from grader_daemon.wings import given_by_all

if TYPE_CHECKING:
    from grader_daemon.settings import Settings


class Listener(Protocol):
    """A thread that waits for other programs."""

    name: str

    def start(self, beat: Callable[[float], None]) -> None:
        """Begin; `beat` is called while it moves, with the most seconds until it is called again."""

    def stop(self, within_seconds: float) -> None:
        """End; what it does at the moment may take so long. Without effect where it did not begin."""


class Listeners:
    """All that listen. The service's loop owns it."""

    def __init__(self, settings: Settings, health: Health) -> None:
        made: list[Listener] = [each for make in given_by_all("listeners") for each in make(settings)]
        self._all = [(listener, health.add_pulse(listener.name)) for listener in made]

    def start(self) -> None:
        """Begin to listen."""
        for listener, pulse in self._all:
            listener.start(partial(_beat, pulse))

    def stop(self, within_seconds: float) -> None:
        """Listen no more."""
        for listener, _ in self._all:
            listener.stop(within_seconds)


def _beat(pulse: Pulse, seconds: float) -> None:
    pulse.beat(next_within_seconds=seconds)
