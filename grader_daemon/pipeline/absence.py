"""Units that are not there any more, and what follows for others: rows that say nothing, copies that may count now.

A copy whose original went looks as if nothing had happened to it: it is as the ledger knows it. Only that its session
is graded from a file that is gone tells that there is something to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.unit import Stamp, Unit
from grader_daemon.errors import ReadError, VanishedFileError
from grader_daemon.sources.protocol import Sources
from grader_daemon.storage.records import UngradedUnit
from grader_daemon.storage.sqlite.store import SqliteStore

_PASSED_OVER = frozenset({SkipReason.COPY, SkipReason.SUPERSEDED})
_UNGRADED = (FileState.SKIPPED, FileState.RETRY, FileState.DEAD)
_PAGE = 200


class Absence(NamedTuple):
    """Units without a grade: those that are gone, and those passed over for a unit that is gone."""

    gone: list[Unit]
    again: list[Unit]


def absences(store: SqliteStore, sources: Sources) -> Iterator[Absence]:
    """Look at all units without a grade, a few at a time. Below a root that is missing nothing counts as gone."""
    missing = tuple(os.path.join(root, "") for root in sources.roots() if not os.path.isdir(root))
    for state in _UNGRADED:
        units = store.ungraded_units(state, after=None, limit=_PAGE)
        while units:
            yield compare(units, lambda unit: not unit.locator.startswith(missing) and is_gone(unit, sources))
            units = store.ungraded_units(state, after=units[-1], limit=_PAGE)


def stamps(store: SqliteStore, sources: Sources) -> Callable[[Sequence[Unit]], list[Stamp | None]]:
    """Return what tells how the ledger knows units: not at all those that were passed over for one that is gone."""
    again = {unit for absence in absences(store, sources) for unit in absence.again}
    return lambda units: [
        None if unit in again else stamp for unit, stamp in zip(units, store.unit_stamps(units), strict=True)
    ]


def compare(units: Iterable[UngradedUnit], is_gone: Callable[[Unit], bool]) -> Absence:
    """Return what to do about units without a grade of their own; one whose session is graded from it stays."""
    absence = Absence([], [])
    for each in units:
        if each.unit == each.graded_from:
            continue
        if is_gone(each.unit):
            absence.gone.append(each.unit)
        elif each.reason in _PASSED_OVER and each.graded_from is not None and is_gone(each.graded_from):
            absence.again.append(each.unit)
    return absence


def still_settled(store: SqliteStore, known: Mapping[Unit, LedgerEntry], sources: Sources) -> dict[Unit, LedgerEntry]:
    """Leave out the rows of units passed over for one that is gone: what they say does not hold any more."""
    sessions = [entry.session_id for entry in known.values() if entry.session_id is not None and _is_passed_over(entry)]
    graded_from = store.units_of_sessions(sessions) if sessions else {}
    gone = {session_id for session_id, unit in graded_from.items() if is_gone(unit, sources)}
    return {unit: entry for unit, entry in known.items() if not (_is_passed_over(entry) and entry.session_id in gone)}


def is_gone(unit: Unit, sources: Sources) -> bool:
    """Return whether there is no such unit. What cannot be looked at may be there."""
    try:
        sources.look(unit)
    except VanishedFileError:
        return True
    except ReadError:
        return False
    return False


def _is_passed_over(entry: LedgerEntry) -> bool:
    return entry.state is FileState.SKIPPED and entry.reason in _PASSED_OVER
