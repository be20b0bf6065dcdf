"""Results of test runs, as the output of their commands says it.

The exit code alone does not say it: agents cut the output with `| tail`, so the last words of the result are read too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.evidence import Note, ToolRun, command_of, went_wrong
from grader_daemon.analysis.claims.test_commands import SIGNS, is_test_run
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.session import Message

_READ_CHARACTERS = 2_000
_MOST_CALLS: Final = 200
"""Number of last calls that are looked through for tests that passed."""

_RED = re.compile(
    r"\b[1-9]\d{0,5} (?:tests? )?(?:failed|failing|failures?)\b|\btest result: failed"
    r"|\bfailed \((?:errors|failures|skipped|expected|unexpected)"
    r"|(?:^|: \")fail\b|--- fail:"
    r"|\b[1-9]\d{0,5} errors? in \d|^not ok \d|: \*\*\* \[(?:test|check)\S{0,40}\] error"
    r"|\bfail(?:ures|ed): {1,9}[1-9]|\bfailures: \d{1,6}, errors: [1-9]"
)
_RED_SIGNS: Final = ("fail", "error", "not ok")
"""One of these stands in every line that `_RED` finds, as in those that `_GREEN` finds one of the others."""

_GREEN = re.compile(
    r"\b[1-9]\d{0,5} (?:tests? )?pass(?:ed|ing)\b|(?:^|: \")ok\b|test result: ok\. [1-9]"
    r"|\ball tests? (?:\w{1,20} )?pass(?:ed)?\b"
    r"|(?:^|: \")pass\b|^ok \(\d|\b[1-9]\d{0,5} (?:examples|tests), 0 failures\b|\bpassed: {1,9}[1-9]"
)
_GREEN_SIGNS: Final = ("pass", "ok", "0 failures")
_NOT_RUN: Final = (
    *("command not found", "no tests ran", "collected 0 items", "no module named", "usage: ", "ran 0 tests"),
    *("file or directory not found", "can't open file", "no such file or directory", "missing script"),
    *("permission denied", "timed out", "modulenotfounderror", "importerror", "has not been built"),
)
_NONE_RUN: Final = ("no test files", "0 passed", "running 0 tests", " skipped in ", "no tests to run")
"""Output of runs that ended well without a test, where none is said to have passed."""

_MASKED = re.compile(r"\||;")
_RAN = re.compile(r"\bran (\d{1,6}) tests? in ")
_RED_OF_RAN = re.compile(
    r"^failed \((?:(?:failures|errors)=(\d{1,6}))(?:, (?:failures|errors)=(\d{1,6}))?", re.MULTILINE
)
"""The two lines that end a run of `unittest`, which counts all tests, and those that failed."""


class TestsResult(Enum):
    """Result of the tests of one run."""

    PASSED = "passed"
    SOME_FAILED = "some failed"
    NONE_PASSED = "none passed"


def _more_ran(low: str) -> bool:
    """Return whether `unittest` ran more tests than failed."""
    ran = _RAN.search(low)
    red = _RED_OF_RAN.search(low) if ran is not None else None
    return ran is not None and red is not None and int(ran[1]) > sum(int(count or 0) for count in red.groups())


def passed(run: ToolRun) -> TestsResult | None:
    """Return how the tests of a run went; None when they were not run to their end, or nothing says so.

    That a runner failed does not say that tests did: it may have crashed. So it takes its own words, or an assertion,
    which without the runner's count (output that was cut) does not say that no other test passed.
    """
    low = run.ending(_READ_CHARACTERS).lower()
    told = _told(low)
    if told is None:
        return None
    some_passed, is_red = told
    if is_red or (run.worked is False and "assertionerror" in low):
        return TestsResult.NONE_PASSED if (is_red or run.is_code) and not some_passed else TestsResult.SOME_FAILED
    if run.worked is False or (not some_passed and holds_any(low, _NONE_RUN)):
        return None
    return TestsResult.PASSED if some_passed or (run.worked and not _MASKED.search(run.command)) else None


@lru_cache(maxsize=64)
def _told(low: str) -> tuple[bool, bool] | None:
    """Return whether output says that tests passed, and that some failed; None where none were run.

    Claims and what was done ask it of the same output.
    """
    if holds_any(low, _NOT_RUN):
        return None
    return _is_in_a_line(low, _GREEN, _GREEN_SIGNS) or _more_ran(low), _is_in_a_line(low, _RED, _RED_SIGNS)


def _is_in_a_line(low: str, pattern: re.Pattern[str], signs: tuple[str, ...]) -> bool:
    """Return whether a line matches; one of the signs stands in each that does."""
    here = tuple(sign for sign in signs if sign in low)
    return any(pattern.search(line) for line in low.split("\n") if holds_any(line, here)) if here else False


def last_passed(notes: Sequence[Note], messages: Sequence[Message]) -> str | None:
    """Return the command of the last test run that passed; None without any among the last `_MOST_CALLS` calls."""
    for note in islice(reversed(notes), _MOST_CALLS):
        index, call, status = note
        if went_wrong(status) or not holds_any(command_of(call), SIGNS):
            continue
        run = ToolRun(note, messages[index], is_reported=False)
        if is_test_run(run) and passed(run) is TestsResult.PASSED:
            return run.command
    return None
