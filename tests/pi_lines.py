"""Lines of a session as pi writes them, for tests: with only the keys that matter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

SESSION = "01a20ed0-c922-7057-9e5d-027edf6ae4c4"
FILE = f"2026-11-22T15-22-54-736Z_{SESSION}.jsonl"
USAGE = {
    "input": 10,
    "output": 5,
    "cacheRead": 100,
    "cacheWrite": 2,
    "totalTokens": 117,
    "cost": {"input": 0.01, "output": 0.02, "total": 0.03},
}

Line = dict[str, Any]


def text(said: str) -> Line:
    """Return a block of text."""
    return {"type": "text", "text": said}


def call(name: str, call_id: str, **arguments: object) -> Line:
    """Return a block with a call."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


class PiLines:
    """Lines, one after the other: each has the one before as its parent unless `at` is another."""

    def __init__(self, **head: object) -> None:
        """Begin a session; `head` stands in its first line."""
        stamp = "2026-11-22T15:22:54.736Z"
        self.lines: list[Line] = [
            {"type": "session", "version": 3, "id": SESSION, "timestamp": stamp, "cwd": "/p", **head}
        ]
        self.at: str | None = None

    def add(self, kind: str, /, **keys: object) -> str:
        """Add an entry, and return its id."""
        number = len(self.lines)
        name, stamp = f"{number:08x}", f"2026-11-22T16:{number // 60:02}:{number % 60:02}.000Z"
        self.lines.append({"type": kind, "id": name, "parentId": self.at, "timestamp": stamp, **keys})
        self.at = name
        return name

    def prompt(self, content: object, **keys: object) -> str:
        """Add what a person said."""
        return self.add("message", message={"role": "user", "content": content, "timestamp": 1, **keys})

    def answer(self, *blocks: Line | str, stop: str = "stop", **keys: object) -> str:
        """Add an answer of a model, of texts and calls."""
        content = [text(block) if isinstance(block, str) else block for block in blocks]
        message = {"role": "assistant", "content": content, "model": "m", "usage": USAGE, "stopReason": stop}
        return self.add("message", message={**message, "timestamp": len(self.lines), **keys})

    def result(self, call_id: str, said: str, *, tool: str = "bash", error: bool = False, **keys: object) -> str:
        """Add the result of a call."""
        told = {"toolCallId": call_id, "toolName": tool, "content": [text(said)], "isError": error}
        return self.add("message", message={"role": "toolResult", **told, **keys})

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return as_bytes(self.lines)


def as_bytes(lines: Sequence[Line]) -> bytes:
    """Return lines as bytes."""
    return b"".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in lines)
