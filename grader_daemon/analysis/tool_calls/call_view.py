"""One call of a tool: what it does, and to what.

Most calls are asked nothing but their text; a session of any length costs little. What is asked for is found out once:
the arguments are decoded at the first question about them, and only the few that say what the call does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from grader_daemon.analysis.shell import Line, as_command, broken_command, command_family, read_line
from grader_daemon.analysis.tool_calls.edits import (
    PATCH,
    Edit,
    edits_in_arguments,
    edits_in_command,
    edits_in_patch,
    is_patch,
    paths_in_patch,
)
from grader_daemon.analysis.tool_calls.tools import CHANGING, Purpose, tool_of
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.session import ToolCall

_EXAMINED_COMMAND = 4_000
_HEAD = 300
_LONGEST_WORD = 40
_WRITING_IN_SHELL = re.compile(
    r"(?<![0-9&<>=-])>{1,2}\s{0,4}(?!/dev/|&)[\w./~\"'$-]|\bsed\b[^|;&\n]{0,80}\s-i|\btee\s|\bgit apply\b|\bpatch\s-"
)
_TEXTS: Final = ('"content"', '"new_str', '"old_str', '"patch"')
_COMMANDS: Final = ('"command', '"cmd"', '"code"', '"script"')
_SHELL_COMMANDS: Final = _COMMANDS[:2]
_ESCAPES: Final = ('"!', '"%cd ', '"%%bash')
_ESCAPE = re.compile(r"^(?:!|%(?=cd )|%%bash[^\n]{0,80})", re.MULTILINE)
_SCRIPTED: Final = ("sed -i", "| tee ", ".write(", ".to_csv(", ".dump(", "git apply", "patch -p")
"""Signs in commands and code that write files without output led into one."""

_INTO_FILE = re.compile(
    r"(?<![0-9&<>=-])>{1,2}\s?[\"'\\]{0,2}(?!/dev/|&)[$~]?(?:[\w{}.-]{0,40}/|[\w{}-]{1,40}\.[a-zA-Z])"
)
"""Output that is led into a file: after the sign stands a path, not the other side of a comparison."""

_QUERIES: Final = ("SELECT ", "select ")
_MOST_LISTED: Final = 100
_VERBS: Final = {Purpose.WRITE: "edit", Purpose.READ: "read"}


class _Arguments(msgspec.Struct, frozen=True):
    """The arguments that say what a call does; all others are skipped, unbuilt."""

    command: object = None
    cmd: object = None
    commands: object = None
    code: object = None
    patch: object = None
    patch_text: object = None
    patch_text_of_opencode: object = msgspec.field(name="patchText", default=None)
    input: object = None
    diff: object = None
    path: object = None
    file_path: object = None
    filepath: object = None
    filename: object = None
    file: object = None
    target_file: object = None
    notebook_path: object = None
    directory: object = None
    file_path_of_opencode: object = msgspec.field(name="filePath", default=None)
    absolute_path: object = None
    dir_path: object = None
    files: object = None
    file_paths: object = None
    paths: object = None


_NO_ARGUMENTS = _Arguments()
_DECODER: Final = msgspec.json.Decoder(_Arguments)


class Operation(NamedTuple):
    """An operation: who acts, how, and on what (None: not known), so that a repetition is recognised.

    Reading and writing a file is the same by whatever tool; a shell command is known by its family; any other call by
    its tool.
    """

    actor: str
    family: str | None = None
    target: str | None = None


class CallView(msgspec.Struct, eq=False, gc=False):
    """One call of `tool`, which its result may know by another name than the call; no call where the file has none.

    `arguments` are what it was given; None where the file does not say.
    """

    tool: str | None
    arguments: str | dict[str, object] | None
    _read: _Arguments | None = None
    _written: str | None = None
    _does: Purpose | None = None
    _shell: str | UnsetType | None = UNSET
    _paths: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The arguments as JSON, as they stand in the file; "" without any."""
        arguments = self.arguments
        if isinstance(arguments, str):
            return arguments
        if self._written is None:
            self._written = msgspec.json.encode(arguments).decode() if arguments is not None else ""
        return self._written

    @property
    def words(self) -> frozenset[str]:
        """Words of the tool's name."""
        return tool_of(self.tool or "").words

    @property
    def purpose(self) -> Purpose:
        """Purpose of the tool in this call: an editor may only view, and a change of a file writes it."""
        named = tool_of(self.tool or "").purpose
        if named not in CHANGING or self.path is None:
            return named
        command = self._given.command
        told = tool_of(command[:_LONGEST_WORD]).purpose if isinstance(command, str) else Purpose.WRITE
        return Purpose.READ if told is Purpose.READ else Purpose.WRITE

    @property
    def effect(self) -> Purpose:
        """Effect of the call. The beginning of its arguments says it better than the tool: a command may write."""
        if self._does is None:
            self._does = self._effect()
        return self._does

    def _effect(self) -> Purpose:
        named, head = tool_of(self.tool or "").purpose, self.text[:_HEAD]
        if named is Purpose.HAND_IN:
            return named
        writes = named is Purpose.WRITE
        if named is not Purpose.RUN and (holds_any(head, _TEXTS) or (writes and '"view"' not in head)):
            return Purpose.WRITE
        if named is Purpose.RUN or (not writes and holds_any(head, _COMMANDS)):
            return Purpose.WRITE if _writes_files(head) else Purpose.RUN
        return named if named in _EFFECTS else Purpose.READ

    @property
    def shell(self) -> str | None:
        """The shell command, also out of JSON that is broken; None when there is none."""
        if self._shell is UNSET:
            self._shell = self._shell_command()
        return self._shell

    def _shell_command(self) -> str | None:
        arguments = self.arguments
        if not isinstance(arguments, str):
            return as_command(_line_in(self._given)) or self._cell_command
        if not holds_any(arguments, _SHELL_COMMANDS) or arguments.startswith(PATCH):
            return self._cell_command
        given = self._given
        return broken_command(arguments) if given is _NO_ARGUMENTS else as_command(_line_in(given))

    @property
    def family(self) -> str | None:
        """The program that the shell command runs, with its subcommand: "git push"; None without a command."""
        shell = self.shell
        return command_family(shell) if shell else None

    @property
    def line(self) -> Line | None:
        """The shell command as the programs that it runs; None without a command."""
        shell = self.shell
        return read_line(shell) if shell else None

    @property
    def writes_in_shell(self) -> bool:
        """True if its shell command writes a file: into it, in place, or by a patch."""
        return _WRITING_IN_SHELL.search((self.shell or "")[:_EXAMINED_COMMAND]) is not None

    @property
    def command(self) -> str:
        """Whole text that a shell, an interpreter or a cell was given; "" without, and where the JSON is broken."""
        given = self._given
        return as_command(_line_in(given) or given.code) or self._cell_command or ""

    @property
    def is_code(self) -> bool:
        """True if it was given to an interpreter."""
        given = self._given
        return bool(given.code) and not _line_in(given)

    @property
    def path(self) -> str | None:
        """The file or folder that the call names; of several the first."""
        paths = self.paths
        return paths[0] if paths else None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that a patch or a list names, else the file or folder that the call names."""
        if self._paths is None:
            self._paths = self._paths_named()
        return self._paths

    def _paths_named(self) -> tuple[str, ...]:
        for named in filter(None, msgspec.structs.astuple(self._given)[_FIRST_PATH:]):
            paths = _paths_in(named)
            if paths:
                return paths
        patch = self._patch
        return () if patch is None else paths_in_patch(patch)

    @property
    def _patch(self) -> str | None:
        """The patch or diff that names the files to change, given alone or by a name."""
        if isinstance(self.arguments, str) and self.arguments.startswith(PATCH):
            return self.arguments
        named = msgspec.structs.astuple(self._given)[_FIRST_PATCH:_FIRST_PATH]
        return next((text for text in named if isinstance(text, str) and is_patch(text)), None)

    @property
    def edits(self) -> Iterator[Edit]:
        """The edits of files that it asks for, as far as its arguments tell them."""
        patch = self._patch or _patch_for_program(self._given.command)
        if patch is not None:
            return edits_in_patch(patch)
        by_texts = () if self.path is None else edits_in_arguments(self.path, _decoded(self.arguments))
        return chain(by_texts, edits_in_command(self.shell or ""))

    def operation(self, actor: str) -> Operation:
        """Return what is done, by the name that the tool is known by."""
        path = self.path
        verb = _VERBS.get(self.purpose) if path is not None else None
        if path is None or verb is None:
            return Operation(actor, self.family)
        return Operation(verb, None, path.replace("\\", "/").rstrip("/").rpartition("/")[2])

    @property
    def _cell_command(self) -> str | None:
        """The shell commands of a notebook's cell that begins with one: ``!pip install x``."""
        head = self.text[:_LONGEST_WORD]
        if not holds_any(head, _ESCAPES) or tool_of(self.tool or "").purpose is not Purpose.RUN:
            return None
        given = _decoded(self.arguments)
        cell = next(iter(given.values()), None)
        return _ESCAPE.sub("", cell) if isinstance(cell, str) and len(given) == 1 else None

    @property
    def _given(self) -> _Arguments:
        if self._read is None:
            self._read = _arguments_in(self.arguments)
        return self._read


def view_of(call: ToolCall) -> CallView:
    """Return what a message says of a call."""
    function = call.function
    return CallView(None, None) if function is None else CallView(function.name, function.arguments)


def _line_in(given: _Arguments) -> object:
    """Return the shell command: a line, or its words; of a list of lines one that fails where one of them does."""
    if isinstance(given.commands, list) and not (given.command or given.cmd):
        return " && ".join(filter(None, map(_line_of, given.commands[:_MOST_LISTED])))
    return given.command or given.cmd or given.commands


def _line_of(command: object) -> str | None:
    """Return one command of a list: a line, or an object with the program and its words."""
    if isinstance(command, dict):
        words = command.get("args")
        line, more = as_command(command.get("command")), as_command(words) if isinstance(words, list) else None
        return f"{line} {more}" if line and more else line
    return as_command(command)


def _patch_for_program(command: object) -> str | None:
    """Return the patch that Codex gives a program of that name as its only word."""
    patch = command[-1] if isinstance(command, list) and command[:1] == ["apply_patch"] else None
    return patch if isinstance(patch, str) else None


def _paths_in(named: object) -> tuple[str, ...]:
    """Return the paths in an argument: a path, or a list of paths or of objects that have one."""
    if not isinstance(named, list):
        return (named,) if isinstance(named, str) else ()
    each = (one.get("path") if isinstance(one, dict) else one for one in named[:_MOST_LISTED])
    return tuple(path for path in each if path and isinstance(path, str))


def _writes_files(head: str) -> bool:
    """Return whether a command or code, by its beginning, writes a file; a query compares, and writes none."""
    if holds_any(head, _QUERIES):
        return False
    return holds_any(head, _SCRIPTED) or (">" in head and _INTO_FILE.search(head) is not None)


def _arguments_in(arguments: str | dict[str, object] | None) -> _Arguments:
    try:
        if isinstance(arguments, str):
            return _DECODER.decode(arguments)
        return msgspec.convert(arguments, _Arguments) if arguments else _NO_ARGUMENTS
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _NO_ARGUMENTS


def _decoded(arguments: str | dict[str, object] | None) -> dict[str, object]:
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}


_EFFECTS: Final = frozenset({Purpose.RUN, Purpose.CHANGE})
_FIRST_PATCH: Final = _Arguments.__struct_fields__.index("patch")
_FIRST_PATH: Final = _Arguments.__struct_fields__.index("path")
