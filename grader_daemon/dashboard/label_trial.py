"""Trial of what labels change: the grader learns from them in the background, and nothing is written.

It takes up to some seconds, so no page waits for it; there is one trial for the labels as they are.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.grader import SelfGrader
from grader_daemon.domain.calibration import Calibration
from grader_daemon.errors import GraderError

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_FAULT: Final = (
    "The trial failed by a fault in grader-daemon: its log has the traceback. The next label starts another."
)


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """Trial of the labels up to one of this number; `made` is None while it goes on, or if it `failed`."""

    labels_up_to: int
    agreement_before: float | None = None
    made: Calibration | None = None
    failed: str | None = None

    @property
    def goes_on(self) -> bool:
        """True until there is a result."""
        return self.made is None and self.failed is None


class LabelTrial:
    """The last trial, and how another is begun."""

    def __init__(self, settings: Settings, clock: bootstrap.Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._tried: Tried | None = None  # replaced whole, so it is read without the lock

    @property
    def goes_on(self) -> bool:
        """True while one goes on."""
        return self._tried is not None and self._tried.goes_on

    def of(self, newest: int) -> Tried:
        """Return the trial of the labels up to one of this number, which is begun if another was the last."""
        with self._lock:
            tried = self._tried
            if tried is not None and (tried.goes_on or tried.labels_up_to == newest):
                return tried
            begun = self._tried = Tried(labels_up_to=newest)
        threading.Thread(target=self._run, args=(begun,), name="label-trial", daemon=True).start()
        return begun

    def _run(self, begun: Tried) -> None:
        """Make a trial; after a fault of the program, which Python reports with its traceback, it goes on no longer."""
        ended = msgspec.structs.replace(begun, failed=_FAULT)
        try:
            with SelfGrader(settings=self._settings, clock=self._clock) as grader:
                before, made = grader.grades.trust().agreement, grader.calibration.try_out()
                ended = msgspec.structs.replace(begun, agreement_before=before, made=made)
        except GraderError as error:
            ended = msgspec.structs.replace(begun, failed=str(error))
        finally:
            self._tried = ended
