"""The record of a session's tool calls, as far as claims need it: what could write, what ran, what it ran on.

Made only for a session whose answer claims something, from the calls that the analysis has seen go by. A tool of which
is not known what it is for may have done anything, so that nothing is told from its absence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, wraps
from typing import Any, Final, TypeVar

from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.tool_calls import CHANGING, HARMLESS, CallView, Purpose, tool_of
from grader_daemon.analysis.tool_calls.edits import Edit
from grader_daemon.analysis.tool_calls.plain_text import stated_code
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.session import USER, Message, Session

MOST_RUNS = 1_000
"""Calls that are looked at, the last of a session. Of a longer one nothing is told from what is absent."""

_EXAMINED_COMMAND = 2_000
_OF_SERVER: Final = "mcp"
_REFUSED: Final = (
    *("error", "fail", "no replacement", "not found", "did not match", "no match", "invalid", "does not exist"),
    *("cannot ", "could not"),
)
_REFUSAL_REACH = 80
_OUTCOMES: Final = ('"exit_code"', '"returncode"', '"success"', '"error"', '"status"', '"exitCode"')
_FIELDS_REACH: Final = 400
_WORKED: Final = {
    CallStatus.SUCCESS: True,
    CallStatus.FAILURE: False,
    CallStatus.REFUSED: False,
    CallStatus.NOT_EXECUTED: False,
    CallStatus.GUARDED: False,
}
"""Success of a call by its status; other statuses leave it unknown."""

_LOOKING_PROGRAMS = """
    cat cd cmp cut df diff dirname du echo egrep env fgrep file find fmt fold free grep head hexdump hostname id jq less
    ls md5sum more nl od printf ps pwd pytest readlink realpath rg sed sha256sum sleep sort stat strings tail test tr
    tree true type uname uniq wc which whoami xxd [ awk
"""
_LOOKING: Final = frozenset(_LOOKING_PROGRAMS.split())
_GIT_LOOKING: Final = frozenset({"blame", "branch", "diff", "grep", "log", "ls-files", "rev-parse", "show", "status"})
_OF_CLUSTERS: Final = frozenset({"get", "describe", "logs", "top", "history", "explain", "version"})
_OF_CONTAINERS: Final = frozenset({"ps", "images", "logs", "inspect", "stats", "version", "info", "port", "ls"})
_ASKING: Final = {
    **dict.fromkeys(("kubectl", "oc"), _OF_CLUSTERS),
    "helm": frozenset({"list", "ls", "status", "history", "get", "version"}),
    **dict.fromkeys(("docker", "podman"), _OF_CONTAINERS),
    **dict.fromkeys(("terraform", "tofu"), frozenset({"plan", "validate", "show", "output", "version"})),
    "systemctl": frozenset({"status", "is-active", "is-enabled", "list-units", "list-timers", "cat", "show"}),
    "crontab": frozenset({"-l"}),
    "journalctl": frozenset({"-u", "-n", "-b", "-k", "--since", "--no-pager"}),
    "gh": frozenset({"list", "view", "status", "checks", "diff"}),
    **dict.fromkeys(("pip", "pip3"), frozenset({"list", "show", "freeze", "--version"})),
}
"""Programs that only look with one of these words."""

_DOING_WORDS = """
    apply create delete patch scale set edit replace annotate label run exec cp rm rmi expose drain cordon uncordon
    taint restart undo pause resume attach start stop kill pull push build tag commit load import save prune up down
    destroy state taint workspace force-unlock enable disable reload mask daemon-reload merge close reopen install
    upgrade rollback uninstall
"""
_DOING: Final = frozenset(_DOING_WORDS.split())
"""Words with which they may do more."""

_RUNS_ANOTHER: Final = frozenset({"xargs", "timeout"})
_CHANGING = late_pattern(r"(?<![<=-])>|\$\(|`|<<|\bsed\b[^|;&]{0,80} -\w{0,4}i|-exec|-delete|-ok\b|\btee\b|\bsystem\(")
_CHANGING_SIGNS: Final = (">", "$(", "`", "<<", "sed", "-exec", "-delete", "-ok", "tee", "system(")
"""One of these stands in every command that `_CHANGING` finds."""

_SEPARATOR = late_pattern(r"&&|\|\||[|;&\n]")
_REDIRECTED = late_pattern(r"\d?>&\d|[&\d]?>\s*/dev/null")
_QUOTED = late_pattern(r"'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"")
_DATABASES: Final = ("psql", "mysql", "sqlite3", "bq", "duckdb", "clickhouse-client")
_QUERY: Final = r"\s{0,9}(?i:select|show|explain|describe|\\d)\b"
_QUERIED = late_pattern(
    rf"\b(?:{'|'.join(_DATABASES)})\b[^|;&\n'\"]{{0,120}}"
    rf"(?:'{_QUERY}[^';]{{0,1500}};?\s{{0,9}}'|\"{_QUERY}[^\";]{{0,1500}};?\s{{0,9}}\")"
)
"""A query in a command line that changes nothing."""

_SPOKEN = late_pattern(r"\b(?:echo|printf) (?:-\w{1,3} )?(?:'[^']{0,2000}+'|\"(?:[^\"\\]|\\[\s\S]){0,2000}+\")")
_INTO_FILE = late_pattern(r"\b(?:cat|tee)\b[^\n<]{0,200}<<-?\s{0,4}['\"]?(\w{1,20})['\"]?[^\n]{0,200}\n")
"""The line before text that is shown or written to a file, and not run by that; the group ends the text."""

_MAY_RUN: Final = (Purpose.RUN, Purpose.CHANGE, Purpose.UNKNOWN)

_Found = TypeVar("_Found")
Note = tuple[int, CallView, CallStatus]
"""One tool result as the analysis saw it: its place, its call, how it went."""


class ToolRun:
    """One call with its result. Most claims are about few calls, so what is asked of one is found out then, once."""

    def __init__(self, note: Note, result: Message, *, is_reported: bool) -> None:
        """`is_reported`: the agent itself notes how it went."""
        self.index, self._call, self._status = note
        self._result = result
        self._is_reported = is_reported
        self._purpose: Purpose | None = None
        self.known: dict[object, Any] = {}
        """Findings about it of functions that are marked with `once`."""

    @property
    def words(self) -> frozenset[str]:
        """Words of the tool's name."""
        return self._call.words

    @property
    def arguments(self) -> str:
        """Arguments of the call, as they stand in the file."""
        return self._call.text

    @property
    def purpose(self) -> Purpose:
        """Purpose of the tool."""
        if self._purpose is None:
            self._purpose = self._call.purpose
        return self._purpose

    @property
    def changes_nothing(self) -> bool:
        """True if its tool only looks."""
        return self.purpose in HARMLESS

    @cached_property
    def worked(self) -> bool | None:
        """True if the call did what it is there for; None if that is not known."""
        worked = _WORKED.get(self._status)
        if worked and self.purpose in CHANGING and not self._is_reported:
            head = self._result.text[:_REFUSAL_REACH].lower()
            return None if not head.startswith("{") and holds_any(head, _REFUSED) else True
        return worked

    @property
    def tells_its_end(self) -> bool:
        """True if the exit code or the outcome stands beside what it answered: then silence tells that it worked."""
        text = self._result.text
        if self._is_reported or stated_code(text) is not None:
            return True
        return text.startswith("{") and holds_any(text[-_FIELDS_REACH:], _OUTCOMES)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The files that an editor was given."""
        return () if self.changes_nothing else self._call.paths

    @property
    def seen_paths(self) -> tuple[str, ...]:
        """The files that a tool was given, also one that only looks."""
        return self._call.paths

    @property
    def edits(self) -> Iterator[Edit]:
        """The edits of files that it asked for."""
        return self._call.edits

    @cached_property
    def command(self) -> str:
        """Beginning of what a shell or an interpreter was given; "" if the tool only looks, or edits."""
        named = tool_of(self._call.tool or "").purpose
        is_for_editor = named in HARMLESS or (named in CHANGING and self._call.paths)
        return "" if is_for_editor else self._call.command[:_EXAMINED_COMMAND]

    @property
    def is_code(self) -> bool:
        """True for an interpreter."""
        return bool(self.command) and self._call.is_code

    def ending(self, characters: int) -> str:
        """Return the end of what it answered, with the line breaks that JSON escapes."""
        return self._result.text[-characters:].replace("\\n", "\n")


def once(find: Callable[[ToolRun], _Found]) -> Callable[[ToolRun], _Found]:
    """Have a function find out about each call once: claims, edits and checks ask it of the same calls."""

    @wraps(find)
    def found(run: ToolRun) -> _Found:
        known = run.known
        if find not in known:
            known[find] = find(run)
        answer: _Found = known[find]
        return answer

    return found


class CallRecord:
    """The calls of a session, in their order, with what claims, checks and recall find out about them, each once.

    `is_whole` says that no call is missing: only then can be told from it what was never done.
    """

    def __init__(self, session: Session, notes: Sequence[Note], *, final_index: int | None = None) -> None:
        """`notes` are all calls of the session that have a result; `final_index` is the place of its last answer."""
        self.messages = session.messages
        self.answer_at = len(session.messages) - 1 if final_index is None else final_index
        self.notes = notes
        self.is_whole = not session.compacted and len(notes) <= MOST_RUNS
        self._reported = session.reported

    @cached_property
    def runs(self) -> list[ToolRun]:
        """The calls, in their order."""
        messages, reported = self.messages, self._reported
        return [ToolRun(note, messages[note[0]], is_reported=note[0] in reported) for note in self.notes[-MOST_RUNS:]]

    @cached_property
    def requests(self) -> list[str]:
        """Texts of the people, in their order."""
        return [message.text for message in self.messages if message.role == USER]

    def person_spoke_after(self, run: ToolRun) -> bool:
        """Return whether a person spoke since a call: they may have done what it did not, or want something else."""
        return run.index < self._last_spoken

    @cached_property
    def _last_spoken(self) -> int:
        """Place of the last message of a person; -1 without one."""
        return max((index for index, message in enumerate(self.messages) if message.role == USER), default=-1)

    @property
    def answer(self) -> str:
        """Text of the last answer, which claims. A call that hands the work in may stand beside it."""
        return self.messages[self.answer_at].text

    @cached_property
    def has_shell(self) -> bool:
        """True if a shell or an interpreter was given a command."""
        return any(each.command for each in self.runs if each.purpose is Purpose.RUN)

    @cached_property
    def could_act(self) -> bool:
        """True if any call was made that may have changed anything."""
        return not self.is_whole or not all(map(_looks, self.runs))

    @cached_property
    def could_write(self) -> bool:
        """True if a call may have written a file: not one that was refused, nor commands that only look."""
        return not self.is_whole or any(map(may_have_written, self.runs))

    @cached_property
    def made_up(self) -> bool:
        """True if a program may have written files under names of its own."""
        return not self.is_whole or any(may_have_written(each) and not each.paths for each in self.runs)

    @cached_property
    def reaches_out(self) -> bool:
        """True if a tool of another server was called, which may do more than its name says."""
        return any(
            (call.tool or "").startswith(_OF_SERVER) and call.purpose not in HARMLESS for _, call, _ in self.notes
        )

    @cached_property
    def has_tried(self) -> bool:
        """True if the agent changed anything, or tried to. Who did not may tell of what others did."""
        return self.could_write or any(each.purpose is Purpose.WRITE for each in self.runs)

    @cached_property
    def could_run(self) -> bool:
        """True if anything may have been run. Without any call, another program may have run what is shown."""
        return (
            not (self.runs and self.is_whole)
            or self.reaches_out
            or any(each.purpose in _MAY_RUN or each.command for each in self.runs)
        )

    def mentions(self, name: str) -> bool:
        """Return whether a name stands in any call or result. Where calls are missing, it may."""
        return not self.is_whole or any(
            name in call.text or name in self.messages[index].text for index, call, _ in self.notes
        )


def written_paths(notes: Sequence[Note]) -> Iterator[str]:
    """Yield the files that editors wrote, as often as they did, the last one first."""
    for _, call, status in reversed(notes):
        if status is CallStatus.SUCCESS and call.effect is Purpose.WRITE:
            yield from call.paths


@once
def may_have_written(run: ToolRun) -> bool:
    """Return whether a call may have written. The end of a command that was cut is not known."""
    if run.changes_nothing or (run.purpose in CHANGING and run.worked is False):
        return False
    return run.purpose is not Purpose.RUN or not _command_looks(run)


def _looks(run: ToolRun) -> bool:
    """Return whether a call only looks, by its tool or by its command."""
    return run.changes_nothing or (bool(run.command) and _command_looks(run))


def _command_looks(run: ToolRun) -> bool:
    """Return whether the command of a call is one of a shell that is known to its end, and only looks."""
    return not run.is_code and len(run.command) < _EXAMINED_COMMAND and only_looks(run.command)


def same_file(path: str, claimed: str) -> bool:
    """Return whether both may name one file. The last part must be the same; an answer may leave out folders."""
    return basename(path) == basename(claimed)


def without_spoken(command: str) -> str:
    """Return a command without the texts that it only prints."""
    return _SPOKEN.sub("", command)


def without_written(command: str) -> str:
    """Return a command without the text that it shows or writes to files; one without an end goes to the end."""
    kept, at = [], 0
    while found := _INTO_FILE.search(command, at):
        kept.append(command[at : found.end()])
        end = command.find(f"\n{found[1]}", found.end() - 1)
        at = len(command) if end < 0 else end + 1 + len(found[1])
    return "".join((*kept, command[at:]))


def only_looks(command: str) -> bool:
    """Return whether every program in a shell command only reads, with no output led into a file."""
    plain = _REDIRECTED.sub("", command) if ">" in command else command
    plain = _QUERIED.sub("true", plain) if holds_any(plain, _DATABASES) else plain
    plain = _QUOTED.sub("q", plain)
    changes = holds_any(plain, _CHANGING_SIGNS) and _CHANGING.search(plain)
    return not changes and all(map(_part_looks, _SEPARATOR.split(plain)))


def _part_looks(part: str) -> bool:
    words = part.split()
    if not words:
        return True
    name = words[0].rpartition("/")[2] or words[0]
    if name == "git":
        return next((word in _GIT_LOOKING for word in words[1:] if word[0] != "-"), False)
    if name in _ASKING:
        given = set(words[1:])
        return not given.isdisjoint(_ASKING[name]) and given.isdisjoint(_DOING)
    if name in _RUNS_ANOTHER:
        return any(word in _LOOKING for word in words[1:])
    return name in _LOOKING
