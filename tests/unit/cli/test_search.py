"""``search``: what it takes to turn it on, hits with their verdicts, and the document."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon.api.grader import SelfGrader
from grader_daemon.messages.job import message_jobs
from grader_daemon.messages.store import MessageIndex
from grader_daemon.settings import load_settings
from tests.e2e.session_files import write
from tests.strategies import json_answer, json_user
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two sessions about wombats, whose messages are indexed."""
    for number in range(2):
        write(tmp_path / ".timmy/sessions", f"s{number}", [json_user(f"Feed wombat {number}"), json_answer("Fed.")])
    settings = load_settings(db_path=tmp_path / DATABASE, watch_roots=(tmp_path / ".timmy",), message_search_days=3_650)
    with SelfGrader(settings=settings) as grader:
        grader.grade_latest_sessions()
        (job,) = message_jobs(settings, grader.context.writable, is_settled=lambda: True)
        job.run(grader.context.now())
    return tmp_path


@pytest.fixture
def turned_on(home: Path, run: Run) -> Path:
    run(home, "config", "set", "message_search_days", "3650")
    return home


def test_off_it_says_what_it_would_take_and_how_to_turn_it_on(home: Path, run: Run) -> None:
    ended = run(home, "search", "wombat")

    assert ended.returncode == 2
    assert "about 0 MB for 2 sessions of 92 days" in ended.stderr
    assert "grader-daemon config set message_search_days 92" in ended.stderr


def test_hits_are_told_with_their_verdicts(turned_on: Path, run: Run) -> None:
    text = run(turned_on, "search", "wombat").stdout

    assert "Feed wombat 0" in text
    assert "message 0" in text
    assert "2 sessions searched." in text


def test_no_hit_says_how_many_sessions_were_searched_and_are_not_indexed_yet(turned_on: Path, run: Run) -> None:
    with closing(MessageIndex(turned_on / DATABASE)) as index:
        [one, _] = index.digests()
        index.forget([one])

    text = run(turned_on, "search", "walrus").stdout

    assert text.startswith("No message found. 1 session searched. 1 session is not indexed yet; the daemon does it ")
    assert "To start it: grader-daemon run" in text


@pytest.mark.parametrize("verdict", ["no-answer", "no_answer"])
def test_both_spellings_of_a_verdict_are_understood(turned_on: Path, run: Run, verdict: str) -> None:
    for command in (["search", "wombat"], ["list"], ["export"]):
        assert run(turned_on, *command, "--verdict", verdict).returncode == 0
    assert run(turned_on, "list", f"verdict:{verdict}").returncode == 0


def test_a_filter_leaves_out_what_is_not_meant(turned_on: Path, run: Run) -> None:
    assert "Feed wombat" not in run(turned_on, "search", "wombat", "--model", "another").stdout


def test_the_document_has_each_hit(turned_on: Path, run: Run) -> None:
    found = json.loads(run(turned_on, "search", "wombat", "-n", "1", "--json").stdout)

    assert (len(found["hits"]), found["is_more"], found["sessions"]) == (1, True, 2)
    assert found["hits"][0]["index"] == 0


def test_without_a_word_it_says_what_to_do(turned_on: Path, run: Run) -> None:
    ended = run(turned_on, "search")

    assert ended.returncode == 2
    assert "give the words to search for" in ended.stderr
