"""The record of a session's tool calls, as far as claims need it: what could write, what ran, what it ran on.

Made only for a session whose answer claims something, from the calls that the analysis has seen go by. Names of tools
say what a tool is for; what is not known by its name may have done anything, so that nothing is told from its absence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Final

import msgspec

from grader_daemon.analysis.claims.looking import only_looks
from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.deeds import text_of
from grader_daemon.domain.analysis import Outcome
from grader_daemon.domain.session import Message, ToolCall

MOST_DEEDS = 1_000
"""Calls that are looked at, the last of a session. Of a longer one nothing is told from what is absent."""

_EXAMINED_COMMAND = 2_000
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONGEST_NAME = 200
_END_OF_NAMESPACE: Final = "__"
_REFUSED: Final = (
    "error",
    "fail",
    "no replacement",
    "not found",
    "did not match",
    "no match",
    "invalid",
    "does not exist",
)
_REFUSAL_REACH = 80
_WORKED: Final = {Outcome.SUCCESS: True, Outcome.FAILURE: False, Outcome.REFUSED: False, Outcome.NOT_EXECUTED: False}
"""By outcome, whether the call did what it is there for; of the others it is not known."""

_WRITING: Final = frozenset(
    {
        "write",
        "edit",
        "patch",
        "create",
        "replace",
        "append",
        "insert",
        "apply",
        "save",
        "editor",
        "multiedit",
        "update",
    }
    | {"modify", "upload", "put", "generate", "export", "delete", "move", "rename", "copy", "add"}
)
_RUNNING: Final = frozenset(
    {"bash", "shell", "terminal", "exec", "execute", "command", "cmd", "run", "python", "ipython", "code", "powershell"}
    | {"repl", "jupyter", "sandbox", "interpreter", "script"}
)
_READING: Final = frozenset(
    {
        "read",
        "get",
        "list",
        "ls",
        "search",
        "find",
        "view",
        "fetch",
        "check",
        "lookup",
        "look",
        "query",
        "think",
        "todo",
    }
    | {"calculate", "finish", "submit", "clarify", "ask", "grep", "glob", "cat", "show", "describe", "count", "status"}
)


class Role(Enum):
    """What a tool is for, by its name."""

    WRITE = "write"
    RUN = "run"
    READ = "read"
    UNKNOWN = "unknown"


Note = tuple[int, str | None, ToolCall | None, Outcome]
"""One tool result as the analysis saw it: its place, the tool, the call if the file holds it, how it went."""


class _Arguments(msgspec.Struct, frozen=True):
    """The arguments by which claims are matched; all others are skipped, unbuilt."""

    command: object = None
    cmd: object = None
    code: object = None
    path: object = None
    file_path: object = None
    filename: object = None
    filepath: object = None
    file: object = None
    target_file: object = None
    notebook_path: object = None


_NOTHING_GIVEN = _Arguments()


@dataclass(frozen=True, slots=True)
class Deed:
    """One call with its result. `worked` is None when that is not known.

    `command` is what a shell or interpreter was given (`is_code`: an interpreter), `path` the file that an editor was
    given, else "". `arguments` is what the call says, as it stands in the file.
    """

    index: int
    words: frozenset[str]
    role: Role
    worked: bool | None
    command: str
    is_code: bool
    path: str
    arguments: str


class Record:
    """What a session's calls were, in their order.

    `is_whole` says that no call is missing: only then can be told from it what was never done.
    """

    def __init__(self, notes: Sequence[Note], messages: Sequence[Message], *, is_whole: bool) -> None:
        self._messages = messages
        self.is_whole = is_whole and len(notes) <= MOST_DEEDS
        self._notes = notes

    @cached_property
    def deeds(self) -> list[Deed]:
        """The calls, in their order."""
        return [self._deed(note) for note in self._notes[-MOST_DEEDS:]]

    @cached_property
    def writes(self) -> list[Deed]:
        """The calls that an editor was given a file by."""
        return [deed for deed in self.deeds if deed.role is Role.WRITE and deed.path]

    @cached_property
    def has_shell(self) -> bool:
        """Was a shell or an interpreter given a command?"""
        notes = self._notes[-MOST_DEEDS:]
        return any(self._deed(note).command for note in notes if _named(note[1] or "")[1] is Role.RUN)

    @cached_property
    def could_act(self) -> bool:
        """Was any call made that may have changed anything?"""
        return not self.is_whole or any(deed.role is not Role.READ for deed in self.deeds)

    @cached_property
    def could_write(self) -> bool:
        """May a call have written a file? One that was refused did not, nor did commands that only look."""
        return not self.is_whole or any(_may_have_written(deed) for deed in self.deeds)

    def mentions(self, name: str) -> bool:
        """Does a name stand in any call or result? Where calls are missing, it may."""
        return not self.is_whole or any(
            name in text_of(call) or name in self._messages[index].text for index, _, call, _ in self._notes
        )

    def said(self, deed: Deed, characters: int) -> str:
        """Give the end of what a call answered, with the line breaks that JSON escapes."""
        return self._messages[deed.index].text[-characters:].replace("\\n", "\n")

    def _deed(self, note: Note) -> Deed:
        index, tool, call, outcome = note
        words, role = _named(tool or "")
        given = _read(call) if role is not Role.READ else _NOTHING_GIVEN
        command = _text(given.command or given.cmd or given.code)
        path = _text(
            given.path
            or given.file_path
            or given.filename
            or given.filepath
            or given.file
            or given.target_file
            or given.notebook_path
        )
        is_code = bool(command) and command == given.code
        if role is Role.WRITE and path:
            role, command = (Role.READ if command == "view" else Role.WRITE), ""
        return Deed(
            index=index,
            words=words,
            role=role,
            worked=self._worked(index, outcome, role),
            command=command[:_EXAMINED_COMMAND],
            is_code=is_code,
            path=path,
            arguments=text_of(call),
        )

    def _worked(self, index: int, outcome: Outcome, role: Role) -> bool | None:
        worked = _WORKED.get(outcome)
        if worked and role is Role.WRITE:
            head = self._messages[index].text[:_REFUSAL_REACH].lower()
            is_refused = not head.startswith("{") and any(word in head for word in _REFUSED)
            return None if is_refused else True
        return worked


def _may_have_written(deed: Deed) -> bool:
    """May it have? Of a command that was cut, what it did at its end is not known."""
    if deed.role is Role.READ or (deed.role is Role.WRITE and deed.worked is False):
        return False
    is_whole = not deed.is_code and len(deed.command) < _EXAMINED_COMMAND
    return deed.role is not Role.RUN or not (is_whole and only_looks(deed.command))


@lru_cache(maxsize=1_024)
def _named(tool: str) -> tuple[frozenset[str], Role]:
    """Give the words of a tool's name, without the server it comes from, and what they say it is for."""
    name = tool[-_LONGEST_NAME:].rpartition(_END_OF_NAMESPACE)[2]
    words = frozenset(word.lower() for word in _WORD.findall(name))
    for role, known in ((Role.WRITE, _WRITING), (Role.RUN, _RUNNING), (Role.READ, _READING)):
        if not known.isdisjoint(words):
            return words, role
    return words, Role.UNKNOWN


def _read(call: ToolCall | None) -> _Arguments:
    arguments = call.arguments if call is not None else None
    try:
        if isinstance(arguments, str):
            return msgspec.json.decode(arguments, type=_Arguments)
        return msgspec.convert(arguments, _Arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _NOTHING_GIVEN


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def same_file(path: str, claimed: str) -> bool:
    """May both name one file? The last part must be the same; an answer may leave out folders."""
    return basename(path) == basename(claimed)
