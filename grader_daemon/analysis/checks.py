"""Checks of the work: what tried it out after the last change that worked, and how that went.

A test run; a build, a type check or a linter; a run of a program that the session wrote; a file that was read again;
the answer of a service that the change was made. Only what came to its end in sight counts: no run without a test, none
in the background, none whose exit code is masked (``|| true``, ``| tail``) where its own words do not say how it went.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.builds import read_build
from grader_daemon.analysis.claims.evidence import CallRecord, Note, ToolRun, written_paths
from grader_daemon.analysis.claims.sight import ends_well, is_in_background
from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.claims.test_commands import is_test_run
from grader_daemon.analysis.claims.test_runs import TestsResult, read_tests
from grader_daemon.analysis.tool_calls import CHANGING, Purpose
from grader_daemon.domain.analysis import CallStatus, Failure, Subcategory
from grader_daemon.domain.session_result import Check, CheckKind, CheckResult

_MOST_CALLS: Final = 200
"""Number of last calls among which the last change is looked for."""

_WITHOUT_CHANGE: Final = 3
"""Number of last calls that are looked at where a session changed nothing: what runs code there is its work."""

_MOST_FILES: Final = 40
_RUNS_A_FILE: Final = re.compile(
    r"(?:^|[;&|\s])(?:(?:python3?(?:\.\d{1,2})?|node|deno run|bun|ruby|php|perl|bash|sh|go run|npx tsx|Rscript)"
    r"(?: -[a-zA-Z]{1,2}){0,3} |\./)[\w./~-]{1,200}"
)


def last_check(record: CallRecord, failures: Sequence[Failure]) -> Check | None:
    """Return the check that says most of the work as it was left; None without any.

    A check that failed says more than those that passed, tests more than a build, and so on.

    `failures` are those of the calls that failed.
    """
    notes = record.notes
    change, after = _since_the_last_change(notes)
    if not after:
        return None
    place = None if change is None else change[0]
    findings = {failure.index for failure in failures if failure.subcategory is Subcategory.CHECK_FAILED}
    found: dict[CheckKind, Check] = {}
    for run in reversed(record.runs[-len(after) :]):
        seen = _check_in(run, notes, found_red=run.index in findings)
        if seen is not None:
            found.setdefault(seen[0], Check(*seen, run.index, place))
    if found:
        failed = {kind: check for kind, check in found.items() if check.result is not CheckResult.PASSED}
        among = failed or found
        return next(among[kind] for kind in CheckKind if kind in among)
    return None if change is None else _seen_to_hold(change, after)


def _since_the_last_change(notes: Sequence[Note]) -> tuple[Note | None, Sequence[Note]]:
    """Return the last change that worked, and the calls from it on; where nothing was changed, the last few calls."""
    for back, note in enumerate(islice(reversed(notes), _MOST_CALLS), start=1):
        if note[2] is CallStatus.SUCCESS and note[1].effect in CHANGING:
            return note, notes[-back:]
    return None, notes[-_WITHOUT_CHANGE:] if len(notes) <= _MOST_CALLS else ()


def _check_in(run: ToolRun, notes: Sequence[Note], *, found_red: bool) -> tuple[CheckKind, CheckResult] | None:
    """Return which check a call is, and how it went; None where it is none, or nothing shows how it went."""
    if not run.command or is_in_background(run):
        return None
    if is_test_run(run):
        result = read_tests(run).result
        return None if result is None else (CheckKind.TESTS, _result_of_tests(result, run))
    build = read_build(run)
    if build is not None and (found_red or build.passed is not None):
        return CheckKind.BUILD, CheckResult.PASSED if build.passed and not found_red else CheckResult.SOME_FAILED
    if build is not None or run.is_code or not _RUNS_A_FILE.search(run.command) or not ends_well(run, ()):
        return None
    return (CheckKind.RUN, CheckResult.PASSED) if _names_a_written_file(run.command, notes) else None


def _result_of_tests(result: TestsResult, run: ToolRun) -> CheckResult:
    """Return how tests went. That none passed takes a run that ended so; a script may print such words."""
    if result is TestsResult.PASSED:
        return CheckResult.PASSED
    is_sure = result is TestsResult.NONE_PASSED and run.worked is False
    return CheckResult.ALL_FAILED if is_sure else CheckResult.SOME_FAILED


def _names_a_written_file(command: str, notes: Sequence[Note]) -> bool:
    return any(name in command for name in islice(filter(None, map(basename, written_paths(notes))), _MOST_FILES))


def _seen_to_hold(change: Note, after: Sequence[Note]) -> Check | None:
    """Return that what was written was read again, or that a service answered that it did what it was told."""
    place, call, _ = change
    names = [name for name in map(basename, call.paths) if name]
    for index, later, status in after[1:]:
        if status is CallStatus.SUCCESS and any(name in later.text for name in names):
            return Check(CheckKind.READ_BACK, CheckResult.PASSED, index, place)
    is_of_service = call.effect is Purpose.CHANGE and not names
    return Check(CheckKind.CONFIRMED, CheckResult.PASSED, place, place) if is_of_service else None
