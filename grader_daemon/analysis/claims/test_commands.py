"""Test runs by their commands: which shell commands, code and tools run tests."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.domain.phrases import holds_any

_MOST_RUNS = 20
_START = (
    r"(?:^|[;&|(\n]|\b(?:then|do|time|sudo|env|uv run|poetry run|npx|bunx|python3?(?:\.\d+)? -m|bundle exec)\s"
    r"|\b(?:ba|z|da)?sh -\w{0,3}c\s[\"']?)[^\S\n]*+"
)
_HINTS: Final = ("test", "spec", "jest", "mocha", "nox", "tox", "nose", "phpunit", "check")
"""One of these stands in every command that runs tests."""

_ASSERTION: Final = "assert"
SIGNS: Final = (*_HINTS, _ASSERTION)
"""One of these stands in every command or code that `is_test_run` takes for tests."""

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
_ONLY_ASKS = re.compile(
    r"[^;&|\n]{0,200}?\s--(?:collect-only|co|version|help|fixtures|markers|no-run|listTests|list-tests|list|dry-run)\b"
)


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
