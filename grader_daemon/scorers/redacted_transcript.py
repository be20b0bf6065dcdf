"""A session as it may be handed to the outside: without secrets, e-mail addresses, system prompt, reasoning and images.

All text is searched before any of it is cut: half a secret would not be known as one. E-mail addresses go too, whatever
the rules say: those are about what stays on this machine.
"""

from __future__ import annotations

import json

import msgspec

from grader_daemon.domain.session import Message, Session, ToolCall, with_tools
from grader_daemon.domain.text import storable
from grader_daemon.redaction import SECRETS_AND_ADDRESSES

_NAME_CHARACTERS = 40
_HIDDEN_ROLES = frozenset(("system", "developer"))


class RedactedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call; `arguments` is JSON as the agent wrote it."""

    tool: str
    arguments: str = ""


class RedactedTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message; `tool` is whose result it is."""

    role: str
    text: str = ""
    tool: str | None = None
    calls: tuple[RedactedCall, ...] = ()


def redacted(text: str) -> str:
    """Return text as it may be handed over."""
    return SECRETS_AND_ADDRESSES.redact(storable(text))


def transcript(session: Session) -> tuple[RedactedTurn, ...]:
    """Return the messages of a session as they may be handed over."""
    told = (message for message in session.messages if message.role not in _HIDDEN_ROLES)
    return tuple(_turn(message, tool) for message, tool in with_tools(told))


def _turn(message: Message, tool: str | None) -> RedactedTurn:
    return RedactedTurn(
        role=_name(message.role),
        text=redacted(message.text),
        tool=_name(tool) if tool else None,
        calls=tuple(
            RedactedCall(_name(call.tool or ""), redacted(_arguments(call))) for call in message.tool_calls or ()
        ),
    )


def _name(given: str) -> str:
    return redacted(given)[:_NAME_CHARACTERS]


def _arguments(call: ToolCall) -> str:
    given = call.arguments
    if given is None or isinstance(given, str):
        return given or ""
    return json.dumps(given, ensure_ascii=False)
