"""The records of a session of Gemini CLI, and their shapes; from files of 0.20, 0.40 and 0.61.

A line of the log is the head of the session, a record, or a command: ``$set`` changes the head, or replaces all
records by others; ``$rewindTo`` takes away a record and all that follow. A record with the id of another one stands in
its place: an answer is written before its tools run, and again with their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.domain.limits import LONGEST_NAME, SessionId
from grader_daemon.sources.decoding import utc


class Response(msgspec.Struct, frozen=True):
    """Response of a tool: its output, or what went wrong."""

    output: object = None
    error: object = None


class FunctionCall(msgspec.Struct, frozen=True):
    """A call as the model made it."""

    id: str | None = None
    name: str | None = None
    args: dict[str, object] | None = None


class FunctionResponse(msgspec.Struct, frozen=True):
    """A result as the model is given it."""

    id: str | None = None
    name: str | None = None
    response: Response | None = None


class Part(msgspec.Struct, frozen=True):
    """A piece of what was said. Pictures are passed over, unbuilt; a `thought` is not meant to be read."""

    text: str | None = None
    thought: object = None
    call: FunctionCall | None = msgspec.field(name="functionCall", default=None)
    answer: FunctionResponse | None = msgspec.field(name="functionResponse", default=None)


Parts = str | Part | tuple[str | Part, ...] | None


class Call(msgspec.Struct, frozen=True):
    """A call with what came of it. `status`: success, error or cancelled, or how far it has come."""

    id: str | None = None
    name: str | None = None
    args: dict[str, object] | None = None
    status: str | None = None
    result: Parts = None


class Tokens(msgspec.Struct, frozen=True):
    """Tokens of one answer. `input` includes `cached`; `thoughts` and `tool` (results read) stand beside the others."""

    input: object = None
    output: object = None
    cached: object = None
    thoughts: object = None
    tool: object = None


class Record(msgspec.Struct, frozen=True):
    """One message. `type`: user, gemini, or one of those that are notes to the person."""

    id: str | None = None
    timestamp: str | None = None
    type: str = ""
    content: Parts = None
    model: str | None = None
    tokens: Tokens | None = None
    calls: tuple[Call, ...] | None = msgspec.field(name="toolCalls", default=None)

    @property
    def written_at(self) -> datetime | None:
        """Time at which it was written."""
        return utc(self.timestamp)


class Head(msgspec.Struct, frozen=True):
    """Facts about the session as a whole; in old files with all its records."""

    session_id: SessionId | None = msgspec.field(name="sessionId", default=None)
    start_time: str | None = msgspec.field(name="startTime", default=None)
    last_updated: str | None = msgspec.field(name="lastUpdated", default=None)
    kind: str | None = None
    directories: tuple[str, ...] | None = None
    messages: tuple[Record, ...] | None = None


class Set(msgspec.Struct, frozen=True):
    """A command that changes the head, or all records."""

    to: Head = msgspec.field(name="$set")


class Rewind(msgspec.Struct, frozen=True):
    """A command that takes back the record of this id and all after it."""

    to: str = msgspec.field(name="$rewindTo")


Entry = Head | Record | Set | Rewind


class _Kind(msgspec.Struct, frozen=True):
    type: str | None = None
    session_id: object = msgspec.field(name="sessionId", default=None)
    set: msgspec.Raw = msgspec.field(name="$set", default=msgspec.Raw())
    rewind: object = msgspec.field(name="$rewindTo", default=None)


_KIND = msgspec.json.Decoder(_Kind).decode
HEAD, SET, REWIND = "head", "$set", "$rewindTo"


def kind_of(line: bytes) -> str:
    """Return the type of a record, or which of the other lines it is.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is no JSON object.
    """
    found = _KIND(line)
    if found.type is not None:
        return found.type[:LONGEST_NAME]
    if found.rewind is not None:
        return REWIND
    if bytes(found.set):
        return SET
    return HEAD if found.session_id is not None else ""


_record = msgspec.json.Decoder(Record).decode
KINDS: Final[Mapping[str, Callable[[bytes], Entry] | None]] = {
    HEAD: msgspec.json.Decoder(Head).decode,
    SET: msgspec.json.Decoder(Set).decode,
    REWIND: msgspec.json.Decoder(Rewind).decode,
    "user": _record,
    "gemini": _record,
    "info": None,
    "error": None,
    "warning": None,
}
"""Readers of lines by kind; None for notes to the person, which the model never saw."""
