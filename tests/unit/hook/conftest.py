"""A home in which Claude Code says what is not so."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from grader_daemon.hook.installation import socket_of
from grader_daemon.settings import Settings, load_settings
from tests.transcripts import SESSION, Transcript, call
from tests.waiting import wait_until


class Home(NamedTuple):
    """Settings, and the transcript of a session in them."""

    settings: Settings
    transcript: Path

    def stop(self, answer: str | None = "All tests pass.", **more: object) -> bytes:
        """Return what Claude Code hands over when it wants to stop."""
        event = {"session_id": SESSION, "transcript_path": str(self.transcript), "hook_event_name": "Stop"}
        return json.dumps({**event, "last_assistant_message": answer, **more}).encode()

    def request(self, mode: str = "tell", payload: bytes | None = None, agent: str = "claude-code") -> bytes:
        """Return what our program sends then."""
        handed = self.stop() if payload is None else payload
        return f"{agent} {mode} {len(handed)}\n".encode() + handed


def wait_until_asked(settings: Settings) -> None:
    """Wait until somebody listens."""

    def is_heard() -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking, suppress(OSError):
            asking.connect(str(socket_of(settings.db_path)))
            return True
        return False

    wait_until(is_heard, "who listens")


def transcript(tests: str = "1 failed, 2 passed in 0.10s") -> Transcript:
    """Tests were run, and printed that."""
    made = Transcript()
    made.prompt("Fix the parser")
    made.answer(call("c1", command="pytest -q"), stop="tool_use")
    made.result("c1", f"Exit code 1\n\n{tests}", error="failed" in tests)
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """See `Home`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    projects = tmp_path / ".claude" / "projects"
    path = projects / "-work" / f"{SESSION}.jsonl"
    transcript().write(path)
    settings = load_settings(
        db_path=str(tmp_path / "grades.db"),
        watch_roots=[str(tmp_path / ".timmy")],
        sources=["hermes", "claude-code"],
        claude_code_roots=[str(projects)],
    )
    return Home(settings, path)
