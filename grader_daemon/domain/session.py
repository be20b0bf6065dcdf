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
    """One message as it stands in the file."""

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
    """Tokens that the calls of one model in a session used, summed up. None is what nobody knows, which is not 0.

    model: as the agent calls it.
    input_tokens: read by the model, from no cache, 0 and more.
    cache_read_tokens: read from a cache, 0 and more.
    cache_write_tokens: written to one, 0 and more.
    output_tokens: written by the model, those of its reasoning too, 0 and more.
    reasoning_tokens: of these, those of its reasoning.
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
    """Return the tokens of single calls summed up for each model, in the order of their first calls."""
    by_model: dict[str | None, list[Usage]] = {}
    for call in calls:
        by_model.setdefault(call.model, []).append(call)
    return tuple(msgspec.structs.replace(total_usage(parts), model=model) for model, parts in by_model.items())


_NOTHING_KNOWN: Final = Usage()


class ReportedOutcome(msgspec.Struct, frozen=True, gc=False):
    """Outcome of a tool call that an agent notes beside the text of its result.

    status: whether it worked, by the agent's own word.
    exit_code: of the program that the call ran, where one is noted.
    """

    status: CallStatus
    exit_code: int | None = None


class Ending(msgspec.Struct, frozen=True, gc=False):
    """State of a session as the agent notes it.

    state: complete: its last turn has ended in order, and what its last messages say decides; interrupted: it ended
        otherwise; open: it goes on, or was killed, which shows when nothing is written for long.
    reason: what says so, as in ``task_complete``.
    kind: how it was interrupted, where it was.
    """

    state: SessionState
    reason: str
    kind: EndingKind = EndingKind.ERROR


class Session(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One conversation of a person (or a program) with an agent. Times are aware UTC, None is what nobody says.

    session_id: its name, by which the agent knows it.
    file: the path of the file that holds it, the first one where it spans several.
    format: the name of its source.
    unit_key: which of the sessions in that file; "" where it holds one.
    messages: in their order.
    message_times: when each of `messages` was written; empty where none of them says.
    reported: by the index of a tool's result in `messages`, what the agent notes of it; of others their text says it.
    ending: what the agent notes of how the session stands; None where only its last messages say that.
    taken_back: indexes of the messages before which a person took something back, as in an undo; len(messages) is the
        end of all. What was taken back is not in `messages`.
    model: as the agent calls it.
    platform: through what the person spoke to the agent, as in "cli".
    project: the folder in which the agent worked.
    parent: the id of the session that had it begun, or that it goes on from.
    kind: who had it begun.
    schedule: the id of the schedule that began it, where its agent notes that.
    agent: the program, as in "hermes".
    agent_version: of that program.
    usage: what its calls of models used, one for each model; empty where nothing is known.
    cost_usd: its price in US dollars as the agent itself wrote it down, 0 and more; None where it is not known.
    reward: what a verifier outside of the session gave it, 1 for a task that was done and 0 for one that was not.
    system_prompt_digest: the same while the system prompt is, but for what its source knows to change by itself.
    tools_digest: the same for the same list of tools that the model was offered.
    started_at: when it began.
    updated_at: when it was written to last, as it says itself.
    lineage: shared by the links of a compression chain; what it and the following are for: see `domain.identity`.
    opening: of the first message; shared by these links, too.
    conversation: shared by copies of one conversation.
    compacted: earlier messages were replaced by a summary.
    named_after_id: the file bears the name of the session.
    adapter: the installed package that read it, with its version; None where this program did.
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


class Skipped(msgspec.Struct, frozen=True, gc=False):
    """A file that looks like a session and is not one of ours to grade; `reason` is a `SkipReason`."""

    reason: SkipReason
    session_id: str | None = None


NO_SESSION_KNOWN: Final = "not a session of an agent known here"
"""Message about JSON of another kind."""


class SkipReason(StrEnum):
    """Reason for which a recognised file has no grade of its own."""

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
