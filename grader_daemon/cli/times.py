"""Times as they are shown: in the zone that is set, which is always named."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from datetime import datetime, tzinfo
from typing import Any

from grader_daemon.domain.calendar import local

_ZONE: ContextVar[tzinfo | None] = ContextVar("zone in which times are shown; None: the machine's", default=None)
_MINUTE = "%Y-%m-%d %H:%M"


def show_times_in(zone: tzinfo | None) -> None:
    """Show times in `zone` from now on; None means the machine's."""
    _ZONE.set(zone)


def shown_zone() -> tzinfo | None:
    """Return that zone."""
    return _ZONE.get()


def here(moment: datetime) -> datetime:
    """Return an aware moment in that zone."""
    return local(moment, _ZONE.get())


def minute(moment: datetime) -> str:
    """Return a moment as a person reads it: 2026-11-22 14:03 CET."""
    return f"{here(moment):{_MINUTE} %Z}"


def with_one_zone(
    headings: Sequence[str], rows: Sequence[Sequence[Any]]
) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """Move the zone of all times into the headings of their columns; where clocks changed, each time keeps its own."""
    zones = {f"{here(value):%Z}" for row in rows for value in row if isinstance(value, datetime)}
    if len(zones) != 1:
        return headings, rows
    (zone,) = zones
    dated = {number for row in rows for number, value in enumerate(row) if isinstance(value, datetime)}
    return (
        [f"{heading} {zone}" if number in dated else heading for number, heading in enumerate(headings)],
        [[f"{here(each):{_MINUTE}}" if isinstance(each, datetime) else each for each in row] for row in rows],
    )
