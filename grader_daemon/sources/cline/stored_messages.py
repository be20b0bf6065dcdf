"""The messages of Cline as they are stored, in Anthropic's shape, and what stands beside them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from grader_daemon.domain.limits import Folder, SessionId, Word
from grader_daemon.domain.session import FunctionCall, ToolCall
from grader_daemon.sources.decoding import moment_of


class Block(msgspec.Struct, frozen=True, gc=False):
    """One block of a message: text, a call (id, name, input), or its result (tool_use_id, content, is_error)."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw()
    tool_use_id: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    is_error: bool | None = None

    @property
    def call(self) -> ToolCall:
        """The call that it makes."""
        return ToolCall(self.id, FunctionCall(self.name, str(memoryview(self.input), "utf-8") or None))


class ModelInfo(msgspec.Struct, frozen=True, gc=False):
    """Model that gave an answer."""

    id: object = None


class Metrics(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Tokens of an answer; those of a cache are part of the input."""

    input_tokens: object = None
    output_tokens: object = None
    cache_read_tokens: object = None
    cache_write_tokens: object = None


class Marks(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Marks of a message that the program wrote in a person's place, or the model's.

    `display_only`: it is shown, and the model never said or saw it. `user_run_span`: 0 where no request begins with it.
    """

    kind: object = None
    display_role: object = None
    display_only: object = None
    user_run_span: object = None


class StoredMessage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One message."""

    role: str = ""
    content: str | tuple[Block, ...] | None = None
    ts: object = None
    model_info: ModelInfo | None = None
    metrics: Metrics | None = None
    metadata: Marks | None = None
    is_summary: object = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Its blocks; a text alone is one, too."""
        content = self.content
        return (Block(type="text", text=content),) if isinstance(content, str) else content or ()

    @property
    def written_at(self) -> datetime | None:
        """Time at which it was written."""
        return moment_of(self.ts)


class Origin(msgspec.Struct, frozen=True, gc=False):
    """The program that wrote a session."""

    source: object = None
    version: object = None


class MessagesFile(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """``<name>.messages.json``. `agent`: ``lead`` for the session itself, else what a sub-agent is."""

    session_id: SessionId | None = None
    agent: Word | None = None
    origin: Origin | None = None
    messages: tuple[StoredMessage, ...] = ()


class Totals(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Sums over a session. `total_cost`: 0 where no price is known, too."""

    total_cost: object = None


class ManifestNotes(msgspec.Struct, frozen=True, gc=False):
    """Notes on a session. `terminal_marker`: it was found without its process."""

    usage: Totals | None = None
    terminal_marker: object = None


class Manifest(msgspec.Struct, frozen=True, gc=False):
    """``<id>.json`` beside the messages of a session."""

    status: Word | None = None
    exit_code: int | None = None
    source: Word | None = None
    model: Word | None = None
    cwd: Folder | None = None
    started_at: Word | None = None
    ended_at: Word | None = None
    metadata: ManifestNotes | None = None


class UiModel(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Model that a line of the screen is of."""

    model_id: Word | None = None


class UiMessage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A line of an extension's screen: something that it `say`s, or `ask`s a person."""

    ts: object = None
    say: str | None = None
    ask: str | None = None
    text: str | None = None
    model_info: UiModel | None = None


class ApiRequest(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The text of a line about a call of a model. With `api_protocol` ``openai`` the cache is part of the input."""

    tokens_in: object = None
    tokens_out: object = None
    cache_writes: object = None
    cache_reads: object = None
    cost: object = None
    cancel_reason: object = None
    api_protocol: object = None
