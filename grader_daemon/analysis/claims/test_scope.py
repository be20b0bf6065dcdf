"""Extent of a test run: the whole suite, or a file, a test, a choice of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun
from grader_daemon.analysis.claims.test_commands import is_script_of_tests, test_programs
from grader_daemon.analysis.claims.tested_work import TestRun
from grader_daemon.analysis.shell import Program, unquoted
from grader_daemon.domain.late_pattern import late_pattern

_CHOOSING: Final = frozenset(
    set("-k -m -t -g -run --run --grep --filter --testNamePattern --test-name-pattern --tests".split())
    | set("--lf --last-failed --onlyChanged --changed --related --deselect --ignore --testPathPattern".split())
    | set("--testPathPatterns --testPathIgnorePatterns -Dtest --only --skip --exclude --lib --doc --bin".split())
)
"""Options by which a runner is told which tests to run."""

_LEAVING_OUT = late_pattern(
    r"-k[ =]?[\"']?not |-m[ =]?[\"']?not "
    r"|--(?:ignore|deselect|testPathIgnorePatterns|exclude|skip|ignore-glob|grep-invert|invert)\b"
)
_CODE_FILE = late_pattern(
    r"[\w./\\@+-]{1,200}\.(?:py|js|jsx|mjs|ts|tsx|rb|go|java|kt|cs|php|exs|dart|swift)(?:::.*|:\d+)?"
)
_TEST_FILE = late_pattern(
    r"\b(?:test_[\w-]{1,60}\.py|[\w-]{1,60}_test\.(?:py|go|rb|dart|exs)|[\w.-]{1,60}\.(?:test|spec)\.[cm]?[jt]sx?"
    r"|[\w-]{1,60}_spec\.rb|[A-Z]\w{1,60}Tests?\.(?:java|kt|cs|php))\b"
)
_READ_CHARACTERS: Final = 1_500
_BY_NAME: Final = frozenset({"cargo", "django"})
_MOST_WORDS: Final = 40


def is_narrow(run: ToolRun) -> bool:
    """Return whether a run was told to run a part of the tests: a file, a test, those of a name."""
    return not run.is_code and any(map(_is_narrow, test_programs(run.command)))


def leaves_out(run: ToolRun) -> bool:
    """Return whether a run was told which tests to leave out."""
    return not run.is_code and _LEAVING_OUT.search(run.command) is not None


def may_be_wider(last: ToolRun, evidence: CallRecord, runs: Sequence[TestRun]) -> bool:
    """Return whether the record shows more tests than a narrow run ran: another run, or other files of tests."""
    if not evidence.is_whole or any(not is_narrow(each.run) for each in runs):
        return True
    for each in evidence.runs:
        named = _TEST_FILE.findall(f"{each.arguments[:_READ_CHARACTERS]}\n{each.ending(_READ_CHARACTERS)}")
        if any(name not in last.command for name in named):
            return True
    return False


def _is_narrow(program: Program) -> bool:
    if is_script_of_tests(program):
        return True
    words = [unquoted(word) for word in program.words[1:_MOST_WORDS]]
    told = words[words.index("pytest") + 1 :] if "pytest" in words else words
    if any(word.partition("=")[0] in _CHOOSING for word in told):
        return True
    plain = [word for word in told if word[:1] != "-"]
    if any(_CODE_FILE.fullmatch(word) or "::" in word for word in plain):
        return True
    if program.name == "go":
        return any(word.startswith("./") and not word.endswith("...") for word in plain)
    return program.name in _BY_NAME and len(plain) > 1
