"""The page that searches messages: off, without a word, with hits, and with what others wrote in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader_daemon.api.grader import SelfGrader
from grader_daemon.messages.job import message_jobs
from grader_daemon.settings import load_settings
from tests.e2e.session_files import write
from tests.strategies import json_answer, json_user
from tests.unit.dashboard.conftest import MakeClient


@pytest.fixture
def client(client_of: MakeClient, tmp_path: Path) -> TestClient:
    """A page of a home in which a session asks for wombats, and its messages are indexed."""
    write(tmp_path / "sessions", "told", [json_user("Feed the <b>wombats</b>"), json_answer("They are fed.")])
    settings = load_settings(
        db_path=tmp_path / "grades.db", watch_roots=(tmp_path / "sessions",), message_search_days=3_650
    )
    with SelfGrader(settings=settings) as grader:
        grader.grade_latest_sessions()
        (job,) = message_jobs(settings, grader.context.writable, is_settled=lambda: True)
        assert job.run(grader.context.now())
    return client_of(tmp_path / "grades.db", message_search_days=3_650)


def test_a_hit_leads_to_its_message_and_tells_how_the_session_ended(client: TestClient) -> None:
    text = client.get("/search?text=wombat").text

    assert 'href="/session/told#m0"' in text
    assert "Feed the &lt;b&gt;wombats&lt;/b&gt;" in text
    assert "1 shown; 1 session searched" in text
    assert 'class="verdict ' in text


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("", "<h1>Search messages</h1>"),
        ("?text=platypus", "No message contains all"),
        ("?text=%3F", "no word to search for"),
    ],
    ids=["nothing-asked", "nothing-found", "no-word"],
)
def test_where_nothing_is_found_that_is_said(client: TestClient, asked: str, words: str) -> None:
    answer = client.get(f"/search{asked}")

    assert answer.status_code == 200
    assert words in answer.text


def test_the_list_of_sessions_leads_to_it_with_the_same_words(client: TestClient) -> None:
    assert 'href="/search?text=feed%20it"' in client.get("/sessions?text=feed+it").text


def test_off_it_says_which_command_tells_more(client_of: MakeClient, client: TestClient, tmp_path: Path) -> None:
    assert client.get("/search").status_code == 200
    assert "grader-daemon search" in client_of(tmp_path / "grades.db").get("/search?text=wombat").text
