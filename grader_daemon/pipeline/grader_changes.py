"""Changes of the grader, and how the days before read by either: for every surface that shows a trend."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

import msgspec

from grader_daemon.domain.calendar import Span, day_of
from grader_daemon.domain.calibration import GraderChange
from grader_daemon.storage.sqlite.store import SqliteStore

_DAYS = 7
_LOOKED_AT = 50


def grader_changes(store: SqliteStore, *, since: datetime, zone: tzinfo | None) -> tuple[GraderChange, ...]:
    """Return when another grader came into force since then, the newest first, with how the days before read now."""
    found = (made.grader_change for made in store.calibrations.latest(_LOOKED_AT))
    return tuple(
        msgspec.structs.replace(change, now=store.rollups.verdicts(days_before(change.at, zone)))
        for change in found
        if change is not None and change.at >= since
    )


def days_before(moment: datetime, zone: tzinfo | None) -> Span:
    """Return the seven days up to and with that of a moment."""
    last = day_of(moment, zone)
    return Span(last - timedelta(days=_DAYS - 1), last)
