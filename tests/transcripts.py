"""Transcripts as Claude Code writes them, for tests: lines with only the keys that matter."""

from __future__ import annotations

import json
from pathlib import Path

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.claude_code.project_files import ClaudeCode
from grader_daemon.sources.session_files import Parsed

SESSION = "0f0f0f0f-1111-4222-8333-444455556666"

Line = dict[str, object]


class Transcript:
    """Lines, one after the other: each has the one before as its parent unless it is told another."""

    def __init__(self, **common: object) -> None:
        """Begin one; `common` stands in every line."""
        self.lines: list[Line] = []
        self._common = {"isSidechain": False, "sessionId": SESSION, "version": "2.1.330", "cwd": "/work", **common}

    def add(self, **keys: object) -> str:
        """Add a line of the conversation, and return its uuid."""
        uuid = f"u{len(self.lines)}"
        parent = self.lines[-1].get("uuid") if self.lines else None
        stamp = f"2026-11-22T15:{len(self.lines) // 60:02}:{len(self.lines) % 60:02}.000Z"
        self.lines.append({"parentUuid": parent, **self._common, "uuid": uuid, "timestamp": stamp, **keys})
        return uuid

    def prompt(self, content: object, **keys: object) -> str:
        """Add what a person, or the machinery in a person's place, said."""
        return self.add(type="user", message={"role": "user", "content": content}, **keys)

    def answer(self, *blocks: object, answer: str = "", stop: str | None = "end_turn", **keys: object) -> str:
        """Add a line of an answer of a model: texts as strings, calls by `call`."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 100,
            "output_tokens": 2,
        }
        message = {"id": answer or f"m{len(self.lines)}", "model": "opus", "role": "assistant", "content": content}
        return self.add(type="assistant", message={**message, "stop_reason": stop, "usage": usage, **keys})

    def result(self, call_id: str, content: object, *, error: bool | None = None, **keys: object) -> str:
        """Add the result of a call."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        flag = {} if error is None else {"is_error": error}
        return self.add(type="user", message={"role": "user", "content": [{**block, **flag}]}, **keys)

    def note(self, **keys: object) -> None:
        """Add a line that is no part of the conversation."""
        self.lines.append(keys)

    @property
    def content(self) -> bytes:
        """The file."""
        return b"".join(
            json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in self.lines
        )

    def parse(self, name: str = f"/p/{SESSION}.jsonl", key: str = "") -> Parsed:
        """Read the file as one of a name, for the unit of a key in it."""
        return parse(self.content, name, key)

    def session(self, name: str = f"/p/{SESSION}.jsonl", key: str = "") -> Session:
        """Read the session in it."""
        session = self.parse(name, key).session
        assert isinstance(session, Session), session
        return session

    def skipped(self, name: str = f"/p/{SESSION}.jsonl") -> Skipped:
        """Read the file as one that holds no session."""
        session = self.parse(name).session
        assert isinstance(session, Skipped), session
        return session

    def write(self, path: Path) -> None:
        """Write the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content)


def parse(content: bytes, name: str = f"/p/{SESSION}.jsonl", key: str = "") -> Parsed:
    """Read the content of a file of a name."""
    return ClaudeCode(limits=Limits()).parse(content, Unit("claude-code", name, key))


def call(call_id: str, tool: str = "Bash", **arguments: object) -> Line:
    """Return the block of a tool call."""
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
