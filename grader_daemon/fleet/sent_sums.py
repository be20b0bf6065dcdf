"""Sums by day as a machine sends them: those of the days on which something changed, within the server's bounds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final

from grader_daemon.domain.rollup import SUMMED_BY_MACHINES
from grader_daemon.fleet.server_sums import SummedDays
from grader_daemon.storage.sqlite.rollups import Rollups

_AT_ONCE: Final = 100
"""Days, of some thousand rows."""
_YEARS: Final = range(1970, 2200)
_MOST: Final = 10**15
"""Bounds of the fleet's database, see its migrations."""


def changed_days(rollups: Rollups, known: Mapping[date, int]) -> SummedDays:
    """Return the newest days of which the server knows another state, at most 100 of them."""
    changed = {
        day: revision
        for day, revision in sorted(rollups.revisions().items(), reverse=True)
        if known.get(day) != revision and day.year in _YEARS
    }
    revisions = dict(list(changed.items())[:_AT_ONCE])
    rows = rollups.of_days(revisions, SUMMED_BY_MACHINES) if revisions else []
    return SummedDays(
        revisions,
        [
            (day, dimension, name, *(max(0, min(number, _MOST)) for number in numbers))
            for day, dimension, name, *numbers in rows
            if "\0" not in name
        ],
    )
