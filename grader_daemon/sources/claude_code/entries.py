"""The lines of a transcript: which kinds there are, and of each what grading needs.

Versions from 1.0.128 to 2.1.330 were read. In each a line is an object with a ``type``. Only a few are
the conversation and what is said of it; the others keep the books. Some of those repeat prompts and results
(``api-request-blob``) or are larger than all else (``api-request-shape``), so nothing of them is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Final

import msgspec

from grader_daemon.domain.limits import Folder, Word
from grader_daemon.domain.session import Part

USER: Final = "user"
ASSISTANT: Final = "assistant"
COST: Final = "cost-state"
ATTACHMENT: Final = "attachment"

Money = Annotated[float, msgspec.Meta(ge=0)]


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """Details of the output tokens in ``usage``."""

    thinking_tokens: object = None


class ApiUsage(msgspec.Struct, frozen=True, gc=False):
    """The ``usage`` of one answer of the API; what was read from a cache is not in ``input_tokens``.

    Gateways fill it in their own way, so any value can stand here.
    """

    input_tokens: object = None
    cache_creation_input_tokens: object = None
    cache_read_input_tokens: object = None
    output_tokens: object = None
    output_tokens_details: Tokens | None = None


class Block(msgspec.Struct, frozen=True, gc=False):
    """One block of a message: text, a tool call (id, name, input), or a result (tool_use_id, content, is_error)."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw()
    tool_use_id: str | None = None
    content: str | tuple[str | Part, ...] | None = None
    is_error: bool | None = None


class ApiMessage(msgspec.Struct, frozen=True, gc=False):
    """The ``message`` of a line, as the API sends and takes it."""

    id: Word | None = None
    model: Word | None = None
    content: str | tuple[Block, ...] = ""
    stop_reason: Word | None = None
    usage: ApiUsage | None = None


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Author of a prompt (2.1.330): ``human``, or a part of the machinery."""

    kind: str | None = None


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Reason for which a tool may run or not (2.1.330)."""

    decision: str | None = None


class Entry(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A line of the conversation. `tool_use_result` is the typed twin of a result, of any shape."""

    type: str
    message: ApiMessage
    uuid: Word | None = None
    parent_uuid: Word | None = None
    timestamp: Word | None = None
    session_id: Word | None = None
    version: Word | None = None
    cwd: Folder | None = None
    entrypoint: Word | None = None
    is_sidechain: bool = False
    is_meta: bool = False
    is_compact_summary: bool = False
    is_api_error_message: bool = False
    error: object = None
    origin: Origin | None = None
    tool_use_result: msgspec.Raw = msgspec.Raw()
    tool_denial_kind: str | None = None
    tool_denial_before_run: bool = False
    permission_decision: Decision | None = None


class Attachment(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Text put before the model with no line of its own: a prompt that a person typed while the agent worked."""

    type: str = ""
    prompt: str | tuple[str | Part, ...] | None = None
    command_mode: str | None = None


class Note(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A line beside the conversation that says something of it."""

    type: str
    uuid: Word | None = None
    timestamp: Word | None = None
    is_sidechain: bool = False
    attachment: Attachment | None = None
    total_cost_usd: Money | None = msgspec.field(name="totalCostUSD", default=None)
    has_unknown_model_cost: bool = False


class _AttachedKind(msgspec.Struct, frozen=True):
    type: str = ""


class _Kind(msgspec.Struct, frozen=True):
    type: str = ""
    attachment: _AttachedKind | None = None


Line = Entry | Note

_ENTRY = msgspec.json.Decoder(Entry).decode
_NOTE = msgspec.json.Decoder(Note).decode
_KIND = msgspec.json.Decoder(_Kind).decode
_HEAD = re.compile(
    rb'\{(?:"(?!type"|message"|attachment")\w{1,40}":(?:"[^"\\]{0,512}"|null|true|false),)*+'
    rb'"(?:type":"([\w-]{1,40})"|attachment":\{"type":"(\w{1,40})"|message":\{)'
)
"""The keys before ``type`` are short ones, but for two: ``message``, which only the answers of a model have there, and
``attachment``, of which the inner type says what it is."""

_BOOKKEEPING = (
    "agent-color agent-name agent-setting ai-title api-request api-request-blob api-request-shape atis-latch "
    "attachment bridge-session content-replacement custom-title file-history-snapshot frame-link last-prompt "
    "marble-origami-commit marble-origami-reset marble-origami-snapshot mode permission-mode pr-link progress "
    "queue-operation relocated result speculation-accept started summary system tag tools-used worktree-state"
)
_ATTACHED = frozenset({"max_turns_reached", "queued_command"})
KINDS: Final[Mapping[str, Callable[[bytes], Line] | None]] = {
    **dict.fromkeys(_BOOKKEEPING.split()),
    USER: _ENTRY,
    ASSISTANT: _ENTRY,
    COST: _NOTE,
    **{f"{ATTACHMENT}/{kind}": _NOTE for kind in _ATTACHED},
}
"""Readers of lines by kind; None for kinds that are known and passed over."""


def kind_of(line: bytes) -> str:
    """Return the kind of a line; of an attachment that is read, with the kind of attachment behind it.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is no JSON object.
    """
    head = _HEAD.match(line)
    if head is None:
        found = _KIND(line)
        kind, attached = found.type, found.attachment.type if found.attachment is not None else None
    elif head[2] is not None:
        kind, attached = ATTACHMENT, head[2].decode()
    else:
        kind, attached = (head[1] or b"assistant").decode(), None
    return f"{ATTACHMENT}/{attached}" if kind == ATTACHMENT and attached in _ATTACHED else kind
