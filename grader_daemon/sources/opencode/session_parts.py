"""A session of OpenCode as it is stored, and its shapes; from a database of 1.18 and files of 1.0.

A message is a head, and parts in the order of their ids: what was said, each call with its state, notes of the
machinery. In the database the ids stand in columns, in files in the JSON itself; all else is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from grader_daemon.domain.limits import LongName, SessionId
from grader_daemon.sources.decoding import mending
from grader_daemon.sources.protocol import UnknownKinds

T = TypeVar("T")
MESSAGE: Final = "message"
PART: Final = "part"
"""What is told of a message, or a piece of one, that is passed over."""

_Name = LongName | None
_Milliseconds = int | float | None


class Revert(msgspec.Struct, frozen=True):
    """A person went back to before this message, or this part of it; until they go on, all stays where it is."""

    message_id: str = msgspec.field(name="messageID", default="")
    part_id: str | None = msgspec.field(name="partID", default=None)


class Times(msgspec.Struct, frozen=True):
    """Milliseconds since 1970: `created` and `completed` of a message, `end` of a call, `updated` of a session."""

    created: _Milliseconds = None
    completed: _Milliseconds = None
    updated: _Milliseconds = None
    end: _Milliseconds = None


class Info(msgspec.Struct, frozen=True):
    """The record of a session as a whole. `cost` is the sum of its messages; None in files."""

    id: SessionId
    directory: _Name = None
    version: _Name = None
    parent_id: SessionId | None = msgspec.field(name="parentID", default=None)
    revert: Revert | None = None
    time: Times = Times()
    cost: float | None = None


class Cache(msgspec.Struct, frozen=True):
    """Tokens that came from a cache, or went there."""

    read: object = None
    write: object = None


class Tokens(msgspec.Struct, frozen=True):
    """Tokens of one call of a model; those of the cache and of the reasoning stand beside the others.

    `input` is below 0 where a provider had not counted in it what OpenCode then takes off as read from a cache.
    """

    input: object = None
    output: object = None
    reasoning: object = None
    cache: Cache = Cache()


class Problem(msgspec.Struct, frozen=True):
    """Reason for which a call of a model ended otherwise than with an answer."""

    name: str = ""


class Head(msgspec.Struct, frozen=True):
    """A message without its parts. `summary` is true where it sums up what went before, for the model."""

    id: str = ""
    role: str = ""
    time: Times = Times()
    model: _Name = msgspec.field(name="modelID", default=None)
    cost: float | None = None
    tokens: Tokens | None = None
    finish: _Name = None
    error: Problem | None = None
    summary: object = None


class Metadata(msgspec.Struct, frozen=True):
    """Notes of a tool beside its output; `exit` of a command, None where it was ended from outside."""

    exit: int | msgspec.UnsetType | None = msgspec.UNSET


class State(msgspec.Struct, frozen=True):
    """State of a call: pending, running, completed or error. Pictures in it are passed over, unbuilt."""

    status: str = ""
    input: dict[str, object] | None = None
    output: str | None = None
    error: str | None = None
    metadata: Metadata | None = None
    time: Times = Times()


class Part(msgspec.Struct, frozen=True):
    """A piece of a message; of kinds that are not read nothing is built but the type."""

    id: str = ""
    type: str = ""
    text: str | None = None
    synthetic: object = None
    ignored: object = None
    tool: _Name = None
    call_id: str | None = msgspec.field(name="callID", default=None)
    state: State | None = None


class PassedOver:
    """Messages and parts of one session that have no shape that is known, so that they are not read."""

    def __init__(self) -> None:
        self._kinds: dict[str, None] = {}
        self._broken = 0

    def unless_strange(self, decode: Callable[[bytes], T], content: bytes, *, kind: str) -> T | None:
        """Decode one; None where its shape is not known.

        Raises:
            msgspec.DecodeError, UnicodeError, RecursionError: it is no JSON.
        """
        try:
            return mending(decode, content)
        except msgspec.ValidationError:
            self._kinds[kind] = None
            return None

    def add_broken(self) -> None:
        """Note one that is no JSON."""
        self._broken += 1

    def told(self, version: str | None) -> UnknownKinds | None:
        """Return what is to be told of them, in a session of this version; None if there are none."""
        return UnknownKinds(version, tuple(self._kinds), self._broken) if self._kinds or self._broken else None


class Stored(msgspec.Struct, frozen=True):
    """A session with its messages, each with its parts, in their order."""

    info: Info
    messages: tuple[tuple[Head, tuple[Part, ...]], ...] = ()
