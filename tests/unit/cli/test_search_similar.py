from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.domain.installed import SkillHow, SkillUse
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.wording import wording_of
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade
from tests.unit.cli.conftest import Run

TASK = "Deploy the release to production"
DATABASE = Path(".timmy/uniwizard/session_grades.db")
HOSTILE = "evil\x1b[31m\u202e"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which a task was done by ten sessions, of which every second ended badly."""
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    store = SqliteStore(tmp_path / DATABASE, host="here")
    made = [
        grade(
            session_id=f"s{number}",
            ended_at=NOW + timedelta(minutes=number),
            ending=EndingKind.GAVE_UP if number % 2 else EndingKind.ANSWERED,
            standing=ResultStanding.NO_CLAIM,
            wording=wording_of(TASK.lower()),
            model=HOSTILE,
            skills=(SkillUse(HOSTILE, SkillHow.VIEW),) if number < 4 else (),
        )
        for number in range(10)
    ]
    brief = [grade(session_id="brief", session_file="/s/brief.json", task_summary="Delete it")]
    with store.transaction():
        save_grades(store, [new_grade(each) for each in (*made, grade(session_id="other", task_summary=None), *brief)])
    store.close()
    return tmp_path


def test_what_became_of_a_request_is_told_with_its_numbers(home: Path, run: Run) -> None:
    text = run(home, "search", "--similar", TASK, "now").stdout
    assert "in 10 other sessions: 0 in the same words, 10 in nearly the same" in text
    assert "bad endings 50 % (24" in " ".join(text.split())  # Wilson, of 5 of 10
    assert re.search(r"^evil\S* +4 +4 +0 +0  too few sessions \(4\)$", text, re.MULTILINE)
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_session_is_not_counted_among_the_others(home: Path, run: Run) -> None:
    text = run(home, "search", "--similar", "s9").stdout
    assert "in 9 other sessions: 9 in the same words" in text


def test_the_document_holds_all_of_it(home: Path, run: Run) -> None:
    document = json.loads(run(home, "search", "--similar", TASK, "--json", "-n", "2").stdout)
    assert (document["same"], document["near"]) == (10, 0)
    assert document["ended_badly"]["value"] == 0.5
    assert [each["session_id"] for each in document["sessions"]] == ["s9", "s8"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param("nobody", "no graded session has an id that begins with 'nobody'", id="unknown-session"),
        pytest.param("other", "its request is unknown; if an earlier version graded it", id="no-wording"),
        pytest.param("brief", "its request is too short to find similar tasks: it needs 16", id="short-request"),
        pytest.param("go on", "'go on' is too short to find similar tasks; give ", id="too-short"),
    ],
)
def test_what_cannot_be_answered_is_one_line(home: Path, run: Run, asked: str, words: str) -> None:
    ended = run(home, "search", "--similar", *asked.split())
    assert ended.returncode == 2
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_request_that_nobody_else_had_is_said(home: Path, run: Run) -> None:
    assert run(home, "search", "--similar", "Write", "a", "poem", "about", "the", "sea").stdout == (
        "Same task in no other finished session.\n"
    )
