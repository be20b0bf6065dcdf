"""Handing over what changes, batch by batch, once or for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Final, Protocol

from grader_daemon.cli import output
from grader_daemon.domain.exported import Exported
from grader_daemon.errors import DeliveryError

_PAUSES: Final = (5.0, 15.0, 60.0, 300.0)
"""After the first time that nobody took anything, the second, and so on; the last one for all that follow."""


class Export(Protocol):
    """Something that hands over a batch at a time."""

    def run(self) -> Exported:
        """Hand over the next batch."""


def rounds(export: Export) -> Iterator[Exported]:
    """Yield what was handed over, batch by batch, until there is no more."""
    while (done := export.run()).more:
        yield done


def told(done: Exported) -> Exported:
    """Warn of what was passed over in a batch, and return it."""
    for line in done.passed_over.lines:
        output.warning(line)
    return done


def follow(export: Export, *, looks_every_seconds: float) -> None:
    """Send for ever; a receiver that is down is tried again, one that refuses ends it."""
    waiting = threading.Event()
    waits, is_away = pauses(), False
    while True:
        try:
            done = told(export.run())
            if is_away:
                output.line("The receiver accepts data again.")
                waits, is_away = pauses(), False
            while done.more:
                done = told(export.run())
            waiting.wait(looks_every_seconds)
        except DeliveryError as error:
            pause, is_away = next(waits), True
            output.warning(f"{error}; tried again in {pause:g} s")
            waiting.wait(pause)


def pauses() -> Iterator[float]:
    """Yield how many seconds to wait after each time that something was not taken or did not answer."""
    return chain(_PAUSES, repeat(_PAUSES[-1]))
