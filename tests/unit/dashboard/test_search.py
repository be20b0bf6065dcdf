"""The page that searches messages: off, without a word, with hits, and with what others wrote in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader_daemon.api.grader import SelfGrader
from grader_daemon.messages.job import message_jobs
from grader_daemon.settings import load_settings
from tests.e2e.session_files import PERMISSION_DENIED, write
from tests.strategies import json_answer, json_round, json_user
from tests.unit.dashboard.conftest import MakeClient


@pytest.fixture
def client(client_of: MakeClient, tmp_path: Path) -> TestClient:
    """A page of a home in which a session asks for wombats, and its messages are indexed."""
    write(tmp_path / "sessions", "told", [json_user("Feed the <b>wombats</b>"), json_answer("They are fed.")])
    fed = json_answer("The wombat is gone.")
    write(tmp_path / "sessions", "other", [json_user("Where is my wombat?"), *json_round(PERMISSION_DENIED), fed])
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
    assert "3 messages shown; 2 sessions searched" in text
    assert 'class="verdict ' in text


def test_hits_of_a_session_stand_together(client: TestClient) -> None:
    text = client.get("/search?text=wombat").text
    other = text.partition(">Where is my wombat?</a>")[2].partition("</li>")[0]

    assert re.findall(r'class="at" href="([^"]+)"', other) == ["/session/other#m0", "/session/other#m3"]


@pytest.mark.parametrize(
    ("line", "told", "missing"),
    [
        pytest.param("permission-denied", "/session/other", "/session/told", id="an-error"),
        pytest.param("model:nobody", "No message contains", "/session/other", id="a-model-of-no-session"),
        pytest.param("nonsense", "nonsense is not a filter", "/session/other", id="no-filter"),
    ],
)
def test_hits_are_narrowed_by_a_line_of_filters(client: TestClient, line: str, told: str, missing: str) -> None:
    text = client.get(f"/search?text=wombat&line={line}").text

    assert told in text
    assert missing not in text


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
    (tmp_path / "grades.messages.db").unlink()

    assert "grader-daemon search" in client_of(tmp_path / "grades.db").get("/search?text=wombat").text


def test_turned_on_since_the_page_began_it_says_to_begin_again(
    client_of: MakeClient, client: TestClient, tmp_path: Path
) -> None:
    assert client.get("/search").status_code == 200

    assert "restart the dashboard" in client_of(tmp_path / "grades.db").get("/search?text=wombat").text


def test_palette_has_the_first_message_of_each_session_with_its_verdict(client: TestClient) -> None:
    found = [each for each in client.get("/palette.json?text=wombat").json() if each["kind"].startswith("message")]

    assert {(each["words"], each["address"].partition("?")[0]) for each in found} == {
        ("Where is my wombat?: The wombat is gone.", "/session/other#m3"),
        ("Feed the <b>wombats</b>: Feed the <b>wombats</b>", "/session/told#m0"),
    }
    assert all(each["kind"].removeprefix("message, ") in ("done", "not done", "unsure", "no answer") for each in found)


def test_palette_has_no_messages_where_these_are_not_searched(
    client_of: MakeClient, client: TestClient, tmp_path: Path
) -> None:
    assert "message" in client.get("/palette.json?text=wombat").text

    assert "message" not in client_of(tmp_path / "grades.db").get("/palette.json?text=wombat").text
