"""Comparison of stored grades with those that other rules or another policy would give; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.difference import RegradeDiff
from grader_daemon.domain.feedback import keep_override
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.grading.comparison import Comparison
from grader_daemon.pipeline.examine import BusyUnit, Examined, Examiner, GradedUnit, VanishedUnit
from grader_daemon.pipeline.saving import grades_of_units
from grader_daemon.storage.sqlite.store import SqliteStore

UNITS_AT_ONCE: Final = 200
"""Units that are looked up in one go."""


def compare_all(
    units: Sequence[Unit],
    *,
    store: SqliteStore,
    examiner: Examiner,
    clock: Callable[[], datetime],
    advance: Callable[[int], None],
) -> RegradeDiff:
    """Compare the grades of `units` with those that `examiner` gives now; `advance` is told of how many more files."""
    comparison, begun = Comparison(), set[str]()
    for start in range(0, len(units), UNITS_AT_ONCE):
        some = units[start : start + UNITS_AT_ONCE]
        stored = {grade.unit: grade for grade in grades_of_units(store, some)}
        entries = store.ledger_entries(some)
        for unit in some:
            if unit in stored and unit in entries:
                examined = examiner.examine(unit, now=clock())
                _compare(comparison, stored[unit], entries[unit], examined, examiner)
        files = {unit.locator for unit in some} - begun
        begun |= files
        advance(len(files))
    return comparison.diff()


def _compare(comparison: Comparison, before: Grade, entry: LedgerEntry, examined: Examined, examiner: Examiner) -> None:
    """Sessions that are open, or that went on since, are not compared: there time would show, not rules."""
    match examined:
        case GradedUnit(grade=after, digest=digest):
            if SessionState.OPEN in {before.state, after.state}:
                comparison.pass_over("still open")
            elif digest != entry.digest or after.session_id != before.session_id:
                comparison.pass_over("changed since it was graded")
            else:
                comparison.add(before, keep_override(after, before))
        case VanishedUnit():
            comparison.add(before, examiner.redecide(before))
        case BusyUnit():
            comparison.pass_over("being written to")
        case _:
            comparison.pass_over("can no longer be graded")
