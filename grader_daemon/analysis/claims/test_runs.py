"""Test runs: which commands are some, and what their results say.

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
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.session import Message

_READ_CHARACTERS = 2_000
_MOST_RUNS = 20
_START = (
    r"(?:^|[;&|(\n]|\b(?:then|do|time|sudo|env|uv run|poetry run|npx|bunx|python3?(?:\.\d+)? -m|bundle exec)\s"
    r"|\b(?:ba|z|da)?sh -\w{0,3}c\s[\"']?)[^\S\n]*+"
)
_HINTS: Final = ("test", "spec", "jest", "mocha", "nox", "tox", "nose", "phpunit", "check")
"""One of these stands in every command that runs tests."""

_ASSERTION: Final = "assert"
_SIGNS: Final = (*_HINTS, _ASSERTION)
_MOST_CALLS: Final = 200
"""Number of last calls that are looked through for tests that passed."""

_RUNNER = (
    r"(?:[\w./-]{0,80}/)?(?:timeout \S{1,8} |[A-Z_]{1,40}=\S{0,80} ){0,3}"
    r"(?:(?:python3?(?:\.\d+)?|pypy3?)(?: -[a-zA-Z]{1,3}| -W \S{1,20}){0,3} )?(?:-m )?(?:[\w./-]{0,80}/)?"
    r"(?:pytest|py\.test|unittest|doctest|tox|nox|nose2?|nosetests|jest|vitest|mocha|phpunit|rspec|ctest|stestr"
    r"|runtests\.py|bin/test|manage\.py test|setup\.py test|(?:npm|yarn|pnpm|bun)(?: run)? test|cargo test|go test"
    r"|deno test|dotnet test|swift test|mix test|mvn (?:\S{1,20} )?test|(?:\./)?gradlew? (?:\S{1,20} )?test"
    r"|make (?:\S{1,20} )?(?:test|check)|rake test|zig test|flutter test)\b"
)
_TEST_RUN = re.compile(_START + _RUNNER)
_TEST_RUN_HERE = re.compile(_RUNNER)
_ELSEWHERE = re.compile(r"\b(?:(?:docker|podman)(?:[ -]compose)? (?:run|exec)|ssh)\s([^;&|\n]{0,200})")
"""A command that is handed to a container or another machine, with options in front."""

_WORD_START = re.compile(r"(?:^|[\s\"'])(?=[\w./])")
_MOST_ELSEWHERE = 3
_MOST_WORDS = 30
_TEST_SCRIPT = re.compile(
    rf"{_START}(?:(?:python3?(?:\.\d+)?|node|bash|sh|ruby|php|perl)(?: -[a-zA-Z]{{1,2}}){{0,2}} |\./|/)"
    r"(?:[\w.~-]{1,60}/){0,12}(?:run_)?tests?(?:_[\w.-]{1,60}|\w{0,10})\.(?:py|js|mjs|ts|sh|rb|php|pl)\b"
)
_HERE_DOCUMENT = re.compile(r"<<-?\s{0,4}(['\"]?)(\w{1,40})\1[\s\S]*?(?:\n\2\b|$)")
_LOOKING = re.compile(r"^\s*(?:cat|grep|ls|head|tail|sed|find|which|rm|git)\b[^;&|]*$")
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

_ONLY_ASKS = re.compile(
    r"[^;&|\n]{0,200}?\s--(?:collect-only|co|version|help|fixtures|markers|no-run|listTests|list-tests|list|dry-run)\b"
)
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


def is_test_run(run: ToolRun) -> bool:
    """Return whether this call runs tests."""
    if not run.command:
        return "tests" in run.words or {"run", "test"} <= run.words
    if run.is_code:
        return _ASSERTION in run.command
    return holds_any(run.command, _HINTS) and _runs_tests(run.command)


@lru_cache(maxsize=256)
def _runs_tests(command: str) -> bool:
    """Return whether a command line runs tests; the same one comes again after each edit."""
    if _LOOKING.match(command):
        return False
    command = _HERE_DOCUMENT.sub("", command) if "<<" in command else command
    runs = islice(_TEST_RUN.finditer(command), _MOST_RUNS)
    is_run = any(not _ONLY_ASKS.match(command, found.end()) for found in runs)
    return is_run or bool(_TEST_SCRIPT.search(command)) or _runs_elsewhere(command)


def _runs_elsewhere(command: str) -> bool:
    """Return whether tests are run in a container, or on another machine."""
    handed_on = [found[1] for found in islice(_ELSEWHERE.finditer(command), _MOST_ELSEWHERE)]
    return any(
        _TEST_RUN_HERE.match(inner, word.end())
        for inner in handed_on
        for word in islice(_WORD_START.finditer(inner), _MOST_WORDS)
    )


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
        if went_wrong(status) or not holds_any(command_of(call), _SIGNS):
            continue
        run = ToolRun(note, messages[index], is_reported=False)
        if is_test_run(run) and passed(run) is TestsResult.PASSED:
            return run.command
    return None
