"""What a call does, so that the same thing can be known when it is done again.

Reading and writing a file is the same deed by whatever tool; a shell command is known by its family; any other call by
its tool.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from grader_daemon.analysis.commands import command_family
from grader_daemon.domain.session import ToolCall

_WORD = re.compile(r"[a-z]+")
_EDITING = frozenset({"write", "edit", "patch", "replace", "insert", "create", "append", "update", "save", "multiedit"})
_READING = frozenset({"read", "view", "open", "cat", "list", "ls", "stat", "show", "load"})
_SEARCHING = frozenset({"find", "search", "lookup", "grep", "glob", "exists", "query"})
_WRITING_IN_SHELL = re.compile(
    r"(?<![0-9&<>=-])>{1,2}\s{0,4}(?!/dev/|&)[\w./~\"'$-]|\bsed\b[^|;&\n]{0,80}\s-i|\btee\s|\bgit apply\b|\bpatch\s-"
)
_EXAMINED_COMMAND = 4_000


class _Arguments(msgspec.Struct, frozen=True):
    path: object = None
    file_path: object = None
    filepath: object = None
    filename: object = None
    file: object = None
    target_file: object = None
    directory: object = None


class Deed(NamedTuple):
    """Who acts, how, and on what; None where that is not known."""

    actor: str
    family: str | None = None
    target: str | None = None


class Act(NamedTuple):
    """A call as a deed.

    `family` is that of its command, `verb` is "edit", "read" or "search" where its name says so, `path` is the file
    that it names.
    """

    deed: Deed
    family: str | None = None
    verb: str | None = None
    path: str | None = None


def act_of(tool: str, call: ToolCall | None) -> Act:
    """Tell what a call of `tool` does."""
    arguments = call.arguments if call is not None else None
    family = command_family(arguments)
    path = _path_in(arguments)
    if family is not None and path is None:
        return Act(Deed(tool, family), family)
    verb = _verb(family) or _verb(tool)
    if path and verb in ("edit", "read"):
        return Act(Deed(verb, None, path.replace("\\", "/").rstrip("/").rpartition("/")[2]), family, verb, path)
    return Act(Deed(tool, family), family, verb, path)


def text_of(call: ToolCall | None) -> str:
    """Give the arguments of a call as they stand in the file; "" where there are none."""
    arguments = call.arguments if call is not None else None
    return arguments if isinstance(arguments, str) else str(arguments or "")


def writes_in_shell(arguments: str | dict[str, object]) -> bool:
    """Say whether a shell command writes a file: into it, in place, or by a patch."""
    text = arguments if isinstance(arguments, str) else str(arguments.get("command", ""))
    return _WRITING_IN_SHELL.search(text[:_EXAMINED_COMMAND]) is not None


def _verb(name: str | None) -> str | None:
    words = set(_WORD.findall(name.lower())) if name else set()
    for verb, signs in (("edit", _EDITING), ("read", _READING), ("search", _SEARCHING)):
        if not signs.isdisjoint(words):
            return verb
    return None


def _path_in(arguments: str | dict[str, object] | None) -> str | None:
    if not arguments:
        return None
    try:
        if not isinstance(arguments, str):
            named = msgspec.convert(arguments, _Arguments)
        elif "path" in arguments or "file" in arguments or "directory" in arguments:
            named = msgspec.json.decode(arguments, type=_Arguments)
        else:
            return None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    for path in msgspec.structs.astuple(named):
        if isinstance(path, str) and path:
            return path
    return None
