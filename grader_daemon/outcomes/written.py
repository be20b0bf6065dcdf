"""Work of a session from its messages: the files that it wrote, line by line, and the commits that it made."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from grader_daemon.analysis.claims import Note
from grader_daemon.analysis.tool_calls import CHANGING, CallView
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Session
from grader_daemon.domain.text import storable
from grader_daemon.outcomes.line_digests import digests
from grader_daemon.outcomes.model import MOST_FILES, MOST_LINES, Work, WrittenFile
from grader_daemon.redaction import Redactor

_MOST_COMMITS: Final = 50
_LONGEST_PATH: Final = 1_000
_LONGEST_RESULT: Final = 20_000
_LONGEST_COMMAND: Final = 200_000
_WHOLE: Final = ("content", "file_text", "contents", "new_source", "text")
_NEW: Final = ("new_string", "new_str", "newString", "new_text", "insert_text", "replace")
_OLD: Final = ("old_string", "old_str", "oldString", "old_text", "search")
_COMMITTING: Final = re.compile(r"\bgit\b[^\n|;&]{0,200}\s(?:commit|cherry-pick|merge|revert|am)\b")
_COMMITTED: Final = re.compile(r"\[[^\[\]\n]{1,250} ([0-9a-f]{7,40})\] ")
"""Result of `git commit`: ``[main 1a2b3c4] Subject``, also ``[main (root-commit) 1a2b3c4]``; Hermes has it in JSON."""
_HEREDOC: Final = re.compile(
    r"(?:>{1,2} ?(?P<to>[^\s<>|;&'\"]{1,500}) ?)?<<-? ?(?P<quote>['\"]?)(?P<end>\w{1,40})(?P=quote)"
    r"(?: ?>{1,2} ?(?P<into>[^\s<>|;&'\"]{1,500}))?[^\n]{0,100}\n"
)
_MOST_HEREDOCS: Final = 20
_PATCH: Final = "*** Begin Patch"
_PATCH_FILE: Final = re.compile(r"^\*\*\* (Add|Update|Delete) File: (\S[^\n]{0,1000})$")
_PATCH_MOVE: Final = "*** Move to: "


class _Change(NamedTuple):
    """A change of a file: the text that is new, the text that it replaces; `whole`: nothing else is left in it."""

    path: str
    new: str
    old: str = ""
    whole: bool = False


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
        if call.effect in CHANGING or call.writes_in_shell or _PATCH in call.text:
            for change in _changes(call):
                _apply(files, change, session.project)
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


def _apply(files: dict[str, set[int]], change: _Change, project: str | None) -> None:
    path = _absolute(change.path, project)
    if path is None:
        return
    new, old = digests(_bytes(change.new)), digests(_bytes(change.old))
    known = set() if change.whole else files.pop(path, set())
    files.pop(path, None)
    files[path] = (known - (old - new)) | (new - old)


def _absolute(path: str, project: str | None) -> str | None:
    """Return where a file is; None where that is not known."""
    if len(path) > _LONGEST_PATH or "$" in path or not _is_storable(path):
        return None
    path = os.path.expanduser(path) if path.startswith("~/") else path
    if not os.path.isabs(path):
        if project is None or not os.path.isabs(project):
            return None
        path = os.path.join(project, path)
    return os.path.normpath(path)


def _is_storable(path: str) -> bool:
    """Return whether a path is text that can be kept, and that a file can have."""
    return path == storable(path) and "\0" not in path


def _changes(call: CallView) -> Iterator[_Change]:
    if isinstance(call.arguments, str) and call.arguments.startswith(_PATCH):
        yield from _patched(call.arguments)
        return
    given = _arguments(call)
    for value in given.values():
        if isinstance(value, str) and value.lstrip().startswith(_PATCH):
            yield from _patched(value)
            return
    if call.shell:
        yield from _in_shell(call.shell[:_LONGEST_COMMAND])
    elif call.path is not None:
        yield from _edits(call.path, given)


def _edits(path: str, given: Mapping[str, Any]) -> Iterator[_Change]:
    many = given.get("edits")
    for edit in many if isinstance(many, list) else [given]:
        if isinstance(edit, dict):
            new, old = _first(edit, _NEW), _first(edit, _OLD)
            whole = _first(edit, _WHOLE) if new is None else None
            if whole is not None:
                yield _Change(path, whole, whole=True)
            elif new is not None or old is not None:
                yield _Change(path, new or "", old or "")


def _in_shell(command: str) -> Iterator[_Change]:
    """Yield the files that a command writes from its own text, as ``cat > a.py <<'EOF'``."""
    if _PATCH in command:
        yield from _patched(command[command.index(_PATCH) :])
        return
    at = 0
    for _ in range(_MOST_HEREDOCS):
        begin = _HEREDOC.search(command, at)
        if begin is None:
            return
        end = re.compile(rf"^\s*{begin['end']}\s*$", re.MULTILINE).search(command, begin.end())
        at = len(command) if end is None else end.end()
        path = begin["to"] or begin["into"]
        if path is not None:
            text = command[begin.end() : len(command) if end is None else end.start()]
            yield _Change(path, text, whole=">>" not in begin.group(0))


def _patched(text: str) -> Iterator[_Change]:
    """Yield what a patch of several files changes."""
    path: str | None = None
    new: list[str] = []
    old: list[str] = []
    is_added = False
    for line in text.split("\n"):
        named = _PATCH_FILE.match(line)
        if named is not None:
            if path is not None:
                yield _Change(path, "\n".join(new), "\n".join(old), whole=is_added)
            path, new, old, is_added = named.group(2).strip(), [], [], named.group(1) == "Add"
        elif line.startswith(_PATCH_MOVE) and path is not None:
            path = line.removeprefix(_PATCH_MOVE).strip()
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
    if path is not None:
        yield _Change(path, "\n".join(new), "\n".join(old), whole=is_added)


def _arguments(call: CallView) -> Mapping[str, Any]:
    arguments = call.arguments
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if isinstance(value := given.get(name), str)), None)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
