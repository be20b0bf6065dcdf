from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Protocol

import pytest

from tests.past_sessions import known_database
from tests.unit.cli.conftest import Ended, Run

DATABASE = ".timmy/uniwizard/session_grades.db"
OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def recall(task: str) -> dict[str, object]:
    return {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"task": task}},
    }


class Talk(Protocol):
    """Run the command with these lines as its input."""

    def __call__(self, given: bytes, *arguments: str) -> Ended: ...


@pytest.fixture
def talk(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    def talked(given: bytes, *arguments: str) -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        return run(home, *arguments)

    return talked


def test_an_agent_is_answered_with_facts(talk: Talk, home: Path) -> None:
    (home / DATABASE).parent.mkdir(parents=True)
    known_database(home / DATABASE)
    ended = talk(lines(OPENING, recall("Deploy the release")), "mcp")
    opened, recalled = map(json.loads, ended.stdout.splitlines())
    assert (ended.returncode, ended.stderr) == (0, "")
    assert opened["result"]["protocolVersion"] == "2025-06-18"
    assert "nothing worked after the last failure" in recalled["result"]["content"][0]["text"]
    assert "graded" not in recalled["result"]["content"][0]["text"]


def test_grades_are_told_where_that_is_asked_for(talk: Talk, home: Path) -> None:
    known_database(home / "other.db")
    ended = talk(lines(OPENING, recall("Deploy the release")), "--db-path", "other.db", "mcp", "--grades")
    assert "graded: not done" in json.loads(ended.stdout.splitlines()[1])["result"]["content"][0]["text"]


def test_options_change_nothing_else(talk: Talk, home: Path) -> None:
    """Without any, no parser is loaded."""
    (home / DATABASE).parent.mkdir(parents=True)
    known_database(home / DATABASE)
    given = lines(OPENING, recall("Deploy the release"))
    assert talk(given, "mcp") == talk(given, "mcp", "--db-path", DATABASE)


def test_without_a_database_each_question_is_answered_with_one_line(talk: Talk, home: Path) -> None:
    ended = talk(lines(OPENING, recall("Deploy the release")), "mcp")
    result = json.loads(ended.stdout.splitlines()[1])["result"]
    assert (ended.returncode, ended.stderr, result["isError"]) == (0, "", True)
    assert result["content"][0]["text"] == f"no database at {home}/{DATABASE}: nothing was graded yet"
    assert not (home / DATABASE).exists()


def test_wrong_settings_are_told_before_the_conversation(talk: Talk, home: Path) -> None:
    ended = talk(lines(OPENING), "mcp", "--config", "none.toml")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"grader-daemon: --config names {home}/none.toml, which is not a file\n"


@pytest.mark.parametrize(
    "given", [pytest.param("5", id="a-number"), pytest.param('"~no-such-user/x"', id="nobodys-home")]
)
def test_a_path_that_is_none_is_told(talk: Talk, home: Path, given: str) -> None:
    (home / "config.toml").write_text(f"db_path = {given}\n")
    ended = talk(lines(OPENING), "mcp", "--config", "config.toml")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"grader-daemon: setting db_path ({home}/config.toml): ")


def test_a_wrong_path_of_the_usual_settings_is_told_too(talk: Talk, home: Path) -> None:
    settings = home / ".config/grader-daemon/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("db_path = 5\n")
    ended = talk(lines(OPENING), "mcp")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"grader-daemon: setting db_path ({settings}): ")


def test_an_input_that_is_closed_has_no_conversation(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run(home, "mcp") == Ended(0, "", "")


def test_a_person_who_calls_it_is_told_what_it_is_for(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.BytesIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(terminal))
    ended = run(home, "mcp")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "docs/mcp.md" in ended.stderr
