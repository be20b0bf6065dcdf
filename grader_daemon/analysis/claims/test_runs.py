"""Results of test runs, as the output of their commands says it.

The exit code alone does not say it: agents cut the output with `| tail`, so the last words of the result are read too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.claims.sight import ends_well, is_in_background
from grader_daemon.analysis.claims.test_commands import SIGNS, is_script_of_tests, is_test_run, test_programs
from grader_daemon.analysis.claims.test_counts import CountedTests, counts_in
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_READ_CHARACTERS = 2_000
_SEARCHED_CHARACTERS = 20_000
_MOST_CALLS: Final = 200
"""Number of last calls that are looked through for tests that passed."""

_RED = late_pattern(
    r"\b[1-9]\d{0,5} (?:tests? )?(?:failed|failing|failures?)\b|\btest result: failed"
    r"|\bfailed \((?:errors|failures|skipped|expected|unexpected)"
    r"|(?:^|: \")fail\b|--- fail:"
    r"|\b[1-9]\d{0,5} errors? in \d|^not ok \d|: \*\*\* \[(?:test|check)\S{0,40}\] error"
    r"|\bfail(?:ures|ed): {1,9}[1-9]|\bfailures: \d{1,6}, errors: [1-9]"
)
_RED_SIGNS: Final = ("fail", "error", "not ok")
"""One of these stands in every line that `_RED` finds, as in those that `_GREEN` finds one of the others."""

_RED_BESIDE = late_pattern(r"\btest (?:suites|files):? {1,9}[1-9]\d{0,5} failed|^fail\b|^--- fail:", re.MULTILINE)
"""Red beside a count of tests of which none failed: what could not be collected, or another package."""

_GREEN = late_pattern(
    r"\b[1-9]\d{0,5} (?:tests? )?pass(?:ed|ing)\b|(?:^|: \")ok\b|test result: ok\. [1-9]"
    r"|\ball tests? (?:\w{1,20} )?pass(?:ed)?\b"
    r"|(?:^|: \")pass\b|^ok \(\d|\b[1-9]\d{0,5} (?:examples|tests), 0 failures\b|\bpassed: {1,9}[1-9]"
)
_GREEN_SIGNS: Final = ("pass", "ok", "0 failures")
_EMPTY: Final = (
    *(
        "no tests ran",
        "collected 0 items",
        "ran 0 tests",
        "no tests found",
        "no test files found",
        "no tests collected",
    ),
    *("0 passing", "0 examples, 0 failures", "no test files", "0 passed", "running 0 tests", " skipped in "),
    *("no tests to run", "no tests executed", "no matching tests", "no test suites found"),
)
"""Output of runs without a test, where none is said to have passed."""

_NOT_RUN: Final = (
    *("command not found", "no module named", "usage: ", "file or directory not found", "can't open file"),
    *("no such file or directory", "missing script", "permission denied", "timed out", "modulenotfounderror"),
    *("importerror", "has not been built", "unrecognized arguments", " during collection"),
)
_COMPLAINT = late_pattern(
    r"(?:^|: \")\W{0,4}(?:error|failed|failure|fail|traceback|exception)\b|[\N{BALLOT X}\N{CROSS MARK}]", re.MULTILINE
)
_RAN = late_pattern(r"\bran (\d{1,6}) tests? in ")
_RED_OF_RAN = late_pattern(
    r"^failed \((?:(?:failures|errors)=(\d{1,6}))(?:, (?:failures|errors)=(\d{1,6}))?", re.MULTILINE
)
"""The two lines that end a run of `unittest`, which counts all tests, and those that failed."""


class TestsResult(Enum):
    """Result of the tests of one run."""

    __test__ = False  # pytest takes classes of this name for tests

    PASSED = "passed"
    SOME_FAILED = "some failed"
    NONE_PASSED = "none passed"


class Unseen(Enum):
    """Reason why a run of tests says nothing of them.

    `EMPTY`: it ran none. `MASKED`: its exit code is that of something else, and its words do not say how it went.
    `BACKGROUND`: it was left to itself. `BROKEN`: it did not come to its end, or failed without a test that did.
    `SILENT`: neither an exit code nor a word says how it went.
    """

    EMPTY = "empty"
    MASKED = "masked"
    BACKGROUND = "background"
    BROKEN = "broken"
    SILENT = "silent"


class RunReading(NamedTuple):
    """Result of a run of tests, or why there is none, and what its runner counted."""

    result: TestsResult | None
    counts: CountedTests | None = None
    unseen: Unseen | None = None

    @property
    def is_green(self) -> bool:
        """True if its tests passed."""
        return self.result is TestsResult.PASSED


class _Told(NamedTuple):
    """Signs in the words of a run: that some tests passed, that some did not, that they were not run."""

    counts: CountedTests | None
    some_passed: bool
    is_red: bool
    not_run: bool


def read_tests(run: ToolRun) -> RunReading:
    """Read how the tests of a run went.

    That a runner failed does not say that tests did: it may have crashed. So it takes its own words, or an assertion,
    which without the runner's count (output that was cut) does not say that no other test passed.
    """
    if is_in_background(run):
        return RunReading(None, None, Unseen.BACKGROUND)
    low = run.ending(_READ_CHARACTERS).lower()
    told = _told(low)
    if told == _NOTHING_TOLD:
        told = _told_within(run.ending(_SEARCHED_CHARACTERS).lower())
    if told.not_run:
        return RunReading(None, told.counts, Unseen.BROKEN)
    if told.is_red or (run.worked is False and "assertionerror" in low):
        is_all_red = (told.is_red or run.is_code) and not told.some_passed
        return RunReading(TestsResult.NONE_PASSED if is_all_red else TestsResult.SOME_FAILED, told.counts)
    return _not_red(run, low, told)


def _not_red(run: ToolRun, low: str, told: _Told) -> RunReading:
    """Read a run that tells of no test that failed."""
    if _ran_none(told.counts) or (not told.some_passed and holds_any(low, _EMPTY)):
        return RunReading(None, told.counts, Unseen.EMPTY)
    if run.worked is False:
        return RunReading(None, told.counts, Unseen.BROKEN)
    if told.some_passed:
        return RunReading(TestsResult.PASSED, told.counts)
    if not _ends_well(run, low):
        return RunReading(None, told.counts, Unseen.MASKED)
    if not (run.is_code or run.tells_its_end):
        return RunReading(None, told.counts, Unseen.SILENT)
    return RunReading(TestsResult.PASSED, told.counts)


def _ends_well(run: ToolRun, low: str) -> bool:
    """Return whether a run without words ended well. A script of one's own may go on after what failed, and tell it."""
    programs = test_programs(run.command)
    is_script = bool(programs) and all(map(is_script_of_tests, programs))
    return ends_well(run, programs) and not (is_script and _COMPLAINT.search(low))


def _ran_none(counts: CountedTests | None) -> bool:
    return counts is not None and not counts.ran


@lru_cache(maxsize=64)
def _told(low: str) -> _Told:
    """Return what output tells. Claims and checks ask it of the same output.

    What a runner counts as passed says that the tests were run, whatever else stands there.
    """
    counts = counts_in(low)
    has_counted = counts is not None and counts.passed > 0
    if not has_counted and holds_any(low, _NOT_RUN):
        return _Told(counts, some_passed=False, is_red=False, not_run=True)
    some_passed = has_counted or _is_in_a_line(low, _GREEN, _GREEN_SIGNS) or _more_ran(low)
    is_red = _RED_BESIDE.search(low) is not None if has_counted else _is_in_a_line(low, _RED, _RED_SIGNS)
    return _Told(counts, some_passed, is_red or (counts is not None and counts.failed > 0), not_run=False)


_NOTHING_TOLD: Final = _Told(None, some_passed=False, is_red=False, not_run=False)


def _told_within(low: str) -> _Told:
    """Return what a runner counted within long output, before whatever came after it."""
    counts = counts_in(low)
    if counts is None:
        return _NOTHING_TOLD
    return _Told(counts, some_passed=counts.passed > 0, is_red=counts.failed > 0, not_run=False)


def _more_ran(low: str) -> bool:
    """Return whether `unittest` ran more tests than failed."""
    ran = _RAN.search(low)
    red = _RED_OF_RAN.search(low) if ran is not None else None
    return ran is not None and red is not None and int(ran[1]) > sum(int(count or 0) for count in red.groups())


def _is_in_a_line(low: str, pattern: re.Pattern[str], signs: tuple[str, ...]) -> bool:
    """Return whether a line matches; one of the signs stands in each that does."""
    here = tuple(sign for sign in signs if sign in low)
    return any(pattern.search(line) for line in low.split("\n") if holds_any(line, here)) if here else False


def last_passed(runs: Sequence[ToolRun]) -> str | None:
    """Return the command of the last test run that passed; None without any among the last `_MOST_CALLS` calls."""
    last = islice(reversed(runs), _MOST_CALLS)
    return next((run.command for run in last if run.command and _passed(run)), None)


def _passed(run: ToolRun) -> bool:
    if not holds_any(run.command, SIGNS) or run.worked is False:
        return False
    return is_test_run(run) and read_tests(run).is_green
