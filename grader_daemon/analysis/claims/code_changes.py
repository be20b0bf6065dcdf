"""Changes of files in a session, by editors and by commands, and what was taken back afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from grader_daemon.analysis.claims.edit_texts import edits_of
from grader_daemon.analysis.claims.evidence import ToolRun, once
from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.analysis.tool_calls.edits import paths_in_patch
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_CODE_ENDINGS = """
    py pyi ipynb js jsx mjs cjs ts tsx vue svelte go rs rb php java kt kts scala c h cc cpp cxx hpp hh cs swift m lua pl
    pm r jl ex exs erl hs ml clj sh bash zsh ps1 sql f90 f zig dart cmake gradle
    """
_CODE: Final = frozenset(_CODE_ENDINGS.split())
"""Endings of files that tests, builds and linters are about; of others (settings, data, styles) they may be."""

_NO_CODE: Final = frozenset({"md", "txt", "rst", "log", "adoc", "csv", "png", "jpg", "svg", "pdf", "gitignore", "out"})
_BUILT_FROM = late_pattern(r"(?:^|/)(?:CMakeLists|(?:[\w-]*requirements[\w-]*)|constraints)\.txt$")
"""Text files that say what is built, and from what."""

_TEST_PATH = late_pattern(
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e|testing)/|(?:^|/)(?:test_[^/]*|tests?\.\w{1,5}|[^/]*_tests?\.\w{1,5}"
    r"|[^/]*\.(?:test|spec)\.\w{1,5}|[^/]*_spec\.rb|[^/]*Tests?\.\w{1,5}|conftest\.py)$"
)
_ELSEWHERE: Final = ("/tmp/", "/var/tmp/", "/dev/")  # noqa: S108 - names in commands; nothing is written there
_MOST_TARGETS: Final = 10
_INTO_FILE = late_pattern(
    r"(?<![0-9&<>=-])>{1,2}[^\S\n]{0,4}[\"']?([\w./~+-]{1,200})|\btee (?:-a )?([\w./~+-]{1,200})"
    r"|\b(?:open|Path)\([\"']([^\"'\n]{1,200})[\"'](?:, ?(?:mode=)?[\"'][wa]|\)\.write_)"
)
_IN_PLACE = late_pattern(r"\b(?:sed|perl) [^|;&\n]{0,60}?-\w{0,3}i\b[^|;&\n]{0,300}")
_NAME = late_pattern(r"[\w./~+-]{1,200}")
_ALL_BACK = late_pattern(
    r"\bgit(?: -C \S{1,80})? (?:reset --hard|stash(?! (?:pop|apply|list|show|drop|branch))"
    r"|(?:checkout (?:-f )?(?:-- )?|restore (?:--\S{1,20} ){0,2})\.(?=\s|$))"
)
_SOME_BACK = late_pattern(
    r"\bgit(?: -C \S{1,80})? (?:checkout (?:[\w~^/.-]{1,60} )?-- |restore (?:--(?!staged)\S{1,20} ){0,2}(?!--staged))"
    r"(?!\.(?:\s|$))([^|;&\n]{1,300})"
)
_REMOVED = late_pattern(r"\b(?:git rm|rm)(?: -\w{1,4}){0,3} ([^|;&\n]{1,300})")
_BACK_WORDS: Final = ("checkout", "restore", "reset", "stash")
_BACK_AGAIN = late_pattern(r"\bgit(?: -C \S{1,80})? stash (?:pop|apply)\b")


class TakenBack(NamedTuple):
    """Files whose changes a command took back by version control: all of them, or those of these paths."""

    everything: bool
    paths: frozenset[str]


_NOTHING: Final = TakenBack(everything=False, paths=frozenset())


@once
def changed_files(run: ToolRun) -> tuple[str, ...]:
    """Return the paths of the files that a call changed, as far as they are named; not those of other folders."""
    if run.worked is not True or run.changes_nothing:
        return ()
    if run.purpose is Purpose.WRITE and run.paths:
        return tuple(filter(_may_be_code, run.paths))
    written = _written(run.command) if run.command else (edit.path for edit in edits_of(run))
    return tuple(filter(_may_be_code, islice(written, _MOST_TARGETS)))


def is_code(path: str) -> bool:
    """Return whether a file is of code."""
    return _ending(path) in _CODE


def is_of_tests(path: str) -> bool:
    """Return whether a file is of tests, by its name or its folder."""
    return _TEST_PATH.search(path) is not None


def taken_back(run: ToolRun) -> TakenBack:
    """Return whose changes a command took back by version control."""
    if not takes_back(run) or run.worked is False or run.is_code:
        return _NOTHING
    everything = _ALL_BACK.search(run.command) is not None and not brings_back(run)
    return TakenBack(everything, _paths_after(_SOME_BACK, run.command))


def takes_back(run: ToolRun) -> bool:
    """Return whether a command may take anything back; the words of one that does stand in it."""
    return "git" in run.command and holds_any(run.command, _BACK_WORDS)


def removed_files(run: ToolRun) -> frozenset[str]:
    """Return the paths of the files that a command removed, as far as they are named."""
    is_none = "rm " not in run.command or run.worked is False or run.is_code
    return frozenset() if is_none else _paths_after(_REMOVED, run.command)


def is_among(path: str, paths: Iterable[str]) -> bool:
    """Return whether one of some paths may be that of a file, as far as both name its folder."""
    return any(_is_end_of(path, each) or _is_end_of(each, path) for each in paths)


def brings_back(run: ToolRun) -> bool:
    """Return whether a command brings back what was put aside."""
    return "stash" in run.command and _BACK_AGAIN.search(run.command) is not None


def _paths_after(pattern: re.Pattern[str], command: str) -> frozenset[str]:
    words = (word.strip("\"'") for found in pattern.finditer(command) for word in found[1].split())
    return frozenset(word for word in words if _NAME.fullmatch(word))


def _is_end_of(path: str, longer: str) -> bool:
    return f"/{longer.strip('./')}".endswith(f"/{path.strip('./')}")


def _may_be_code(path: str) -> bool:
    return not path.startswith(_ELSEWHERE) and "." in basename(path) and not is_prose(path)


def is_prose(path: str) -> bool:
    """Return whether no test, build or linter is about a file of that name."""
    return _ending(path) in _NO_CODE and _BUILT_FROM.search(path) is None


def _ending(path: str) -> str:
    return basename(path).rpartition(".")[2].lower()


def _written(command: str) -> Iterator[str]:
    """Yield what a command writes to, as far as its words tell: where output is led, what is edited or opened."""
    for found in _INTO_FILE.finditer(command):
        yield found[1] or found[2] or found[3]
    if "*** " in command:
        yield from paths_in_patch(command)
    for found in _IN_PLACE.finditer(command):
        yield from (word for word in _NAME.findall(found[0])[1:] if _is_name(word))


def _is_name(word: str) -> bool:
    return "." in basename(word).strip(".") and word[0] not in "-."
