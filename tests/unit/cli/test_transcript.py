from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from tests.e2e.session_files import turns, write
from tests.strategies import json_answer, json_round, json_user
from tests.unit.cli.conftest import Run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    messages = [{"role": "system", "content": "You are Timmy."}, *turns(4)]
    write(tmp_path / ".timmy" / "sessions", "told", messages)
    database = tmp_path / ".timmy" / "uniwizard" / "session_grades.db"
    with SelfGrader(db_path=database, watch_roots=[tmp_path / ".timmy"]) as grader:
        grader.grade_latest_sessions()
    return tmp_path


def test_a_transcript_shows_every_message_and_folds_instructions(home: Path, run: Run) -> None:
    shown = run(home, "show", "told", "--transcript").stdout.splitlines()

    assert shown[0] == "told: Fix the date parser"
    assert [line for line in shown if line.startswith("Message ")] == [
        *("Message 0: system", "Message 1: user"),
        *(f"Message {index}: {who}" for index, who in enumerate(["assistant", "tool terminal"] * 4, 2)),
        "Message 10: assistant",
    ]
    assert "    (14 more characters: --around 0)" in shown
    assert not any("You are Timmy" in line for line in shown)


def test_the_neighbours_of_a_message(home: Path, run: Run) -> None:
    shown = run(home, "show", "told", "--around", "0").stdout

    assert "You are Timmy." in shown
    assert "Message 3: tool terminal" in shown
    assert "Message 4:" not in shown
    assert shown.endswith("\n4 of 11 messages.\n")


def test_a_transcript_as_json(home: Path, run: Run) -> None:
    document = json.loads(run(home, "show", "told", "--around", "10", "--json").stdout)

    assert (document["schema_version"], document["session_id"], document["total"]) == (1, "told", 11)
    assert [message["index"] for message in document["messages"]] == [7, 8, 9, 10]


def test_a_message_that_is_not_there_is_one_line(home: Path, run: Run) -> None:
    ended = run(home, "show", "told", "--around", "11")

    assert ended.returncode == 2
    assert ended.stderr == "grader-daemon: there is no message 11; the session has 11, numbered from 0\n"


def test_why_leads_to_the_messages(home: Path, run: Run) -> None:
    assert "grader-daemon show told --around N" in run(home, "why", "told").stdout


def test_why_says_what_a_probability_is_worth_where_a_session_was_left(tmp_path: Path, run: Run) -> None:
    called = json_round('{"output": "ok", "exit_code": 0, "error": null}')
    write(tmp_path / ".timmy" / "sessions", "told", [json_user("Look"), *called], age=3600)
    database = tmp_path / ".timmy" / "uniwizard" / "session_grades.db"
    with SelfGrader(db_path=database, watch_roots=[tmp_path / ".timmy"]) as grader:
        grader.grade_latest_sessions()

    assert re.search(r"\nprobability = \d+ %\nThe session stopped early: ", run(tmp_path, "why", "told").stdout)


def test_failures_that_were_expected_are_told_apart(tmp_path: Path, run: Run) -> None:
    missing = json_round('{"output": "", "exit_code": 1, "error": null}', arguments='{"command": "which jq"}')
    write(tmp_path / ".timmy" / "sessions", "told", [json_user("Look"), *missing, json_answer("It is not there.")])
    database = tmp_path / ".timmy" / "uniwizard" / "session_grades.db"
    with SelfGrader(db_path=database, watch_roots=[tmp_path / ".timmy"]) as grader:
        grader.grade_latest_sessions()

    assert "    ▸ expected failure: command failed, a probe\n" in run(tmp_path, "show", "told", "--transcript").stdout
    assert "0 (0.00 per assistant message); 1 more expected (probes)\n" in run(tmp_path, "show", "told").stdout
