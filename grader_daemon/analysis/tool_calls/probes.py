"""Probes: failures that were only a look at what may not be there, and no errors.

A look goes wrong without harm: `ls` of a folder that nobody spoke of, `which`, a search without a hit. So does a red
test run while nothing but tests was changed: it shows the fault that is to be mended. What came before is searched only
when such a failure comes up, so that sessions without one cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from grader_daemon.analysis.shell import LOOKING, PLAIN_SPOKEN, Line, Meaning, Program, program_name, unquoted
from grader_daemon.analysis.tool_calls import CallView, Purpose
from grader_daemon.analysis.tool_calls.outcomes import ToolOutcome
from grader_daemon.domain.analysis import Category
from grader_daemon.domain.session import TOOL, USER, Message

MOST_LOOKS = 30
"""Looks at files of one session that are followed up; one that misses more often is lost, not looking around."""

_FOLDER_PARTS = 3
_MOST_FOLDERS = 16
"""Most folders known at a time. `_FOLDER_PARTS` parts of a path are common to most of one project (``/home/me``)."""

_COMPLAINT = re.compile(r"(?:\S{0,60}/)?([\w.-]{1,40}): .{0,400}")
_NOT_THERE = re.compile(
    r"\bnot? (?:found|such|match(?:es|ing)?|results?|hits?|files?)\b|\bdoes(?: not|n't) exist\b", re.IGNORECASE
)
_WRONG_QUERY = re.compile(
    r"\b(?:relation|table|column|function|schema)\b[^\n]{0,80}?(?:does not exist|not found)"
    r"|no such (?:table|column|function)",
    re.IGNORECASE,
)
_IMPORTS = re.compile(
    r"\s*(?:import|from|print)\b[^;\n]{0,300}(?:[;\n]\s*(?:import|from|print)\b[^;\n]{0,300}){0,9}[;\s]*"
)
_NO_MODULE = ("ModuleNotFoundError", "ImportError")
_ASKS_VERSION = frozenset({"--version", "-version", "-V", "-v", "--help", "-h", "version"})
_TRIAL = re.compile(
    r"(?<![a-z])(?:tests?|conftest|spec|repro\w{0,12}|debug|check|verify|demo|scratch|issue)(?![a-z])|(?<!\w)/tmp/",
    re.IGNORECASE,
)
"""Marks in the name of a file that shows what is wrong and is no part of what is mended."""

_ASKS_FOR_ONE = frozenset(
    {"kubectl get", "kubectl describe", "oc get", "oc describe", "helm status", "helm get", "podman inspect"}
)
"""Programs that ask after what may not be there."""

_SILENT = re.compile(r"exit code \d{1,3}|\s{0,20}")
"""Output of a look whose complaint was led away (``2>/dev/null``)."""

_MISSED = (Category.FILE_NOT_FOUND, Category.UNKNOWN)
_EXAMINED = 2_000


class ProbeFinder:
    """Knows harm from looking around, for the failures of one session in their order."""

    def __init__(self, messages: tuple[Message, ...], calls: Mapping[str, CallView], failed: Set[int]) -> None:
        """`calls` by their ids, and the indexes of failed results, both as far as they have been seen."""
        self._messages = messages
        self._calls = calls
        self._failed = failed
        self._looks = 0
        self._missed: set[str] = set()
        self._searched_to = 0
        self._spoken: list[str] = []
        self._texts_by_folder: dict[str, tuple[list[str], int]] = {}
        """Texts before a place in `_spoken` that name a folder."""

        self._taken_in_to = 0
        self._has_edited = False

    def is_probe(self, index: int, result: ToolOutcome, call: CallView) -> bool:
        """Return whether the failure at `index`, as it stands when it comes up, is only a look."""
        if result.meaning is Meaning.ABSENT:
            return True
        if result.meaning is Meaning.FINDINGS:
            return not self._edited_before(index)
        if result.line is not None and call.path is None:
            return _asks_for_program(result.line, result) or self._looks_in_shell(index, result.line, result)
        if call.purpose is Purpose.SEARCH and result.category in _MISSED:
            said = result.output[:_EXAMINED]
            return _NOT_THERE.search(said) is not None and not _WRONG_QUERY.search(said)
        if call.purpose is Purpose.READ and call.path and result.category is Category.FILE_NOT_FOUND:
            return self._is_first_look(index, [call.path])
        return False

    def _looks_in_shell(self, index: int, line: Line, result: ToolOutcome) -> bool:
        if _SILENT.fullmatch(result.output):
            return bool(line.deciders) and all(run.family in LOOKING for run in line.deciders)
        looked = _who_missed(line, result)
        if looked is None:
            return False
        paths = [unquoted(word) for word in looked.words[1:] if not word.startswith("-")]
        return self._is_first_look(index, [path for path in paths if path and path in result.output] or paths)

    def _is_first_look(self, index: int, paths: list[str]) -> bool:
        """Return whether nothing before named these paths: no person, no result, no call that worked, no look."""
        self._looks += 1
        if self._looks > MOST_LOOKS or not paths or not self._missed.isdisjoint(paths):
            return False
        self._missed.update(paths)
        self._take_in(index)
        return not any(path in text for path in paths for text in self._texts_of(path))

    def _texts_of(self, path: str) -> list[str]:
        """Return the texts that name the folder of a path: each is searched once for a folder, not for all in it."""
        folder = "/".join(path.split("/", _FOLDER_PARTS)[:_FOLDER_PARTS])
        texts, searched = self._texts_by_folder.get(folder, ([], 0))
        if len(self._texts_by_folder) == _MOST_FOLDERS:
            self._texts_by_folder.clear()
        texts += [text for text in self._spoken[searched:] if folder in text]
        self._texts_by_folder[folder] = texts, len(self._spoken)
        return texts

    def _take_in(self, index: int) -> None:
        """Read what was said before a message and has not been taken in yet."""
        for place in range(self._taken_in_to, index):
            message = self._messages[place]
            if message.role == USER:
                self._spoken.append(message.text)
            elif message.role == TOOL and place not in self._failed:
                call = self._calls.get(message.tool_call_id or "")
                self._spoken += (message.text, call.text if call is not None else "")
        self._taken_in_to = index

    def _edited_before(self, index: int) -> bool:
        """Return whether a file that is no test was changed before. Nothing is searched twice."""
        while self._searched_to < index and not self._has_edited:
            message = self._messages[self._searched_to]
            if message.role == TOOL and self._searched_to not in self._failed:
                self._has_edited = _edits(self._calls.get(message.tool_call_id or ""))
            self._searched_to += 1
        return self._has_edited


def _edits(call: CallView | None) -> bool:
    if call is None or not call.arguments:
        return False
    if call.path is not None:
        return call.purpose is Purpose.WRITE and not _TRIAL.search(call.path)
    if call.family is None:
        return call.purpose is Purpose.WRITE
    return call.writes_in_shell and not _TRIAL.search(call.text[:_EXAMINED])


def _who_missed(line: Line, result: ToolOutcome) -> Program | None:
    """Return the program that only looks at files, and says at the end that one is not there."""
    named = _COMPLAINT.match(result.output.rstrip().rpartition("\n")[2])
    if named is None or result.category is not Category.FILE_NOT_FOUND:
        return None
    name = program_name(named[1])
    lookers = (run for run in line.programs if run.name == name and run.family in LOOKING and "-i" not in run.words)
    return next(lookers, None)


def _asks_for_program(line: Line, result: ToolOutcome) -> bool:
    """Return whether a line only asks whether a program or a module is there."""
    said = result.output
    run = next((run for run in reversed(line.programs) if run.family not in PLAIN_SPOKEN), line.programs[-1])
    if run.name == "python" and "-c" in run.words[:-1]:
        code = unquoted(run.words[run.words.index("-c") + 1])
        return _IMPORTS.fullmatch(code) is not None and any(sign in said for sign in _NO_MODULE)
    last = said.rstrip().rpartition("\n")[2]
    if "not found" in last or "No such" in last:
        return line.gives_way or not _ASKS_VERSION.isdisjoint(run.words[1:2]) or run.family in _ASKS_FOR_ONE
    return False
