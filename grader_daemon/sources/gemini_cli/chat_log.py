"""The records of Gemini CLI to a session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.limits import LONGEST_NAME
from grader_daemon.domain.session import (
    ASSISTANT,
    USER,
    Ending,
    FunctionCall,
    Message,
    Session,
    SessionKind,
    ToolCall,
    Usage,
    usage_by_model,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.decoding import fresh_tokens, name_of, token_count, utc
from grader_daemon.sources.gemini_cli.chat_records import Call, Entry, Head, Parts, Record, Rewind, Set, Tokens
from grader_daemon.sources.gemini_cli.tool_results import answer_in, parts_of, read_result, text_of
from grader_daemon.sources.messages_so_far import Conversation

NAME = "gemini-cli"
"""Name of the source and of the agent, and of the format of its sessions."""

_USER, _GEMINI = "user", "gemini"
_CONTEXT = "<session_context>"
_SUMMARY = "<state_snapshot>"
_LOOP = "System: Potential loop detected"
_INJECTED = (
    _CONTEXT,
    _SUMMARY,
    _LOOP,
    "System: Please continue.",
    "This is the Gemini CLI. We are setting up the context",
)
"""Beginnings of messages that Gemini CLI writes in the name of a person."""

_FOLDER = re.compile(
    rf"(?:\*\*Workspace Directories:\*\*\n\s{{0,9}}- |working in the directory: )([^\n]{{1,{LONGEST_NAME}}})\n"
)
_EXAMINED = 4_000
_UNTOLD = ToolCall()
"""Stand-in for a call without a record, which comes only once the call has ended: what a model wrote that is no text.
"""

_FINISHED = frozenset(("success", "error", "cancelled"))


class Log:
    """The content of the entries so far."""

    def __init__(self) -> None:
        self.head = Head()
        self._records: dict[str, Record] = {}
        self._used: dict[str, Record] = {}
        """Answers by their ids, those too that were taken back: their tokens were used."""

        self._rewound: set[str] = set()
        """Ids of the records behind which something was taken back; "" is the beginning."""

        self._looped = False
        self._newest: datetime | None = None

    def add(self, entry: Entry) -> None:
        """Add the next entry."""
        match entry:
            case Head():
                self._add_head(entry)
            case Set(to=head):
                self._add_head(head)
            case Rewind(to=record):
                self._rewind(record)
            case Record():
                self._add_record(entry)

    def session(self, *, session_id: str, path: str, parent: str | None) -> Session:
        """Return what they make, without messages where nothing was said.

        Args:
            session_id: what it is called if no entry says that.
            path: where it was read.
            parent: the session that had it begun.
        """
        told = _Conversation(self._rewound)
        for record in self._records.values():
            told.add(record)
        head = self.head
        is_sub_agent = head.kind == "subagent" or parent is not None
        return Session(
            session_id=head.session_id or session_id,
            file=path,
            format=NAME,
            messages=tuple(told.messages),
            message_times=tuple(told.times),
            reported=told.reported,
            ending=Ending(SessionState.INTERRUPTED, "loop detected", EndingKind.LIMIT) if self._looped else None,
            taken_back=tuple(told.taken_back),
            model=next((record.model for record in reversed(self._records.values()) if record.model), None),
            project=name_of((head.directories or (told.project,))[0]),
            parent=parent,
            kind=SessionKind.SUB_AGENT if is_sub_agent else SessionKind.MAIN,
            agent=NAME,
            usage=_usage(self._used.values()),
            started_at=utc(head.start_time),
            updated_at=max(filter(None, (utc(head.last_updated), self._newest)), default=None),
            compacted=told.compacted,
            named_after_id=session_id in (head.session_id or session_id),
        )

    def _add_head(self, head: Head) -> None:
        known = {name: value for name, value in msgspec.structs.asdict(head).items() if value is not None}
        records = known.pop("messages", None)
        self.head = msgspec.structs.replace(self.head, **known)
        if records is not None:
            self._records = {}
            for record in records:
                self._add_record(record)

    def _add_record(self, record: Record) -> None:
        name = record.id or f"#{len(self._records)}"
        written_at = record.written_at
        if written_at is not None and (self._newest is None or written_at > self._newest):
            self._newest = written_at
        self._records[name] = record
        if record.type == _GEMINI:
            self._looped = False
            if record.tokens is not None:
                self._used[name] = record
        elif record.type == _USER:
            text = text_of(record.content)
            self._looped = text.startswith(_LOOP) or (self._looped and not text)

    def _rewind(self, to: str) -> None:
        if to not in self._records:
            return
        while self._records.popitem()[0] != to:
            pass
        self._rewound.add(next(reversed(self._records), ""))


class _Conversation(Conversation):
    """Records as messages."""

    def __init__(self, rewound: set[str]) -> None:
        super().__init__()
        self._rewound = rewound
        self._called: set[str] = set()
        """Ids of calls whose result is still to come."""

        self.taken_back = [0] if "" in rewound else []
        self.project: str | None = None
        self.compacted = False

    def add(self, record: Record) -> None:
        """Add a record; what the machinery wrote is left out."""
        if record.type == _USER:
            self._add_user(record)
        elif record.type == _GEMINI:
            self._add_answer(record)
        if record.id in self._rewound:
            self.taken_back.append(len(self.messages))

    def _add_user(self, record: Record) -> None:
        for part in parts_of(record.content):
            answer = answer_in(part)
            if answer is not None and answer.id in self._called:
                call = Call(id=answer.id, name=answer.name, status="success", result=part)
                self._add_result(call, record.written_at)
        text = text_of(record.content)
        if text.startswith(_CONTEXT):
            found = _FOLDER.search(text, 0, _EXAMINED)
            self.project = self.project or (found[1] if found is not None else None)
        self.compacted = self.compacted or text.startswith(_SUMMARY)
        if text and not text.startswith(_INJECTED):
            self.append(Message(role=USER, content=text), record.written_at)

    def _add_answer(self, record: Record) -> None:
        calls = record.calls or _calls_in(record.content)
        wire = tuple(ToolCall(call.id, FunctionCall(name_of(call.name), call.args)) for call in calls)
        said = text_of(record.content) or None
        if not wire and said is None and record.tokens is not None and token_count(record.tokens.output):
            wire = (_UNTOLD,)
        self.append(Message(role=ASSISTANT, content=said, tool_calls=wire or None), record.written_at)
        for call in calls:
            if call.status in _FINISHED:
                self._add_result(call, record.written_at)
            elif call.id:
                self._called.add(call.id)

    def _add_result(self, call: Call, written_at: datetime | None) -> None:
        self._called.discard(call.id or "")
        text, outcome = read_result(call)
        self.append_result(text, outcome, written_at, call_id=call.id, tool=name_of(call.name))


def read_log(entries: Iterable[Entry]) -> Log:
    """Return what the entries of a file make, in their order."""
    log = Log()
    for entry in entries:
        log.add(entry)
    return log


def _calls_in(content: Parts) -> Sequence[Call]:
    """Return the calls that stand where other answers have their text."""
    made = [part.call for part in parts_of(content) if not isinstance(part, str) and part.call is not None]
    return [Call(id=call.id, name=call.name, args=call.args) for call in made]


def _usage(answers: Iterable[Record]) -> tuple[Usage, ...]:
    return usage_by_model(_tokens(answer.tokens or Tokens(), name_of(answer.model)) for answer in answers)


def _tokens(tokens: Tokens, model: str | None) -> Usage:
    cached, thoughts, wrote = map(token_count, (tokens.cached, tokens.thoughts, tokens.output))
    fresh = fresh_tokens(token_count(tokens.input), cached)
    return Usage(
        model=model,
        input_tokens=None if fresh is None else fresh + (token_count(tokens.tool) or 0),
        cache_read_tokens=cached,
        output_tokens=None if wrote is None else wrote + (thoughts or 0),
        reasoning_tokens=thoughts,
    )
