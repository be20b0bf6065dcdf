"""Work of a session from its messages: the files that it wrote, line by line, and the commits that it made."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from grader_daemon.analysis.claims import Note
from grader_daemon.analysis.tool_calls import CHANGING
from grader_daemon.analysis.tool_calls.edits import PATCH, Edit
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Session
from grader_daemon.domain.text import storable
from grader_daemon.outcomes.model import MOST_FILES, MOST_LINES, Work, WrittenFile, line_digests
from grader_daemon.redaction import Redactor

_MOST_COMMITS: Final = 50
_LONGEST_PATH: Final = 1_000
_LONGEST_RESULT: Final = 20_000
_LONGEST_COMMAND: Final = 200_000
_COMMITTING: Final = re.compile(r"\bgit\b[^\n|;&]{0,200}\s(?:commit|cherry-pick|merge|revert|am)\b")
_COMMITTED: Final = re.compile(r"\[[^\[\]\n]{1,250} ([0-9a-f]{7,40})\] ")
"""Result of `git commit`: ``[main 1a2b3c4] Subject``, also ``[main (root-commit) 1a2b3c4]``; Hermes has it in JSON."""


def work_of(session: Session, notes: list[Note], *, ended: datetime, redactor: Redactor) -> Work:
    """Return what a session wrote by calls that worked.

    Args:
        session: as it was read.
        notes: its calls that have a result, each with the index of that result.
        ended: when it ended, if it does not say itself.
        redactor: a file whose path holds a secret is not followed: paths are kept.
    """
    files: dict[str, set[int]] = {}
    commits: dict[str, None] = {}
    for index, call, status in notes:
        if status is not CallStatus.SUCCESS:
            continue
        if call.effect in CHANGING or call.writes_in_shell or PATCH in call.text:
            for edit in call.edits:
                _apply(files, edit, session.project)
        if _COMMITTING.search((call.shell or "")[:_LONGEST_COMMAND]):
            result = session.messages[index].text[:_LONGEST_RESULT]
            commits.update(dict.fromkeys(_COMMITTED.findall(result)))
    drawn, wrote = _drawn({path: found for path, found in files.items() if redactor.redact(path) == path})
    times = [moment for moment in session.message_times if moment is not None]
    last = max([*times, *filter(None, [session.updated_at])], default=ended)
    first = min([*times, *filter(None, [session.started_at])], default=last)
    return Work(began=min(first, last), ended=last, commits=tuple(commits)[-_MOST_COMMITS:], files=drawn, wrote=wrote)


def _drawn(files: Mapping[str, set[int]]) -> tuple[tuple[WrittenFile, ...], int]:
    """Return the files with so many of their lines as are followed, and how many lines there are in all."""
    some = dict(list(files.items())[-MOST_FILES:])
    lines = {(digest, path) for path, found in some.items() for digest in found}
    drawn = heapq.nsmallest(MOST_LINES, lines)
    by_path: dict[str, list[int]] = {path: [] for path in some}
    for digest, path in drawn:
        by_path[path].append(digest)
    return tuple(WrittenFile(path, tuple(found)) for path, found in by_path.items()), len(lines)


def _apply(files: dict[str, set[int]], edit: Edit, project: str | None) -> None:
    path = _absolute(edit.path, project)
    if path is None:
        return
    new, old = line_digests(_bytes(edit.new)), line_digests(_bytes(edit.old or ""))
    known = files.pop(path, set())
    files[path] = set(new) if edit.old is None else (known - (old - new)) | (new - old)


def _absolute(path: str, project: str | None) -> str | None:
    """Return where a file is; None where that is not known."""
    if len(path) > _LONGEST_PATH or "$" in path or path != storable(path) or "\0" in path:
        return None
    path = os.path.expanduser(path) if path.startswith("~/") else path
    if not os.path.isabs(path):
        if project is None or not os.path.isabs(project):
            return None
        path = os.path.join(project, path)
    return os.path.normpath(path)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
