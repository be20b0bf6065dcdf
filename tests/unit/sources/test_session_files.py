from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import UnfinishedFileError
from grader_daemon.sources.claude_code.project_files import ClaudeCode
from grader_daemon.sources.codex.rollout_files import CodexRollouts
from grader_daemon.sources.copilot.session_events import CopilotSessions
from grader_daemon.sources.gemini_cli.chat_files import GeminiChats
from grader_daemon.sources.protocol import Read
from grader_daemon.sources.qwen_code.chat_transcripts import QwenChats
from grader_daemon.sources.session_files import SessionFiles

SOURCES: list[SessionFiles] = [
    source(limits=Limits()) for source in (ClaudeCode, CodexRollouts, GeminiChats, CopilotSessions, QwenChats)
]


def read(source: SessionFiles, file: Path) -> Read:
    return source.read(source.look(Unit(source.name, str(file))))


@pytest.mark.parametrize("source", [pytest.param(source, id=source.name) for source in SOURCES])
@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_lines_that_are_still_to_come_are_no_session_yet(source: SessionFiles, content: str, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text(content)

    assert read(source, file).session == Skipped(SkipReason.NOT_A_SESSION)


def test_an_empty_document_may_be_in_the_middle_of_being_written(tmp_path: Path) -> None:
    file = tmp_path / "session-a.json"
    file.touch()

    with pytest.raises(UnfinishedFileError, match="the file is empty"):
        read(SOURCES[2], file)
