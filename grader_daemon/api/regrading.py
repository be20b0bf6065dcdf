"""Grading again: for good, or only to see what would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.difference import RegradeDiff
from grader_daemon.domain.feedback import keep_override
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.grading.comparison import Comparison
from grader_daemon.pipeline.examine import BusyFile, Examined, Examiner, GradedFile, VanishedFile
from grader_daemon.storage.sqlite.store import Store

_AT_ONCE = 200


def compare_all(
    paths: Sequence[str],
    *,
    store: Store,
    examiner: Examiner,
    clock: Callable[[], datetime],
    advance: Callable[[int], None],
) -> RegradeDiff:
    """Compare the grades of `paths` with those that `examiner` gives now; nothing is written."""
    comparison = Comparison()
    for start in range(0, len(paths), _AT_ONCE):
        some = paths[start : start + _AT_ONCE]
        stored = {grade.session_file: grade for grade in store.grades_of_files(some)}
        entries = store.ledger_entries(some)
        for path in some:
            if path in stored and path in entries:
                examined = examiner.examine(path, now=clock())
                _compare(comparison, stored[path], entries[path], examined, examiner)
        advance(len(some))
    return comparison.diff()


def _compare(comparison: Comparison, before: Grade, entry: LedgerEntry, examined: Examined, examiner: Examiner) -> None:
    """Sessions that are open, or that went on since, are not compared: there time would show, not rules."""
    match examined:
        case GradedFile(grade=after, digest=digest):
            if SessionState.OPEN in {before.state, after.state}:
                comparison.pass_over("still open")
            elif digest != entry.digest or after.session_id != before.session_id:
                comparison.pass_over("changed since it was graded")
            else:
                comparison.add(before, keep_override(after, before))
        case VanishedFile():
            comparison.add(before, examiner.redecide(before))
        case BusyFile():
            comparison.pass_over("being written to")
        case _:
            comparison.pass_over("cannot be graded any more")
