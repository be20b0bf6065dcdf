"""Conversations in ShareGPT shape (``from``/``value``), as the oldest Hermes wrote them.

Tool calls stand inside the text of a ``gpt`` turn as ``<tool_call>{json}</tool_call>``; one ``tool`` turn holds one or
more ``<tool_response>{json}</tool_response>``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from grader_daemon.domain.session import ASSISTANT, TOOL, USER, FunctionCall, Message, ToolCall

_BLOCK = re.compile(r"<(think|tool_call|tool_response)>(.*?)</\1>", re.DOTALL)
_ROLES = {"human": USER, "user": USER, "gpt": ASSISTANT, "assistant": ASSISTANT, "tool": TOOL}


class Turn(msgspec.Struct, frozen=True):
    """One entry of ``conversations``."""

    speaker: str = msgspec.field(name="from", default="")
    value: str | None = None


class _Call(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: str | dict[str, object] | None = None
    id: str | None = None


class _Response(msgspec.Struct, frozen=True):
    content: msgspec.Raw = msgspec.Raw(b'""')
    name: str | None = None
    tool_call_id: str | None = None


def to_messages(turns: tuple[Turn, ...]) -> tuple[Message, ...]:
    """Give the messages of a conversation; a tool turn becomes one message per response in it."""
    return tuple(message for turn in turns for message in _messages_of(turn))


def _messages_of(turn: Turn) -> Iterator[Message]:
    role = _ROLES.get(turn.speaker, turn.speaker)
    text = turn.value or ""
    if role == ASSISTANT:
        calls = tuple(_call(body) for kind, body in _BLOCK.findall(text) if kind == "tool_call")
        yield Message(role=role, content=_BLOCK.sub("", text).strip(), tool_calls=calls or None)
    elif role == TOOL and "<tool_response>" in text:
        yield from (_response(body) for kind, body in _BLOCK.findall(text) if kind == "tool_response")
    else:
        yield Message(role=role, content=text)


def _call(body: str) -> ToolCall:
    try:
        call = msgspec.json.decode(body, type=_Call)
    except msgspec.MsgspecError:
        return ToolCall(function=FunctionCall(arguments=body.strip()))
    return ToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=call.arguments))


def _response(body: str) -> Message:
    try:
        response = msgspec.json.decode(body, type=_Response)
    except msgspec.MsgspecError:
        return Message(role=TOOL, content=body.strip())
    content = bytes(response.content).decode()
    if content.startswith('"'):
        content = json.loads(content)
    return Message(role=TOOL, content=content, name=response.name, tool_call_id=response.tool_call_id)
