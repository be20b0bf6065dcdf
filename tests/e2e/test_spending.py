"""What sessions of two agents cost, as the commands tell it.

Prices of November 2026, a million tokens: Claude Sonnet 4.5 3 $ read, 0.30 $ from a cache, 3.75 $ into one, 15 $
written; Claude Haiku 4.5 1 $ read, 5 $ written. Hermes' files say nothing of tokens.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon_process import run_command
from tests.e2e.session_files import now, turns, write_many

SONNET, HAIKU = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
SONNET_USD = 0.003 + 0.06 + 0.0375 + 0.075
"""1,000 tokens read, 200,000 from a cache, 10,000 into one, 5,000 written."""
HAIKU_USD = 1.0 + 0.005
"""A million tokens read, 1,000 written."""


def write_claude(folder: Path, session_id: str, model: str, usage: dict[str, int]) -> None:
    """Write what Claude Code writes of one question and its answer."""
    ended = now() - timedelta(hours=1)
    shared = {
        "sessionId": session_id,
        "cwd": "/work/here",
        "version": "2.1.330",
        "isSidechain": False,
        "userType": "external",
        "timestamp": ended.isoformat().replace("+00:00", "Z"),
    }
    asked = {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Fix the parser"}}
    answer = {
        "id": f"msg_{session_id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": "The parser is fixed and its tests pass."}],
        "stop_reason": "end_turn",
        "usage": {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, **usage},
    }
    answered = {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": answer}
    lines = [json.dumps({**shared, **line}) for line in (asked, answered)]
    (folder / f"{session_id}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def graded(home: Path, sessions: Path) -> Path:
    """Two sessions of Claude Code, and one of Hermes."""
    project = home / ".claude" / "projects" / "-work-here"
    project.mkdir(parents=True)
    used = {"input_tokens": 1000, "cache_read_input_tokens": 200_000, "output_tokens": 5000}
    write_claude(project, SONNET, "claude-sonnet-4-5", {**used, "cache_creation_input_tokens": 10_000})
    write_claude(project, HAIKU, "claude-haiku-4-5", {"input_tokens": 1_000_000, "output_tokens": 1000})
    write_many(sessions, 1, messages=turns())
    ended = run_command(home, "grade", project, sessions)
    assert ended.returncode == 0, ended.stderr
    return home


def document(home: Path, *arguments: str) -> dict[str, Any]:
    ended = run_command(home, *arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    read = json.loads(ended.stdout)
    assert isinstance(read, dict)
    return read


def test_a_session_shows_what_it_cost_and_by_which_list(graded: Path) -> None:
    shown = run_command(graded, "show", SONNET).stdout
    assert "1.0 k read, 200.0 k from caches, 10.0 k into caches, 5.0 k written" in shown
    assert "$0.18 by genai-prices 0." in shown
    assert document(graded, "show", SONNET)["grade"]["cost_usd"] == pytest.approx(SONNET_USD)


def test_sums_say_of_how_many_sessions_they_are(graded: Path) -> None:
    summary = document(graded, "-d", "30")["summary"]
    spent = summary["spending"]
    assert spent["cost_usd"] == pytest.approx(SONNET_USD + HAIKU_USD)
    assert (spent["sessions"], spent["priced"], spent["metered"], spent["side"]) == (3, 2, 2, 0)
    assert (spent["input_tokens"], spent["output_tokens"]) == (1_001_000, 6000)
    assert summary["agents"] == {"claude-code": 2, "hermes": 1}
    said = run_command(graded, "-d", "30").stdout
    assert "$1.18 for 2 of 3 sessions" in said
    assert "claude-code 2, hermes 1" in said


def test_patterns_have_the_table_by_agent_first_and_the_cost_of_each_group(graded: Path) -> None:
    groups = document(graded, "report", "patterns", "-d", "30")["groups"]
    cost = {
        (dimension, group["name"]): group["spending"]["cost_usd"]
        for dimension in ("agent", "model", "project", "kind")
        for group in groups[dimension]
    }
    assert cost["agent", "hermes"] is None
    assert cost["agent", "claude-code"] == pytest.approx(SONNET_USD + HAIKU_USD)
    assert cost["model", "claude-haiku-4-5"] == pytest.approx(HAIKU_USD)
    assert cost["project", "/work/here"] == pytest.approx(SONNET_USD + HAIKU_USD)
    assert cost["kind", "main"] == pytest.approx(SONNET_USD + HAIKU_USD)
    said = run_command(graded, "report", "patterns", "-d", "30", "--all").stdout.splitlines()
    assert said[1].startswith("Agents: claude-code 2, hermes 1.")
    assert said[said.index("") + 1].startswith("agent ")  # the first table


def test_the_dearest_session_is_listed_first_and_the_unknown_last(graded: Path) -> None:
    listed = document(graded, "list", "--sort", "cost")["grades"]
    assert [grade["cost_usd"] for grade in listed] == [pytest.approx(HAIKU_USD), pytest.approx(SONNET_USD), None]
