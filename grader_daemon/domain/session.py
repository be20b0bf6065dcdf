"""Sessions and their messages, as agents leave them behind.

A message has the shape of the chat-completions wire format, which Hermes and most other agents write down
as it is. So the decoder builds these values directly from the bytes, with no second pass over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit

USER: Final = "user"
ASSISTANT: Final = "assistant"
TOOL: Final = "tool"
"""Roles of speakers. Other roles may occur in a file and are kept as they are."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """One piece of a multimodal message; only text is of use to grading."""

    type: str | None = None
    text: str | None = None


class FunctionCall(msgspec.Struct, frozen=True, gc=False):
    """The function that a tool call names. `arguments` is the JSON text as the model wrote it, or its object."""

    name: str | None = None
    arguments: str | dict[str, object] | None = None


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """One call in an assistant message."""

    id: str | None = None
    function: FunctionCall | None = None

    @property
    def tool(self) -> str | None:
        """Name of the tool that is called; None when the file does not say."""
        return self.function.name if self.function is not None else None

    @property
    def arguments(self) -> str | dict[str, object] | None:
        """Arguments of the call; see `FunctionCall`."""
        return self.function.arguments if self.function is not None else None


Content = str | Part | tuple[str | Part, ...] | int | float | None


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message as stored in the file."""

    role: str = ""
    content: Content = None
    tool_calls: tuple[ToolCall, ...] | None = None
    finish_reason: str | None = None
    name: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The readable content: text parts joined by newlines, "" when there is none."""
        content = self.content
        if isinstance(content, str):
            return content
        if content is None:
            return ""
        parts = content if isinstance(content, tuple) else (content,)
        return "\n".join(_text_of(part) for part in parts)


def with_tools(messages: Iterable[Message]) -> Iterator[tuple[Message, str | None]]:
    """Yield each message with the tool whose result it is: by its own word, else by its call; None for others."""
    tools: dict[str, str] = {}
    for message in messages:
        tools |= {call.id: call.tool for call in message.tool_calls or () if call.id and call.tool}
        yield message, message.name or message.tool_name or tools.get(message.tool_call_id or "")


def token_sum(numbers: Iterable[int | None]) -> int | None:
    """Return a sum of numbers of tokens; None where one is not known, or it is more than can be."""
    total = 0
    for number in numbers:
        if number is None or number < 0:
            return None
        total += number
    return total if total <= MOST_TOKENS else None


def _text_of(part: str | Part | int | float) -> str:
    if isinstance(part, Part):
        return part.text or ""
    return str(part)


class SessionKind(StrEnum):
    """Origin and purpose of a session."""

    MAIN = "main"
    SUB_AGENT = "sub_agent"
    CRON = "cron"
    REVIEW = "review"


PERSONS: Final = frozenset({None, SessionKind.MAIN})
"""Kinds of sessions that are tasks of a person: those that nothing else is said of are, too."""


class Usage(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Tokens that one model used in a session, in total. None means unknown, which is not 0.

    Attributes:
        model: name of the model, as the agent calls it.
        input_tokens: uncached input tokens, 0 or more.
        cache_read_tokens: input tokens read from a cache, 0 or more.
        cache_write_tokens: tokens written to a cache, 0 or more.
        output_tokens: output tokens including reasoning, 0 or more.
        reasoning_tokens: the part of the output tokens used for reasoning.
    """

    model: str | None = None
    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


MOST_TOKENS: Final = 10**12
MOST_USD: Final = 10**6
"""Most that a session used or cost: numbers beyond are no measurements, and would burst sums over many sessions."""
TOKEN_NAMES: Final = Usage.__struct_fields__[1:]
"""The fields of `Usage` that are numbers of tokens."""
_NUMBERS_IN: Final = {name: attrgetter(name) for name in TOKEN_NAMES}


def total_usage(usage: Iterable[Usage]) -> Usage:
    """Return the tokens of all models together; a sum of which one part is not known is not known.

    Nor is one that cannot be, below 0 or above `MOST_TOKENS`.
    """
    parts = tuple(usage)
    if not parts:
        return _NOTHING_KNOWN
    return msgspec.convert({name: token_sum(map(number_in, parts)) for name, number_in in _NUMBERS_IN.items()}, Usage)


def usage_by_model(calls: Iterable[Usage]) -> tuple[Usage, ...]:
    """Return the tokens of single calls, summed up by model, in the order of their first calls."""
    by_model: dict[str | None, list[Usage]] = {}
    for call in calls:
        by_model.setdefault(call.model, []).append(call)
    return tuple(msgspec.structs.replace(total_usage(parts), model=model) for model, parts in by_model.items())


_NOTHING_KNOWN: Final = Usage()


class ReportedOutcome(msgspec.Struct, frozen=True, gc=False):
    """Outcome of a tool call that an agent records in addition to the text of its result.

    Attributes:
        status: whether it worked, according to the agent.
        exit_code: exit code of the program that the call ran, if recorded.
    """

    status: CallStatus
    exit_code: int | None = None

    @classmethod
    def exited(cls, code: int) -> ReportedOutcome:
        """Return the outcome of a command that ended with an exit code."""
        return cls(CallStatus.FAILURE if code else CallStatus.SUCCESS, code)


class Ending(msgspec.Struct, frozen=True, gc=False):
    """State of a session as the agent records it.

    Attributes:
        state: complete if the last turn ended normally (its last messages then decide); interrupted if it ended
            otherwise;
        open if it goes on or was killed, which shows when nothing is written for a long time.
        reason: the record that says so, such as ``task_complete``.
        kind: how it was interrupted, if it was.
    """

    state: SessionState
    reason: str
    kind: EndingKind = EndingKind.ERROR


class Session(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One conversation of a person (or a program) with an agent. Times are aware UTC, None means unknown.

    Attributes:
        session_id: its id, as the agent knows it.
        file: path of the file that holds it; the first one if it spans several.
        format: name of its source.
        unit_key: which session of the file; "" if the file holds one.
        messages: its messages, in order.
        message_times: when each of `messages` was written; empty if none of them says.
        reported: what the agent records about a tool's result besides its text, by the result's index in `messages`.
        ending: state of the session as the agent records it; None if only its last messages show it.
        taken_back: indexes of the messages before which a person undid work, with len(messages) for the end. What was
        undone is not in `messages`.
        model: name of the model, as the agent calls it.
        platform: where the person talked to the agent, such as "cli".
        project: folder in which the agent worked.
        parent: id of the session that started this one, or that this one continues.
        kind: how the session was started.
        schedule: id of the schedule that started it, if the agent records it.
        agent: the program, such as "hermes".
        agent_version: version of that program.
        usage: tokens used, one entry for each model; empty if unknown.
        cost_usd: cost in US dollars as the agent recorded it, 0 or more; None if unknown.
        reward: an external verifier's result: 1 for a done task, 0 for one that is not done.
        system_prompt_digest: hash of the system prompt, without the parts that its source knows to change
            automatically.
        tools_digest: hash of the list of tools offered to the model.
        started_at: start time.
        updated_at: time of the last update, by its own record.
        lineage: the same for all links of a compression chain; for this and the following, see `domain.identity`.
        opening: identifies the first message; these links share it too.
        conversation: the same for all copies of one conversation.
        compacted: earlier messages were replaced by a summary.
        named_after_id: the file's name contains the id of the session.
        adapter: the installed package that read it, with its version; None if grader-daemon read it.
    """

    session_id: str
    file: str
    format: str
    unit_key: str = ""
    messages: tuple[Message, ...]
    message_times: tuple[datetime | None, ...] = ()
    reported: dict[int, ReportedOutcome] = {}
    ending: Ending | None = None
    taken_back: tuple[int, ...] = ()
    model: str | None = None
    platform: str | None = None
    project: str | None = None
    parent: str | None = None
    kind: SessionKind | None = None
    schedule: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    usage: tuple[Usage, ...] = ()
    cost_usd: float | None = None
    reward: float | None = None
    system_prompt_digest: str | None = None
    tools_digest: str | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None
    lineage: int | None = None
    opening: int | None = None
    conversation: int | None = None
    compacted: bool = False
    named_after_id: bool = True
    adapter: str | None = None

    @property
    def unit(self) -> Unit:
        """The unit in which the session lies."""
        return Unit(self.format, self.file, self.unit_key)

    @property
    def refused(self) -> tuple[int, ...]:
        """The messages with results of calls that the agent's record says were not allowed."""
        return tuple(index for index, told in self.reported.items() if told.status is CallStatus.REFUSED)


class Skipped(msgspec.Struct, frozen=True, gc=False):
    """A file that looks like a session but is not to be graded; `reason` is a `SkipReason`."""

    reason: SkipReason
    session_id: str | None = None


NO_SESSION_KNOWN: Final = "not a session of a known agent"
"""Message about JSON of another kind."""


class SkipReason(StrEnum):
    """Reason why a recognised file has no grade of its own."""

    REVIEW_FORK = "review_fork"
    REQUEST_DUMP = "request_dump"
    SESSION_INDEX = "session_index"
    SAVED_COPY = "saved_copy"
    GATEWAY_TRANSCRIPT = "gateway_transcript"
    NOT_A_SESSION = "not_a_session"
    COPY = "copy"
    SUPERSEDED = "superseded"
    SYMBOLIC_LINK = "symbolic_link"
    COMPRESSED = "compressed"
    UNREADABLE_VERSION = "unreadable_version"
    SIDE_CALL = "side_call"
