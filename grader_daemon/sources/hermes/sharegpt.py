"""Conversations in ShareGPT shape (``from``/``value``), as the oldest Hermes wrote them.

Tool calls stand inside the text of a ``gpt`` turn as ``<tool_call>{json}</tool_call>``; one ``tool`` turn holds one or
more ``<tool_response>{json}</tool_response>``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from grader_daemon.domain.session import ASSISTANT, TOOL, USER, FunctionCall, Message, ToolCall

_OPENING = re.compile(r"<(think|tool_call|tool_response)>")
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


class _Block(NamedTuple):
    """Text between a tag and its end, and in `before` the text since the block before."""

    kind: str
    body: str
    before: str


def to_messages(turns: tuple[Turn, ...]) -> tuple[Message, ...]:
    """Return the messages of a conversation; a tool turn becomes one message per response in it."""
    return tuple(message for turn in turns for message in _messages_of(turn))


def _messages_of(turn: Turn) -> Iterator[Message]:
    role = _ROLES.get(turn.speaker, turn.speaker)
    text = turn.value or ""
    if role == ASSISTANT:
        blocks, rest = _blocks_of(text)
        calls = tuple(_call(block.body) for block in blocks if block.kind == "tool_call")
        said = "".join([*(block.before for block in blocks), rest])
        yield Message(role=role, content=said.strip(), tool_calls=calls or None)
    elif role == TOOL and "<tool_response>" in text:
        yield from (_response(block.body) for block in _blocks_of(text)[0] if block.kind == "tool_response")
    else:
        yield Message(role=role, content=text)


def _blocks_of(text: str) -> tuple[list[_Block], str]:
    """Return the blocks in a text, and the text after the last; a tag without an end is text.

    After one such tag no other of its kind is looked up, so any text is read once for each kind.
    """
    blocks: list[_Block] = []
    endless: set[str] = set()
    done = position = 0
    while opening := _OPENING.search(text, position):
        kind, position = opening[1], opening.end()
        end = -1 if kind in endless else text.find(f"</{kind}>", position)
        if end < 0:
            endless.add(kind)
            continue
        blocks.append(_Block(kind, text[position:end], text[done : opening.start()]))
        done = position = end + len(f"</{kind}>")
    return blocks, text[done:]


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
