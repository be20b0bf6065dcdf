"""Edits of files by calls, as claims compare them: also those that `sed` makes in a part of a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from grader_daemon.analysis.claims.evidence import ToolRun, once
from grader_daemon.analysis.tool_calls.edits import Edit
from grader_daemon.domain.late_pattern import late_pattern

_LONGEST: Final = 200_000
_MOST_EDITS: Final = 40
_SUBSTITUTED = late_pattern(r"\bs([/|#])((?:(?!\1)[^\n]){1,300})\1((?:(?!\1)[^\n]){0,300})\1")
_EDITS_IN_PLACE: Final = frozenset({"-i", "-i.bak", "-Ei", "-ie", "-i''", "--in-place"})
_SED = late_pattern(r"\bsed ([^|;&\n]{1,600})")


@once
def edits_of(run: ToolRun) -> list[Edit]:
    """Return the edits of a call, as far as its arguments tell them; none of arguments that are very long."""
    if run.changes_nothing or len(run.arguments) > _LONGEST:
        return []
    return list(islice(chain(run.edits, _by_sed(run.command)), _MOST_EDITS))


@once
def edited_in_place(run: ToolRun) -> frozenset[str]:
    """Return the files in which an editor puts a text in the place of another, which stood there before."""
    return frozenset(edit.path for edit in edits_of(run) if edit.old) if run.paths else frozenset()


def _by_sed(command: str) -> Iterator[Edit]:
    for found in _SED.finditer(command):
        words = found[1].split()
        if _EDITS_IN_PLACE.isdisjoint(words):
            continue
        for edit in _SUBSTITUTED.finditer(found[1]):
            yield Edit(words[-1].strip("\"'"), edit[2], edit[3])
