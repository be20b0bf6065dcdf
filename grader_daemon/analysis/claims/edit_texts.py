"""Texts of edits: what stood in a file, and what an edit put there, out of the call of an editor or of a command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.shell import as_command
from grader_daemon.domain.late_pattern import late_pattern

_LONGEST: Final = 200_000
_MOST_EDITS: Final = 40
_OLD: Final = ("old_string", "old_str", "oldText", "old_text", "oldString", "old", "search")
_NEW: Final = ("new_string", "new_str", "newText", "new_text", "newString", "new", "replace")
_WHOLE: Final = ("content", "file_text", "contents", "text")
_PATCHES: Final = ("patch", "input", "diff", "patch_text", "patchText")
_FILE_OF_PATCH = late_pattern(r"(?:\*\*\* (?P<verb>Add|Update|Delete) File: |\+\+\+ (?:b/)?)(?P<path>[^\n\t]{1,300})")
_HERE = late_pattern(
    r"(?:cat|tee)(?: >{1,2})? ?[\"']?([\w./~+-]{1,200})[\"']?[^\n]{0,20}?<<-?\s?[\"']?(\w{1,40})[\"']?\n|"
    r"<<-?\s?[\"']?(\w{1,40})[\"']? ?>{1,2} ?[\"']?([\w./~+-]{1,200})[\"']?\n"
)
_SUBSTITUTED = late_pattern(r"\bs([/|#])((?:(?!\1)[^\n]){1,300})\1((?:(?!\1)[^\n]){0,300})\1")
_EDITS_IN_PLACE: Final = frozenset({"-i", "-i.bak", "-Ei", "-ie", "-i''", "--in-place"})
_SED = late_pattern(r"\bsed ([^|;&\n]{1,600})")


class EditText(NamedTuple):
    """One edit of a file. `old` is None where the file was written as a whole, "" where something was put to its end.

    `new` is "" where it was removed.
    """

    path: str
    old: str | None
    new: str


def edits_of(run: ToolRun) -> list[EditText]:
    """Return the edits of a call, as far as its arguments tell them; none of arguments that are very long."""
    arguments = run.arguments
    if len(arguments) > _LONGEST:
        return []
    if arguments.startswith("*** Begin Patch"):
        return list(_of_patch(arguments))
    given = _decoded(arguments)
    return [each for each, _ in zip(_of_given(given, run), range(_MOST_EDITS), strict=False)]


def _decoded(arguments: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}


def _of_given(given: dict[str, object], run: ToolRun) -> Iterator[EditText]:
    for name in _PATCHES:
        patch = given.get(name)
        if isinstance(patch, str) and ("*** " in patch or "\n+++ " in patch):
            yield from _of_patch(patch)
    command = as_command(given.get("command") or given.get("cmd"))
    if command and run.command:
        yield from _of_command(command)
    for path in run.paths[:1]:
        edits = given.get("edits")
        for each in (given, *(edits if isinstance(edits, list) else ())):
            if isinstance(each, dict):
                yield from _replaced(path, each)


def _replaced(path: str, given: dict[str, object]) -> Iterator[EditText]:
    old, new, whole = _first(given, _OLD), _first(given, _NEW), _first(given, _WHOLE)
    if old is not None and new is not None:
        yield EditText(path, old, new)
    elif whole is not None:
        yield EditText(path, None, whole)


def _first(given: dict[str, object], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if isinstance(value := given.get(name), str)), None)


def _of_patch(patch: str) -> Iterator[EditText]:
    """Yield the edits of a patch, one for each file."""
    files = list(_FILE_OF_PATCH.finditer(patch))
    for number, file in enumerate(files[:_MOST_EDITS]):
        end = files[number + 1].start() if number + 1 < len(files) else len(patch)
        lines = patch[file.end() : end].split("\n")
        old = "\n".join(line[1:] for line in lines if line[:1] == "-" and line[:3] != "---")
        new = "\n".join(line[1:] for line in lines if line[:1] == "+" and line[:3] != "+++")
        is_added = file["verb"] == "Add"
        yield EditText(file["path"].strip(), None if is_added or file["verb"] == "Delete" else old, new)


def _of_command(command: str) -> Iterator[EditText]:
    """Yield the edits of a shell command: here-documents, substitutions by `sed`, patches."""
    if "*** Begin Patch" in command:
        yield from _of_patch(command)
    for found in _HERE.finditer(command):
        end = command.find(f"\n{found[2] or found[3]}", found.end() - 1)
        old = "" if ">>" in found[0] else None
        yield EditText(found[1] or found[4], old, command[found.end() : end if end >= 0 else len(command)])
    for found in _SED.finditer(command):
        words = found[1].split()
        if _EDITS_IN_PLACE.isdisjoint(words):
            continue
        for edit in _SUBSTITUTED.finditer(found[1]):
            yield EditText(words[-1].strip("\"'"), edit[2], edit[3])
