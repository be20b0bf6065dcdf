"""The command that resumes a session, and sessions that have none."""

from __future__ import annotations

import pytest

from grader_daemon.domain.session import SessionKind
from grader_daemon.reports.resume import resume_command
from tests.strategies import grade


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        pytest.param({"format": "claude-code"}, "claude --resume 0a-1", id="claude-code"),
        pytest.param({"format": "opencode", "project": "/p"}, "cd /p && opencode --session 0a-1", id="in-its-folder"),
        pytest.param({"format": "codex", "project": "/p;rm x"}, "cd '/p;rm x' && codex resume 0a-1", id="odd-folder"),
        pytest.param({"format": "codex", "session_id": "a;b"}, None, id="an-id-that-is-a-command"),
        pytest.param({"format": "codex", "session_id": "-x"}, None, id="an-id-that-is-an-option"),
        pytest.param({"format": "codex", "kind": SessionKind.SUB_AGENT}, None, id="a-sub-agent"),
        pytest.param({"format": "codex", "host": "other"}, None, id="another-machine"),
        pytest.param({"format": "hermes"}, None, id="another-agent"),
        pytest.param({"format": None}, None, id="an-unknown-format"),
    ],
)
def test_the_command_is_the_agents_own(facts: dict[str, object], command: str | None) -> None:
    given = {"session_id": "0a-1", "kind": SessionKind.MAIN, "host": None, "project": None, **facts}

    assert resume_command(grade(**given)) == command
