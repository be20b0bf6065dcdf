"""The record of a session's tool calls, as far as claims need it: what could write, what ran, what it ran on.

Made only for a session whose answer claims something, from the calls that the analysis has seen go by. A tool of which
is not known what it is for may have done anything, so that nothing is told from its absence.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.tool_calls import CHANGING, HARMLESS, CallView, Purpose
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Message

MOST_RUNS = 1_000
"""Calls that are looked at, the last of a session. Of a longer one nothing is told from what is absent."""

_EXAMINED_COMMAND = 2_000
_OF_SERVER: Final = "mcp"
_REFUSED: Final = (
    *("error", "fail", "no replacement", "not found", "did not match", "no match", "invalid", "does not exist"),
)
_REFUSAL_REACH = 80
_WORKED: Final = {
    CallStatus.SUCCESS: True,
    CallStatus.FAILURE: False,
    CallStatus.REFUSED: False,
    CallStatus.NOT_EXECUTED: False,
    CallStatus.GUARDED: False,
}
"""By status, whether the call did what it is there for; of the others it is not known."""

_LOOKING_PROGRAMS = """
    cat cd cmp cut df diff dirname du echo egrep env fgrep file find fmt fold free grep head hexdump hostname id jq less
    ls md5sum more nl od printf ps pwd pytest readlink realpath rg sed sha256sum sleep sort stat strings tail test tr
    tree true type uname uniq wc which whoami xxd [ awk
"""
_LOOKING: Final = frozenset(_LOOKING_PROGRAMS.split())
_GIT_LOOKING: Final = frozenset({"blame", "branch", "diff", "grep", "log", "ls-files", "rev-parse", "show", "status"})
_RUNS_ANOTHER: Final = frozenset({"xargs", "timeout"})
_CHANGING = re.compile(r"(?<![<=-])>|\$\(|`|<<|\bsed\b[^|;&]{0,80} -\w{0,4}i|-exec|-delete|-ok\b|\btee\b|\bsystem\(")
_SEPARATOR = re.compile(r"&&|\|\||[|;&\n]")
_REDIRECTED = re.compile(r"\d?>&\d|[&\d]?>\s*/dev/null")
_QUOTED = re.compile(r"'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"")

Note = tuple[int, CallView, CallStatus]
"""One tool result as the analysis saw it: its place, its call, how it went."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call with its result. `worked` is None when that is not known.

    `purpose` is what the tool is for and `words` those of its name. `command` is what a shell or interpreter was given
    (`is_code`: an interpreter), `paths` the files that an editor was given. `arguments` is what the call says, as it
    stands in the file.
    """

    index: int
    words: frozenset[str]
    purpose: Purpose
    worked: bool | None
    command: str
    is_code: bool
    paths: tuple[str, ...]
    arguments: str

    @property
    def changes_nothing(self) -> bool:
        """Is its tool there for looking only?"""
        return self.purpose in HARMLESS


class ClaimEvidence:
    """What a session's calls were, in their order.

    `is_whole` says that no call is missing: only then can be told from it what was never done.
    """

    def __init__(
        self, notes: Sequence[Note], messages: Sequence[Message], *, is_whole: bool, reported: Container[int] = ()
    ) -> None:
        """`reported` are the places of the results of which the agent itself notes how they went."""
        self._messages = messages
        self._reported = reported
        self.is_whole = is_whole and len(notes) <= MOST_RUNS
        self._notes = notes

    @cached_property
    def runs(self) -> list[ToolRun]:
        """The calls, in their order."""
        return [self._run(note) for note in self._notes[-MOST_RUNS:]]

    @cached_property
    def writes(self) -> list[ToolRun]:
        """The calls that an editor was given a file by."""
        return [each for each in self.runs if each.purpose is Purpose.WRITE and each.paths]

    @cached_property
    def has_shell(self) -> bool:
        """Was a shell or an interpreter given a command?"""
        notes = self._notes[-MOST_RUNS:]
        return any(call.command for _, call, _ in notes if call.purpose is Purpose.RUN)

    @cached_property
    def could_act(self) -> bool:
        """Was any call made that may have changed anything?"""
        return not self.is_whole or not all(each.changes_nothing for each in self.runs)

    @cached_property
    def could_write(self) -> bool:
        """May a call have written a file? One that was refused did not, nor did commands that only look."""
        return not self.is_whole or any(map(may_have_written, self.runs))

    @cached_property
    def made_up(self) -> bool:
        """May a program have written files under names of its own?"""
        return not self.is_whole or any(may_have_written(each) and not each.paths for each in self.runs)

    @cached_property
    def reaches_out(self) -> bool:
        """Was a tool of another server called, which may do more than its name says?"""
        return any(
            (call.tool or "").startswith(_OF_SERVER) and call.purpose not in HARMLESS for _, call, _ in self._notes
        )

    def mentions(self, name: str) -> bool:
        """Does a name stand in any call or result? Where calls are missing, it may."""
        return not self.is_whole or any(
            name in call.text or name in self._messages[index].text for index, call, _ in self._notes
        )

    def ending(self, run: ToolRun, characters: int) -> str:
        """Return the end of what a call answered, with the line breaks that JSON escapes."""
        return self._messages[run.index].text[-characters:].replace("\\n", "\n")

    def _run(self, note: Note) -> ToolRun:
        index, call, status = note
        purpose = call.purpose
        paths: tuple[str, ...] = ()
        command = ""
        if purpose not in HARMLESS:
            paths = call.paths
            command = "" if paths and purpose is Purpose.WRITE else call.command
        return ToolRun(
            index=index,
            words=call.words,
            purpose=purpose,
            worked=self._worked(index, status, purpose),
            command=command[:_EXAMINED_COMMAND],
            is_code=bool(command) and call.is_code,
            paths=paths,
            arguments=call.text,
        )

    def _worked(self, index: int, status: CallStatus, purpose: Purpose) -> bool | None:
        worked = _WORKED.get(status)
        if worked and purpose in CHANGING and index not in self._reported:
            head = self._messages[index].text[:_REFUSAL_REACH].lower()
            is_refused = not head.startswith("{") and any(word in head for word in _REFUSED)
            return None if is_refused else True
        return worked


def may_have_written(run: ToolRun) -> bool:
    """May it have? Of a command that was cut, what it did at its end is not known."""
    if run.changes_nothing or (run.purpose in CHANGING and run.worked is False):
        return False
    is_whole = not run.is_code and len(run.command) < _EXAMINED_COMMAND
    return run.purpose is not Purpose.RUN or not (is_whole and only_looks(run.command))


def same_file(path: str, claimed: str) -> bool:
    """May both name one file? The last part must be the same; an answer may leave out folders."""
    return basename(path) == basename(claimed)


def only_looks(command: str) -> bool:
    """Does every program in a shell command only read, with no output led into a file?"""
    plain = _QUOTED.sub("q", _REDIRECTED.sub("", command))
    return not _CHANGING.search(plain) and all(map(_part_looks, _SEPARATOR.split(plain)))


def _part_looks(part: str) -> bool:
    words = part.split()
    if not words:
        return True
    name = words[0].rpartition("/")[2] or words[0]
    if name == "git":
        return next((word in _GIT_LOOKING for word in words[1:] if word[0] != "-"), False)
    if name in _RUNS_ANOTHER:
        return any(word in _LOOKING for word in words[1:])
    return name in _LOOKING
