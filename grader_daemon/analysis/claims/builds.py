"""Builds, type checks and linters of a session: which commands are some, and how they went.

They are silent where all is well, so the exit code tells it, where the line hands it on; else their own last words.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.claims.sight import ends_well, hands_on, is_in_background
from grader_daemon.analysis.claims.test_commands import test_programs
from grader_daemon.analysis.shell import Program, read_line, unquoted
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import ascii_words_of, holds_any

_READ_CHARACTERS: Final = 1_500


class BuildKind(StrEnum):
    """Kind of what reads code without running it."""

    BUILD = "build"
    TYPES = "type check"
    LINT = "lint"


_FAMILIES: Final = {
    **dict.fromkeys(
        "make gmake cmake ninja gcc g++ clang clang++ cc javac rustc gfortran compileall py_compile ifort".split(),
        BuildKind.BUILD,
    ),
    **dict.fromkeys(("cargo build", "cargo check", "go build", "go install", "dotnet build"), BuildKind.BUILD),
    **dict.fromkeys(("swift build", "zig build", "mix compile", "docker build", "cabal build"), BuildKind.BUILD),
    **dict.fromkeys(("stack build", "flutter build", "xcodebuild"), BuildKind.BUILD),
    **dict.fromkeys(("mypy", "pyright", "basedpyright", "tsc", "vue-tsc", "pytype", "ty", "flow"), BuildKind.TYPES),
    **dict.fromkeys(("flake8", "ruff", "ruff check", "pylint", "eslint", "golangci-lint", "rubocop"), BuildKind.LINT),
    **dict.fromkeys(("shellcheck", "yamllint", "stylelint", "pre-commit", "cargo clippy", "go vet"), BuildKind.LINT),
    **dict.fromkeys(("terraform validate", "oxlint", "hadolint", "actionlint", "swiftlint", "ktlint"), BuildKind.LINT),
}
"""Programs, as `Program.family` names them, that end well if what they read is in order."""

_BY_TASK: Final = frozenset(
    {"npm", "pnpm", "yarn", "bun", "mvn", "mvnw", "gradle", "gradlew", "turbo", "nx", "just", "task", "next", "vite"}
    | {"make", "gmake", "biome", "lerna", "rake", "composer", "ng", "vue-cli-service", "hatch", "pdm"}
)
"""Programs that do it when one of their first arguments says so."""

_TASKS: Final = {
    **dict.fromkeys(("build", "compile", "package", "assemble", "bundle", "build:prod"), BuildKind.BUILD),
    **dict.fromkeys(("typecheck", "type-check", "check-types", "check:types", "types", "tsc", "mypy"), BuildKind.TYPES),
    **dict.fromkeys(("lint", "lint:check", "eslint", "check", "ruff", "check:lint"), BuildKind.LINT),
}
_NO_TASKS: Final = frozenset(
    {"install", "i", "add", "remove", "uninstall", "clean", "test", "init", "create", "run-script"}
)
_FEW_WORDS: Final = 4
_NAMED_IN_ALL: Final = frozenset(ascii_words_of(name)[0] for name in (*_FAMILIES, *_BY_TASK))
"""One of these words stands in every command line that builds or checks code."""

_RED: Final = late_pattern(
    r"\berror TS\d|\berror\[E\d|\bfound [1-9]\d{0,5} errors?\b|[✖✗] [1-9]\d{0,5} problems?|\bcould not compile\b"
    r"|\bbuild fail(?:ed|ure)\b|: \*\*\* \[|\bfailed to compile\b|\bcompilation failed\b|npm err!"
    r"|\b[1-9]\d{0,5} errors?(?: generated|, \d{1,6} warnings?)\b|\bundefined reference to\b|: fatal error: ",
    re.IGNORECASE,
)
_GREEN: Final = late_pattern(
    r"\bno issues found\b|\ball checks passed\b|\b0 errors\b|\bbuild success|\bcompiled successfully\b|\bno errors\b"
    r"|\bfinished [`\w].{0,60}profile\b|[✓✔] built in\b|\bbuilt in \d|\b0 error\(s\)",
    re.IGNORECASE,
)
_EMPTY: Final = {
    BuildKind.TYPES: ("in 0 source files", "no source files"),
    BuildKind.LINT: ("no python files found", "0 files inspected", "no go files to analyze", "matched no packages"),
    BuildKind.BUILD: ("matched no packages",),
}
"""Words of runs that found nothing to read, by their kind."""

_HAS_READ: Final = late_pattern(r"\b[1-9]\d{0,6} (?:source )?files?\b")
_NOT_RUN: Final = ("command not found", "missing script", "No module named", "unrecognized ", "No rule to make target")


class BuildReading(NamedTuple):
    """Result of a build or the like: its kinds, and whether it passed; None where nothing shows it.

    `empty` are those of its kinds that found nothing to read.
    """

    kinds: frozenset[BuildKind]
    passed: bool | None
    empty: frozenset[BuildKind] = frozenset()


def read_build(run: ToolRun) -> BuildReading | None:
    """Read how a build, a type check or a linter went; None for a call that is none."""
    found = _builds_in(run.command) if run.command and not run.is_code else ()
    if not found:
        return None
    kinds = kinds_of_builds(run.command)
    if is_in_background(run):
        return BuildReading(kinds, None)
    return BuildReading(kinds, _passed(run, [program for program, _ in found]), _empty(run, kinds))


def kinds_of_builds(command: str) -> frozenset[BuildKind]:
    """Return what a command line builds or checks."""
    return frozenset(kind for _, kind in _builds_in(command))


def _passed(run: ToolRun, programs: list[Program]) -> bool | None:
    said = run.ending(_READ_CHARACTERS)
    if ends_well(run, programs):
        return True
    if holds_any(said, _NOT_RUN):
        return None
    if _RED.search(said):
        return False
    if run.worked is False and _decide_alone(run, programs):
        return False
    return True if run.worked and _GREEN.search(said) else None


def _empty(run: ToolRun, kinds: frozenset[BuildKind]) -> frozenset[BuildKind]:
    """Return the kinds of a run that found nothing to read."""
    said = run.ending(_READ_CHARACTERS).lower()
    empty = frozenset(kind for kind in kinds if holds_any(said, _EMPTY[kind]))
    return frozenset() if empty and _HAS_READ.search(said) else empty


def _decide_alone(run: ToolRun, programs: list[Program]) -> bool:
    """Return whether nothing but these programs, and changes of folder, can have given the line's exit code."""
    line = read_line(run.command)
    others = () if line is None else [each for each in line.deciders if each not in programs and each.name != "cd"]
    return hands_on(run, programs) and not others


@lru_cache(maxsize=256)
def _builds_in(command: str) -> tuple[tuple[Program, BuildKind], ...]:
    """Return the programs of a command line that build or check code; few lines name any, and are read for that."""
    if _NAMED_IN_ALL.isdisjoint(ascii_words_of(command.lower())):
        return ()
    line = read_line(command)
    tests = test_programs(command)
    found = [] if line is None else [(each, _kind_of(each)) for each in line.programs if each not in tests]
    return tuple((each, kind) for each, kind in found if kind is not None)


def _kind_of(program: Program) -> BuildKind | None:
    words = [unquoted(word) for word in program.words[1:] if word[:1] != "-"][:_FEW_WORDS]
    if program.name not in _BY_TASK or not words:
        return _FAMILIES.get(program.family)
    if words[0] in _NO_TASKS:
        return None
    return next((_TASKS[word] for word in words if word in _TASKS), _FAMILIES.get(program.family))
