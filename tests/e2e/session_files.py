"""Session files as an agent writes them."""

from __future__ import annotations

import json
import os
import uuid
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.strategies import document, json_answer, json_round, json_user

Turns = list[dict[str, Any]]
TASK = "Fix the date parser"
PERMISSION_DENIED = '{"output": "cat: x: Permission denied", "exit_code": 1, "error": null}'
ANSWER = "Done, the date parser works and all tests pass."


def turns(rounds: int = 1, *, task: str = TASK, answer: str | None = ANSWER, output: str = "fine") -> Turns:
    """A request, tool rounds that work, and an answer (None: the agent is still at it)."""
    result = json.dumps({"output": output, "exit_code": 0, "error": None}, ensure_ascii=False)
    work = [turn for number in range(rounds) for turn in json_round(result, call_id=f"call_{number}")]
    return [json_user(task), *work, *([] if answer is None else [json_answer(answer)])]


def content(name: str, messages: Sequence[dict[str, Any]] | None = None, /, **fields: Any) -> bytes:
    """A whole file of the session `name`. Each has a start of its own, and ended when the file was written."""
    start = f"2026-11-21T21:55:00.{zlib.crc32(name.encode()) % 1_000_000:06d}"
    fields = {"session_id": name, "session_start": start, "last_updated": None, **fields}
    return document(turns() if messages is None else messages, **fields)


def path_of(folder: Path, session_id: str) -> Path:
    """Where a session's file is."""
    return folder / f"session_{session_id}.json"


def write(folder: Path, name: str, messages: Turns | None = None, /, *, age: float = 0, **fields: Any) -> Path:
    """Write a session as Hermes does: a temporary file that is renamed. `age` moves its time back, in seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    return replace(path_of(folder, name), content(name, messages, **fields), age=age)


def replace(path: Path, whole: bytes, *, age: float = 0) -> Path:
    """Put new content under a name in one step."""
    temporary = path.with_name(f".{path.stem}_{uuid.uuid4().hex[:8]}.tmp")
    temporary.write_bytes(whole)
    if age:
        written = temporary.stat().st_mtime - age
        os.utime(temporary, (written, written))
    os.replace(temporary, path)
    return path


def write_many(folder: Path, count: int, *, messages: Turns | None = None, age: float = 3600) -> list[str]:
    """Write many sessions that were finished a while ago; gives their ids."""
    folder.mkdir(parents=True, exist_ok=True)
    pattern = content("many_NUMBER", messages, session_start="2026-11-21T20:00:00.5NUMBER")
    ids = []
    for number in range(count):
        path = path_of(folder, f"many_{number:05d}")
        with path.open("wb", buffering=0) as file:  # a daemon that watches is told of it when it is closed
            file.write(pattern.replace(b"NUMBER", b"%05d" % number))
            written = os.fstat(file.fileno()).st_mtime - age
            os.utime(file.fileno(), (written, written))
        ids.append(f"many_{number:05d}")
    return ids


def now() -> datetime:
    """The time of the daemons under test."""
    return datetime.now(UTC)  # noqa: TID251  theirs is the real clock


def noon_zone() -> str:
    """A zone where it is about noon: what ended some hours ago there ended today, whatever the hour is here."""
    return f"Etc/GMT{now().hour - 12:+d}"


def write_ended(folder: Path, name: str, ended_at: datetime, messages: Turns | None = None) -> Path:
    """A session that ended then; its file is as old."""
    started = ended_at - timedelta(minutes=1)
    return write(
        folder,
        name,
        messages,
        age=max(0.0, (now() - ended_at).total_seconds()),
        session_start=started.isoformat(),
        last_updated=ended_at.isoformat(),
    )


def failing(times: int, *, answer: str | None = "I could not do it.") -> Turns:
    """A session whose calls all fail."""
    work = [turn for number in range(times) for turn in json_round(PERMISSION_DENIED, call_id=f"call_{number}")]
    return [json_user(TASK), *work, *([] if answer is None else [json_answer(answer)])]


def write_claude(home: Path) -> Path:
    """Write a finished session of Claude Code where it writes them."""
    path = home / ".claude" / "projects" / "-work" / "11111111-2222-4333-8444-555555555555.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    asked = {"role": "user", "content": "Fix the parser"}
    told = {"role": "assistant", "id": "m", "stop_reason": "end_turn", "content": [{"type": "text", "text": "Done."}]}
    common = {"sessionId": path.stem, "version": "2.1.330", "timestamp": "2026-11-22T15:00:00Z"}
    lines = [
        {**common, "type": "user", "uuid": "a", "parentUuid": None, "message": asked},
        {**common, "type": "assistant", "uuid": "b", "parentUuid": "a", "message": told},
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path
