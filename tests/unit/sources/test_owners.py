"""Files that several agents name alike, where nothing says whose folder they lie in."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.sources.claude_code.project_files import ClaudeCode
from grader_daemon.sources.copilot.session_events import CopilotSessions
from grader_daemon.sources.protocol import Sources
from grader_daemon.sources.qwen_code.chat_transcripts import QwenChats
from tests.transcripts import SESSION, Transcript

NAME = f"{SESSION}.jsonl"
LIMITS = Limits()


def claude_code() -> bytes:
    transcript = Transcript()
    transcript.prompt("Fix it")
    return transcript.content


def copilot() -> bytes:
    start = {"type": "session.start", "data": {"sessionId": SESSION, "copilotVersion": "0.0.350"}}
    return json.dumps(start).encode() + b"\n"


def qwen_code() -> bytes:
    line = {"uuid": "u", "parentUuid": None, "sessionId": SESSION, "type": "user"}
    return json.dumps({**line, "message": {"role": "user", "parts": [{"text": "Fix it"}]}}).encode() + b"\n"


@pytest.mark.parametrize(
    ("content", "source"),
    [
        pytest.param(claude_code(), "claude-code", id="claude-code"),
        pytest.param(copilot(), "copilot", id="copilot"),
        pytest.param(qwen_code(), "qwen-code", id="qwen-code"),
        pytest.param(b"{}\n", "claude-code", id="nobodys-and-so-of-the-first"),
    ],
)
def test_below_a_folder_that_a_person_names_a_file_is_of_the_agent_that_wrote_it(
    content: bytes, source: str, tmp_path: Path
) -> None:
    (tmp_path / NAME).write_bytes(content)
    sources = Sources(
        [ClaudeCode(limits=LIMITS)], others=[partial(CopilotSessions, limits=LIMITS), partial(QwenChats, limits=LIMITS)]
    )

    assert [found.unit.source for found in sources.walk_below(str(tmp_path))] == [source]
