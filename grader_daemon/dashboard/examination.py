"""Examination on demand, which takes seconds: the doctor's checks, the sources, the last warnings of the log.

It runs in a thread of its own, so that no page waits for it; what it has found so far can be shown meanwhile.
"""

from __future__ import annotations

import threading
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.doctor import CHECKS, examine_each
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.sources import FoundSource, found_sources
from grader_daemon.domain.check import Check
from grader_daemon.errors import GraderError
from grader_daemon.service.daemon_unit import DAEMON
from grader_daemon.service.manager import read_service_log

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_LOG_LINES: Final = 30


class Warned(msgspec.Struct, frozen=True):
    """A line of the daemon's log that is a warning, or worse."""

    at: datetime
    words: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Findings up to now; `ended_at` is None while it goes on; `no_log` and `failed`: why something lacks."""

    began_at: datetime
    ended_at: datetime | None = None
    wanted: int = len(CHECKS)
    checks: tuple[Check, ...] = ()
    sources: tuple[FoundSource, ...] = ()
    warnings: tuple[Warned, ...] = ()
    no_log: str | None = None
    failed: str | None = None


class Examination:
    """The last examination, and how to begin another."""

    def __init__(self, settings: Settings, clock: bootstrap.Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._found: Found | None = None  # replaced whole, so it is read without the lock

    @property
    def found(self) -> Found | None:
        """Findings of it; None before the first."""
        return self._found

    def begin(self) -> None:
        """Begin, unless one goes on."""
        with self._lock:
            if self._found is not None and self._found.ended_at is None:
                return
            self._found = Found(began_at=self._clock())
        threading.Thread(target=self._run, name="examination", daemon=True).start()

    def _run(self) -> None:
        assert self._found is not None  # it has begun
        try:
            self._look()
        except (GraderError, OSError) as error:
            self._found = msgspec.structs.replace(self._found, failed=str(error))
        finally:
            self._found = msgspec.structs.replace(self._found, ended_at=self._clock())

    def _look(self) -> None:
        assert self._found is not None  # it has begun
        found = self._found
        for check in examine_each(lambda: self._settings, clock=self._clock, full=False):
            found = self._found = msgspec.structs.replace(found, checks=(*found.checks, check))
        try:
            warnings = tuple(
                Warned(entry.at, _sentence(entry.message))
                for entry in read_service_log(DAEMON, lines=_LOG_LINES, priority="warning")
            )
            found = self._found = msgspec.structs.replace(found, warnings=warnings[::-1])
        except GraderError as error:
            found = self._found = msgspec.structs.replace(found, no_log=str(error))
        with SelfGrader(settings=self._settings, clock=self._clock) as grader:
            self._found = msgspec.structs.replace(found, sources=tuple(found_sources(grader.context)))


class _Event(msgspec.Struct):
    message: str


def _sentence(line: str) -> str:
    """Return the sentence of an event, or a line that is none as it is."""
    try:
        return msgspec.json.decode(line, type=_Event).message
    except msgspec.MsgspecError:
        return line
