"""Files that a later look shows: what wrote them need not be known, if the look shows them with content.

A file that was seen before anything could have been written proves nothing: it was there all along.
"""

from __future__ import annotations

import re
from typing import Final

from grader_daemon.analysis.claims.code_changes import is_among
from grader_daemon.analysis.claims.evidence import (
    CallRecord,
    ToolRun,
    may_have_written,
    without_spoken,
    without_written,
)
from grader_daemon.analysis.claims.sight import hands_on, of_project
from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.claims.undone_changes import UndoneChanges
from grader_daemon.analysis.shell import Program, read_line, unquoted
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.analysis.tool_calls.frames import without_frame
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_READERS: Final = frozenset(
    "cat head tail less more nl tac bat wc jq xxd hexdump od strings md5sum sha1sum sha256sum sort uniq cut".split()
) | frozenset("awk gawk sed column stat file openssl ffprobe identify".split())
"""Programs that show what a file holds, or something of it."""

_LISTED = late_pattern(
    r"(?:^|\")-[r-][\w-]{8}[.+@]?[^\S\n]{1,20}(?:\d{1,6}[^\S\n]{1,20}[a-zA-Z_]\S{0,40}[^\S\n]{1,20}\S{1,40}[^\S\n]{1,20})?+"
    r"(?!0[^\S\n])\d[\d.,]{0,15}[KMGT]?[^\S\n][^\n]{3,60}?[^\S\n](\S{1,200}?)(?=\"|[^\S\n]*$)",
    re.MULTILINE,
)
"""A line of `ls -l` about a file that is not empty."""

_SILENT: Final = ('{"content": ""', '{"content":""', '{"output": ""', '{"output":""', '{"output": "(no output)"')
_NOTHING_IN_IT = late_pattern(
    r"(?:\{\"output\": \")?\s{0,9}(?:0 \S{1,150}\s{0,9}(?:\"|$)|\S{1,150}: {1,9}(?:empty|directory)\b)"
)
"""Answer of `wc` and of `file` about a file without content."""

_EMPTY_FILE: Final = ("empty contents", "contents are empty", "file is empty")
"""Words of tools about a file without content, in a result that is short."""

_ABSENT: Final = ("No such file", "cannot open", "annot access", "ermission denied", "s a directory", "not found")
_HIDDEN: Final = "2>"
_MAY_NOT_RUN = late_pattern(r"\|\||(?:^|[;\n])\s*(?:if|case|while)\b")
"""Words of a line of which a part need not have run."""

_HEAD: Final = 200
_READ: Final = 4_000
_MADE = late_pattern(
    r"\b(?:wrote|written|saved|created|generated|exported|stored|produced|converted|downloaded|extracted|copied"
    r"|compiled|packaged|compressed|archived|trained|erstellt|geschrieben|gespeichert|erzeugt|creado|guardado|escrito)\b"
    r"|созда|запис|сохран|créé|écrit|enregistré|创建|写入|保存|生成",
    re.IGNORECASE,
)
_CHANGED = late_pattern(
    r"\b(?:updated?|modified|changed|edited|fixed|rewrote|rewritten|refactored|removed|deleted|replace\w+|implemented"
    r"|existing)\b|обнов|измен|исправ|добав|aktualisiert|geändert|actualizad|modificad|modifié",
    re.IGNORECASE,
)
"""Words of changes: that a file is there does not show that it was changed."""


class ReadBacks:
    """Looks at files in one session."""

    def __init__(self, evidence: CallRecord, undone: UndoneChanges) -> None:
        self._evidence = evidence
        self._undone = undone

    def shown(self, path: str, said: str) -> int | None:
        """Return the place of the last look that shows a file which these words say was made; None without one."""
        if not _MADE.search(said) or _CHANGED.search(said):
            return None
        name = basename(path)
        runs = self._evidence.runs
        looks = [each.index for each in runs if name in each.arguments and _shows(each, path)]
        first = next((each.index for each in runs if may_have_written(each)), None)
        if not looks or first is None or looks[0] < first or self._undone.is_removed(path, looks[-1]):
            return None
        return looks[-1]


def _shows(run: ToolRun, path: str) -> bool:
    """Return whether a call shows a file that is not empty."""
    if run.command:
        return not run.is_code and (_is_listed(run, path) or _is_read(run, path))
    return (
        run.worked is True and run.purpose is Purpose.READ and is_among(path, run.seen_paths) and _says_something(run)
    )


def _is_listed(run: ToolRun, path: str) -> bool:
    """Return whether `ls -l` lists a file, whatever came of the rest of its line."""
    if "ls" not in run.command:
        return False
    return any(is_among(path, (found[1],)) for found in _LISTED.finditer(run.ending(_READ)))


def _is_read(run: ToolRun, path: str) -> bool:
    """Return whether a program reads a file, and nothing that might write it ran after that in its line.

    Where the exit code is that of another program, its output tells of a file that is not there.
    """
    line = read_line(run.command) if run.worked else None
    if line is None or _MAY_NOT_RUN.search(without_written(without_spoken(run.command))) or not _says_something(run):
        return False
    reading = [at for at, each in enumerate(line.programs) if _reads(each, path)]
    if not reading or of_project(line.programs[reading[-1] + 1 :]):
        return False
    if hands_on(run, [line.programs[reading[-1]]]):
        return True
    return _HIDDEN not in run.command and not holds_any(run.ending(_READ), _ABSENT)


def _reads(program: Program, path: str) -> bool:
    if program.name not in _READERS:
        return False
    return any(is_among(path, (unquoted(word),)) for word in program.words[1:] if word[:1] != "-")


def _says_something(run: ToolRun) -> bool:
    said = without_frame(run.ending(_READ)).strip()
    if not said or said.startswith(_SILENT) or _NOTHING_IN_IT.match(said[:_HEAD]):
        return False
    return len(said) > _HEAD or not holds_any(said, _EMPTY_FILE)
