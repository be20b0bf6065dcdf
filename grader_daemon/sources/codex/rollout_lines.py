"""The lines of a rollout that are read, and their shapes; from files of Codex CLI 0.45, 0.110 and 0.169.

A line is ``{timestamp, ordinal, type, payload}``. What was said stands in those of the type ``response_item``; those
of the type ``event_msg`` say most of it once more, and are read for what only they say: where a turn ends, how many
tokens it took, and how a tool call went.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Final, Generic, NamedTuple, TypeVar

import msgspec

from grader_daemon.domain.limits import LONGEST_NAME, SessionId
from grader_daemon.domain.session import Part, SessionKind
from grader_daemon.sources.decoding import utc

T = TypeVar("T")

_MOST_TOKENS = 2**53
"""Most tokens of one call; beyond it numbers of JavaScript are not exact."""

_Tokens = Annotated[int, msgspec.Meta(ge=0, le=_MOST_TOKENS)]
_Turns = Annotated[int, msgspec.Meta(ge=0)]
_Name = str | None
_KINDS_BEFORE = re.compile(
    rb'\{"timestamp":"[^"\\]{1,%(name)d}",(?:"ordinal":\d{1,20},)?"type":"(\w{1,%(name)d})",'
    rb'"payload":\{(?:"type":"([\w/.-]{1,%(name)d})")?' % {b"name": LONGEST_NAME}
)
_WITH_PAYLOADS: Final = frozenset({"response_item", "event_msg"})
"""Types of lines of which the payload has a type of its own."""
_SUB_AGENT = "subagent"
_REVIEWS = ("review", "guardian")


class Counts(msgspec.Struct, frozen=True):
    """Tokens as Codex counts them: what came from a cache is part of `input_tokens`."""

    input_tokens: _Tokens | None = None
    cached_input_tokens: _Tokens | None = None
    cache_write_input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None
    reasoning_output_tokens: _Tokens | None = None
    total_tokens: _Tokens | None = None


class Meta(msgspec.Struct, frozen=True):
    """The first line of a file. `session_id` of a sub-agent is that of the thread that all began with."""

    id: SessionId | None = None
    timestamp: str | None = None
    cwd: _Name = None
    originator: _Name = None
    cli_version: _Name = None
    source: str | dict[str, object] | None = None
    thread_source: object = None
    forked_from_id: SessionId | None = None
    parent_thread_id: SessionId | None = None
    base_instructions: msgspec.Raw = msgspec.Raw()


class Turn(msgspec.Struct, frozen=True):
    """Context of the turns from here on."""

    model: _Name = None


class _Passed(msgspec.Struct, frozen=True):
    content_item_kinds: tuple[str, ...] | None = None


class Said(msgspec.Struct, frozen=True):
    """A message. `passed` says since 0.169 what each part of it is: ``user.text`` for the words of a person."""

    role: str = ""
    content: str | tuple[Part, ...] | None = None
    passed: _Passed | None = msgspec.field(name="internal_chat_message_metadata_passthrough", default=None)


class Call(msgspec.Struct, frozen=True):
    """A tool call; it has one of `arguments`, `input` (a text of a grammar of its own) and `action`."""

    type: str
    name: _Name = None
    call_id: _Name = None
    id: _Name = None
    arguments: str | dict[str, object] | None = None
    input: str | None = None
    action: dict[str, object] | None = None
    status: _Name = None


class Output(msgspec.Struct, frozen=True):
    """The result of a tool call."""

    call_id: _Name = None
    output: str | Part | tuple[Part, ...] | None = None


class Info(msgspec.Struct, frozen=True):
    """Token counts of the last call, and of all so far."""

    total_token_usage: Counts | None = None
    last_token_usage: Counts | None = None


class TokenCount(msgspec.Struct, frozen=True):
    """Usage of the last call, and of the whole thread; noted more than once, so that only a new total is a new call."""

    info: Info | None = None


class TokenRecord(msgspec.Struct, frozen=True):
    """The same since 0.169, told once for each call."""

    usage: Counts | None = None
    thread_token_usage: Counts | None = None


class Started(msgspec.Struct, frozen=True):
    """A turn begins."""


class Completed(msgspec.Struct, frozen=True):
    """A turn has ended by itself."""

    error: object = None
    last_agent_message: str | msgspec.UnsetType | None = msgspec.UNSET


class Aborted(msgspec.Struct, frozen=True):
    """A turn was ended."""


class RolledBack(msgspec.Struct, frozen=True):
    """A person took the last turns back."""

    num_turns: _Turns = 0


class Compacted(msgspec.Struct, frozen=True):
    """A compaction: from here on the model is shown a summary; the lines before it stay."""

    message: str = ""


class Item(msgspec.Struct, frozen=True):
    """Something that was done; `id` of a tool call is the one of its call."""

    id: _Name = None
    status: _Name = None
    exit_code: int | None = None
    command: object = None


class ItemCompleted(msgspec.Struct, frozen=True):
    """Codex's note of a completed item, since 0.148."""

    item: Item


class _Content(msgspec.Struct, frozen=True):
    is_error: bool | None = msgspec.field(name="isError", default=None)


class Returned(msgspec.Struct, frozen=True):
    """Result of a tool of a server; it holds only one of the two."""

    content: _Content | None = msgspec.field(name="Ok", default=None)
    error: object = msgspec.field(name="Err", default=None)

    @property
    def is_error(self) -> bool:
        """True if it could not be called, or says itself that it failed."""
        return self.content is None or bool(self.content.is_error)


class CallEnded(msgspec.Struct, frozen=True):
    """The same before, of a tool call: of a command, of a patch, and of a tool of a server."""

    call_id: _Name = None
    exit_code: int | None = None
    command: object = None
    success: bool | None = None
    result: Returned | None = None


Payload = (
    Meta
    | Turn
    | Said
    | Call
    | Output
    | TokenCount
    | TokenRecord
    | Started
    | Completed
    | Aborted
    | RolledBack
    | Compacted
    | ItemCompleted
    | CallEnded
)


class Line(msgspec.Struct, frozen=True):
    """One line that was read."""

    payload: Payload
    written_at: datetime | None


class _Whole(msgspec.Struct, Generic[T], frozen=True):
    payload: T
    timestamp: object = None


def _reader(shape: type[Payload]) -> Callable[[bytes], Line]:
    decode = msgspec.json.Decoder(_Whole[shape]).decode  # type: ignore[valid-type]  # it is known when it is called

    def read(line: bytes) -> Line:
        whole = decode(line)
        return Line(whole.payload, utc(whole.timestamp))

    return read


_READ: Final[Mapping[str, type[Payload]]] = {
    "session_meta": Meta,
    "turn_context": Turn,
    "compacted": Compacted,
    "token_usage_record": TokenRecord,
    "response_item/message": Said,
    "response_item/function_call": Call,
    "response_item/custom_tool_call": Call,
    "response_item/local_shell_call": Call,
    "response_item/tool_search_call": Call,
    "response_item/web_search_call": Call,
    "response_item/image_generation_call": Call,
    "response_item/function_call_output": Output,
    "response_item/custom_tool_call_output": Output,
    "response_item/tool_search_output": Output,
    "event_msg/token_count": TokenCount,
    "event_msg/task_started": Started,
    "event_msg/task_complete": Completed,
    "event_msg/turn_aborted": Aborted,
    "event_msg/thread_rolled_back": RolledBack,
    "event_msg/item_completed": ItemCompleted,
    "event_msg/exec_command_end": CallEnded,
    "event_msg/patch_apply_end": CallEnded,
    "event_msg/mcp_tool_call_end": CallEnded,
    "event_msg/dynamic_tool_call_response": CallEnded,
}
_PASSED_OVER: Final = tuple(
    "world_state inter_agent_communication_metadata response_item/additional_tools response_item/agent_message"
    " response_item/compaction response_item/ghost_snapshot response_item/reasoning event_msg/agent_message"
    " event_msg/agent_reasoning event_msg/agent_reasoning_raw_content event_msg/collab_agent_interaction_end"
    " event_msg/collab_agent_spawn_end event_msg/collab_close_end event_msg/collab_waiting_end"
    " event_msg/context_compacted event_msg/dynamic_tool_call_request event_msg/entered_review_mode"
    " event_msg/error event_msg/exited_review_mode event_msg/guardian_assessment event_msg/image_generation_end"
    " event_msg/sub_agent_activity event_msg/thread_goal_updated event_msg/thread_name_updated"
    " event_msg/thread_settings_applied event_msg/undo_completed event_msg/user_message"
    " event_msg/view_image_tool_call event_msg/web_search_end".split()
)
"""Kinds that repeat what others say, or that say nothing of what was done; seen in files of 0.45 to 0.169."""

KINDS: Final[Mapping[str, Callable[[bytes], Line] | None]] = dict.fromkeys(_PASSED_OVER) | {
    kind: _reader(shape) for kind, shape in _READ.items()
}
"""Readers of lines by kind; None for those that are passed over."""


class _InnerKind(msgspec.Struct, frozen=True):
    type: str = ""


class _OuterKind(msgspec.Struct, frozen=True):
    type: str = ""
    payload: _InnerKind | None = None


_KIND = msgspec.json.Decoder(_OuterKind).decode


def kind_of(line: bytes) -> str:
    """Return the kind of a line, with that of its payload where it has one: event_msg/task_complete.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is no JSON object.
    """
    found = _KINDS_BEFORE.match(line)
    if found is not None:
        outer, inner = found[1].decode(), (found[2] or b"").decode()
        if inner or outer not in _WITH_PAYLOADS:
            return f"{outer}/{inner}" if outer in _WITH_PAYLOADS else outer
    whole = _KIND(line)
    return f"{whole.type}/{whole.payload.type}" if whole.payload and whole.type in _WITH_PAYLOADS else whole.type


class Origin(NamedTuple):
    """Origin of a thread; see `Session`."""

    kind: SessionKind
    parent: str | None
    platform: str | None


def read_origin(meta: Meta) -> Origin:
    """Return where a thread comes from, by its first line in each version's format."""
    source = meta.source
    if isinstance(source, dict) and _SUB_AGENT in source:
        made_by = source[_SUB_AGENT]
        kind = SessionKind.REVIEW if _is_review(made_by) else SessionKind.SUB_AGENT
        return Origin(kind, meta.parent_thread_id or _spawned_by(made_by) or meta.forked_from_id, meta.originator)
    platform = source if isinstance(source, str) else meta.originator
    if meta.thread_source == _SUB_AGENT or meta.parent_thread_id is not None:
        return Origin(SessionKind.SUB_AGENT, meta.parent_thread_id, platform)
    return Origin(SessionKind.MAIN, meta.forked_from_id, platform)


def _is_review(made_by: object) -> bool:
    """Return whether it judges the work of another thread: {"other": "guardian"}, "review"."""
    name = made_by.get("other") if isinstance(made_by, dict) else made_by
    return isinstance(name, str) and name.startswith(_REVIEWS)


def _spawned_by(made_by: object) -> str | None:
    spawn = made_by.get("thread_spawn") if isinstance(made_by, dict) else None
    parent = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
    return parent[:LONGEST_NAME] if isinstance(parent, str) and parent else None
