"""The lines of a session of pi, and their shapes: its formats 1 to 3, 4 of OpenClaw, and what oh-my-pi adds.

Each line but the first is an entry with an `id` and a `parent_id`, so that they make a tree: who goes back to an
earlier entry goes on from there, and what came after it stays in the file. Format 1 had no ids: each follows the one
before. Entries that only keep the books are links of a chain, so of these, too, the two ids are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from grader_daemon.domain.limits import Folder, LongName, SessionId
from grader_daemon.sources.decoding import decoded_or
from grader_daemon.sources.jsonl import whole_lines


class Cost(msgspec.Struct, frozen=True, gc=False):
    """Price of one answer in US dollars, by the price list of the person."""

    total: object = None


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """The ``usage`` of one answer: `input` came from no cache, `reasoning` is a part of `output`.

    Providers are many, and extensions bring more, so any value can stand here.
    """

    input: object = None
    output: object = None
    cache_read: object = msgspec.field(name="cacheRead", default=None)
    cache_write: object = msgspec.field(name="cacheWrite", default=None)
    reasoning: object = None
    reasoning_tokens: object = msgspec.field(name="reasoningTokens", default=None)
    cost: Cost | None = None


class Block(msgspec.Struct, frozen=True, gc=False):
    """One block of a message: text, or a tool call. Of thoughts and pictures nothing is built but the type."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class Spoken(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The ``message`` of an entry. `details` of a result are of any shape.

    `synthetic` and `attribution` say of oh-my-pi's prompts that no person wrote them, `provenance` of OpenClaw's.
    """

    role: str
    content: str | tuple[Block, ...] | None = None
    model: LongName | None = None
    usage: Tokens | None = None
    stop_reason: LongName | None = None
    response_id: LongName | None = None
    timestamp: int | float | str | None = None
    tool_call_id: str | None = None
    tool_name: LongName | None = None
    is_error: object = None
    details: msgspec.Raw = msgspec.Raw()
    sections: msgspec.Raw = msgspec.Raw()
    tools_added: msgspec.Raw = msgspec.Raw()
    synthetic: object = None
    attribution: object = None
    provenance: msgspec.Raw = msgspec.Raw()


class Head(msgspec.Struct, frozen=True, gc=False):
    """The first line. `parent` is the path of the session that this one is a copy of, or goes on from; or its id."""

    id: SessionId
    timestamp: LongName | None = None
    cwd: Folder | None = None
    parent: Folder | None = msgspec.field(name="parentSession", default=None)


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A line with a message."""

    type: str
    message: Spoken
    id: LongName | None = None
    parent_id: LongName | UnsetType | None = msgspec.field(name="parentId", default=UNSET)
    timestamp: LongName | None = None
    append_mode: object = msgspec.field(name="appendMode", default=None)


class Note(msgspec.Struct, frozen=True, gc=False):
    """A line beside the conversation. Calls of a model for a summary, or for the machinery, have `usage`.

    target_id: of OpenClaw's ``leaf``, the entry that the conversation goes on from; None is before all.
    """

    type: str
    id: LongName | None = None
    parent_id: LongName | UnsetType | None = msgspec.field(name="parentId", default=UNSET)
    timestamp: LongName | None = None
    model_id: LongName | None = msgspec.field(name="modelId", default=None)
    model: LongName | None = None
    usage: Tokens | None = None
    target_id: LongName | UnsetType | None = msgspec.field(name="targetId", default=UNSET)
    append_mode: object = msgspec.field(name="appendMode", default=None)


Line = Head | Entry | Note
Link = Entry | Note


class _Ids(msgspec.Struct, frozen=True, gc=False):
    id: LongName | None = None
    parent_id: LongName | None = msgspec.field(name="parentId", default=None)


HEAD: Final = "session"
MESSAGE: Final = "message"
MODEL: Final = "model_change"
BRANCHED: Final = "branch_summary"
SUB_AGENT: Final = "session_init"
LEAF: Final = "leaf"
RESET: Final = "reset"
SIDE: Final = "side"
"""The mode of OpenClaw's entries that stand beside the conversation, which goes on from the one before them."""
_NOTES: Final = (
    f"{MODEL} {BRANCHED} {SUB_AGENT} compaction context_edit custom custom_message label session_info "
    "thinking_level_change usage "
    # of oh-my-pi
    "credential_pin mode_change model_usage reset_boundary service_tier_change title_change ttsr_injection "
    # of OpenClaw
    f"{LEAF} {RESET}"
)
_NOTE = msgspec.json.Decoder(Note).decode
_IDS = msgspec.json.Decoder(_Ids).decode
KINDS: Final[Mapping[str, Callable[[bytes], Line] | None]] = {
    **dict.fromkeys(_NOTES.split(), _NOTE),
    HEAD: msgspec.json.Decoder(Head).decode,
    MESSAGE: msgspec.json.Decoder(Entry).decode,
    "title": None,
}
"""Readers of lines by kind; None for those that are known and passed over, and are no link."""


def parents_in(content: bytes) -> dict[str, str | None]:
    """Return the parent of each line of any kind that has an id, in the order of the lines."""
    parents: dict[str, str | None] = {}
    for line in whole_lines(content):
        ids = decoded_or(_IDS, line, _Ids())
        if ids.id is not None:
            parents[ids.id] = ids.parent_id
    return parents
