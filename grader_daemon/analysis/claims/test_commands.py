"""Test runs by their commands: which shell commands, code and tools run tests, and how many of them.

A command is looked at as it stands first, which finds what is spoken of inside of scripts and containers too; then as
the programs that a shell would run, which finds those behind options and wrappers.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.evidence import ToolRun, once, only_looks
from grader_daemon.analysis.shell import Program, read_line, unquoted
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_MOST_RUNS = 20
_START = (
    r"(?:^|[;&|(\n]|\b(?:then|do|time|sudo|env|uv run|poetry run|npx|bunx|python3?(?:\.\d+)? -m|bundle exec)\s"
    r"|\b(?:ba|z|da)?sh -\w{0,3}c\s[\"']?)[^\S\n]*+"
)
_HINTS: Final = (
    *("test", "spec", "jest", "mocha", "nox", "tox", "nose", "phpunit", "check"),
    *("cypress", "behave", "bats", "verify", "npm t", "pest", "e2e"),
)
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
_RUNNERS_NAMED: Final = (
    *("pytest", "py.test", "unittest", "doctest", "tox", "nox", "nose", "jest", "vitest", "mocha", "phpunit", "rspec"),
    *("ctest", "stestr", "runtests.py", "bin/test", " test", " check"),
)
"""One of these stands in every command that `_TEST_RUN` finds."""

_TEST_RUN = late_pattern(_START + _RUNNER)
_TEST_RUN_HERE = late_pattern(_RUNNER)
_ELSEWHERE = late_pattern(r"\b(?:(?:docker|podman)(?:[ -]compose)? (?:run|exec)|ssh)\s([^;&|\n]{0,200})")
"""A command that is handed to a container or another machine, with options in front."""

_HANDS_ON: Final = ("docker", "podman", "ssh")
_WORD_START = late_pattern(r"(?:^|[\s\"'])(?=[\w./])")
_MOST_ELSEWHERE = 3
_MOST_WORDS = 30
_TEST_SCRIPT = late_pattern(
    rf"{_START}(?:(?:python3?(?:\.\d+)?|node|bash|sh|ruby|php|perl)(?: -[a-zA-Z]{{1,2}}){{0,2}} |\./|/)"
    r"(?:[\w.~-]{1,60}/){0,12}(?:run_)?tests?(?:_[\w.-]{1,60}|\w{0,10})\.(?:py|js|mjs|ts|sh|rb|php|pl)\b"
)
_HERE_DOCUMENT = late_pattern(r"<<-?\s{0,4}(['\"]?)(\w{1,40})\1[\s\S]*?(?:\n\2\b|$)")
_LOOKING = late_pattern(r"^\s*(?:cat|grep|ls|head|tail|sed|find|which|rm|git)\b[^;&|]*$")
_ONLY_ASKS = late_pattern(
    r"[^;&|\n]{0,200}?\s--(?:collect-only|co|version|help|fixtures|markers|no-run|listTests|list-tests|list|dry-run)\b"
)


_RUNNERS: Final = frozenset(
    {"pytest", "py.test", "unittest", "doctest", "tox", "nox", "nose2", "nosetests", "stestr", "behave", "trial"}
    | {"jest", "vitest", "mocha", "ava", "karma", "phpunit", "pest", "rspec", "minitest", "ctest", "bats", "busted"}
    | {"deno test", "dotnet test", "swift test", "mix test", "flutter test", "dart test", "zig test", "gotestsum"}
)
"""Programs that do nothing but run tests, as `Program.family` names them."""

_BUILDERS: Final = frozenset(
    {"npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "rake", "rails", "composer", "mvn"}
    | {"mvnw", "gradle", "gradlew", "cargo", "go", "bazel", "bazelisk", "playwright", "cypress", "turbo", "nx", "sbt"}
    | set("lein cabal stack meson ninja xcodebuild hatch pdm django coverage moon lerna".split())
)
"""Programs that run tests when one of their first arguments says so."""

_SCRIPTED: Final = frozenset({"python", "python3", "node", "deno", "bash", "sh", "zsh", "ruby", "php", "perl", "tsx"})
_TASK: Final = late_pattern(r"(?:[\w-]{0,40}:){0,3}(?:\w{0,12}-)?(?:--)?tests?(?:[:-][\w:-]{1,40}|[A-Z]\w{0,40})?")
_OTHER_TASKS: Final = {
    **dict.fromkeys(("make", "gmake", "gradle", "gradlew", "just", "task"), frozenset({"check"})),
    **dict.fromkeys(("mvn", "mvnw"), frozenset({"verify"})),
    **dict.fromkeys(("pnpm", "yarn", "bun"), frozenset({"e2e", "specs"})),
    "npm": frozenset({"t", "tst", "e2e", "specs"}),
    "cargo": frozenset({"t", "nextest"}),
    "cypress": frozenset({"run"}),
}
"""Other words by which these are told to run tests."""

_NO_TASKS: Final = frozenset({"install", "i", "add", "remove", "uninstall", "create", "init", "build", "get"})
_SCRIPT: Final = late_pattern(
    r"(?:[\w.-]{1,40}[_-])?(?:run[_-]?)?(?:all[_-]?)?tests?(?:[_.-][\w.-]{1,60}|\w{0,10})?"
    r"(?:(?<=\.py)|(?<=\.js)|(?<=\.mjs)|(?<=\.ts)|(?<=\.sh)|(?<=\.rb)|(?<=\.php)|(?<=\.pl))"
    r"|run[_-]?tests?|test\.sh|runtests"
)
_TOLD_SCRIPTS: Final = frozenset({"manage.py", "setup.py", "artisan"})
_MEASURING: Final = ("bench", "perf", "load", "stress")
_FEW_WORDS: Final = 5


@once
def is_test_run(run: ToolRun) -> bool:
    """Return whether this call runs tests."""
    if not run.command:
        return "tests" in run.words or {"run", "test"} <= run.words
    if run.is_code:
        return _ASSERTION in run.command
    return runs_tests(run.command)


def runs_tests(command: str) -> bool:
    """Return whether a command line runs tests."""
    return holds_any(command, _HINTS) and _runs_tests(command)


@lru_cache(maxsize=256)
def _runs_tests(command: str) -> bool:
    """Return whether a command line runs tests; the same one comes again after each edit."""
    if _LOOKING.match(command):
        return False
    plain = _HERE_DOCUMENT.sub("", command) if "<<" in command else command
    runs = islice(_TEST_RUN.finditer(plain), _MOST_RUNS) if holds_any(plain, _RUNNERS_NAMED) else ()
    is_run = any(not _ONLY_ASKS.match(plain, found.end()) for found in runs)
    if is_run or _TEST_SCRIPT.search(plain) or _runs_elsewhere(plain):
        return True
    return bool(test_programs(command)) and not only_looks(command)


@lru_cache(maxsize=256)
def test_programs(command: str) -> tuple[Program, ...]:
    """Return the programs of a command line that run tests."""
    line = read_line(command)
    return () if line is None else tuple(each for each in line.programs if _tests(each))


def _tests(program: Program) -> bool:
    """Return whether a program runs tests, by its name, by what it is told, or by the script that it is given."""
    if _ONLY_ASKS.match(f" {' '.join(program.words[1:])}"):
        return False
    if program.family in _RUNNERS or (program.name == "node" and "--test" in program.words):
        return True
    words = [unquoted(word) for word in program.words[1:] if word[:1] != "-"][:_FEW_WORDS]
    if program.name in _BUILDERS:
        return _is_told_to_test(program.name, words)
    return is_script_of_tests(program)


def is_script_of_tests(program: Program) -> bool:
    """Return whether it is a script by whose name it runs tests, which has no runner's words."""
    if program.family in _RUNNERS or program.name in _BUILDERS:
        return False
    if program.name in _SCRIPTED:
        return _is_test_script([unquoted(word) for word in program.words[1:] if word[:1] != "-"])
    return "/" in program.words[0] and _is_test_script([program.words[0]])


def _is_told_to_test(name: str, words: list[str]) -> bool:
    if not words or words[0] in _NO_TASKS:
        return False
    others = _OTHER_TASKS.get(name, frozenset())
    return any(_TASK.fullmatch(word) or word in others or word in _RUNNERS for word in words[: _FEW_WORDS - 1])


def _is_test_script(words: list[str]) -> bool:
    """Return whether the first word names a script that runs tests, or one that does when it is told to."""
    name = words[0].rpartition("/")[2] if words else ""
    if name in _TOLD_SCRIPTS:
        return words[1:2] == ["test"]
    return _SCRIPT.fullmatch(name) is not None and not holds_any(name, _MEASURING)


def _runs_elsewhere(command: str) -> bool:
    """Return whether tests are run in a container, or on another machine."""
    if not holds_any(command, _HANDS_ON):
        return False
    handed_on = [found[1] for found in islice(_ELSEWHERE.finditer(command), _MOST_ELSEWHERE)]
    return any(
        _TEST_RUN_HERE.match(inner, word.end())
        for inner in handed_on
        for word in islice(_WORD_START.finditer(inner), _MOST_WORDS)
    )
