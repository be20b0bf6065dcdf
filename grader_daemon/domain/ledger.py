"""The ledger of units and their states: the memory that makes a lost queue harmless."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.unit import Stamp, Unit

BEHIND = timedelta(minutes=1)
"""A daemon that keeps up grades a file a moment after it is quiet: one where files wait for so long falls behind."""


LAG_BOUNDS: Final = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Seconds at which the spans of lags end that are counted apart; the default of `quiet_seconds` lies within one."""


class FileState(StrEnum):
    """State of one unit."""

    GRADED = "graded"
    SKIPPED = "skipped"
    RETRY = "retry"
    DEAD = "dead"


class LedgerEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One row of `session_files`. `look_again_at` is when an unchanged unit is due for another look.

    For `written_ns` see `Found`.
    """

    unit: Unit
    stamp: Stamp
    written_ns: int
    state: FileState
    digest: str | None = None
    session_id: str | None = None
    reason: str | None = None
    attempts: int = 0
    look_again_at: datetime | None = None
    rules_version: str | None = None


class LagSpan(msgspec.Struct, frozen=True, kw_only=True):
    """Number of grades made `longer_than` so many seconds after a last write, up to the next of `LAG_BOUNDS`.

    `seconds` sums their lags. `session_id`, `lag_seconds` and `graded_at` are of the one that was made last.
    """

    longer_than: float
    grades: int
    seconds: float
    session_id: str | None
    lag_seconds: float
    graded_at: datetime


def lag_span(seconds: float) -> float:
    """Return the beginning of the span in which a lag is counted."""
    place = bisect_left(LAG_BOUNDS, seconds)
    return LAG_BOUNDS[place - 1] if place else 0.0
