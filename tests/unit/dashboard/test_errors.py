"""Errors: which are listed, what is told of one, and what a person says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from grader_daemon.dashboard.addresses import message_address
from grader_daemon.domain.analysis import Category, ErrorSign, Failure, FailureKind, Step
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import ACCESS

Fail = Callable[..., None]


@pytest.fixture
def fail(tmp_path: Path) -> Fail:
    """Save sessions that failed once each, and went on with a step that worked."""

    def save(fingerprint: str, *, sessions: int = 1, said: str = "No such host", tool: str = "terminal") -> None:
        step = Step("read_file", None, True)
        failure = Failure(
            207, tool, Category.TIMEOUT, "curl", fingerprint, step, FailureKind.RECOVERED, named="example.org"
        )
        sign = ErrorSign(
            fingerprint=fingerprint,
            tool=tool,
            command="curl",
            category=Category.TIMEOUT,
            signal=said,
            example=f"{said}: <b>example.org</b>",
        )
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            for number in range(sessions):
                made = grade(
                    session_id=f"{fingerprint}/{number}",
                    session_file=f"/s/{fingerprint}-{number}.json",
                    ended_at=NOW,
                    ended_on=NOW.date().isoformat(),
                    failures=(failure,),
                    total_errors=1,
                )
                save_grades(store, [msgspec.structs.replace(new_grade(made), signs=(sign,))])

    return save


def test_errors_are_listed_with_what_surely_helped(client: TestClient, fail: Fail) -> None:
    fail("1-aaa", sessions=12)
    fail("1-bbb", said="Disk full")
    page = client.get("/errors").text

    assert page.index("No such host") < page.index("Disk full")
    assert page.count("12 of 12") == 2  # sessions that recovered, and what helped
    assert 'data-label="worked after the last error, answered">12 of 12<' in page
    assert "not known yet" in page


def test_errors_are_told_apart_by_what_they_name_and_by_whole_names_of_tools(client: TestClient, fail: Fail) -> None:
    fail("1-aaa", said="No such host: <text>", tool="one__run")
    fail("1-bbb", said="No such host: <text>", tool="two__run")
    page = client.get("/errors").text

    assert page.count("No such host: <strong>example.org</strong>") == 2
    assert "<bdi>one__run curl</bdi>" in page
    assert "<bdi>two__run curl</bdi>" in page


@pytest.mark.parametrize(
    ("query", "is_there"),
    [
        ("days=7", True),
        ("days=all&state=new", True),
        ("state=ignored", False),
        ("state=resolved", False),
    ],
)
def test_errors_are_those_that_the_address_asks_for(
    client: TestClient, fail: Fail, query: str, *, is_there: bool
) -> None:
    fail("1-aaa")

    assert ("No such host" in client.get(f"/errors?{query}").text) is is_there


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("days=0", "days must be a number above 0, or all, not &#39;0&#39;"),
        ("state=gone", "state must be one of new, ongoing, returned, resolved, ignored, not &#39;gone&#39;"),
        ("count=-1", "&#39;-1&#39; is not a valid number of errors"),
        ("count=many", "&#39;many&#39; is not a valid number of errors"),
        ("count=99999999", "&#39;99999999&#39; is not a valid number of errors"),
    ],
)
def test_address_that_asks_for_no_list_is_refused_in_words(
    client: TestClient, fail: Fail, query: str, said: str
) -> None:
    fail("1-aaa")
    answer = client.get(f"/errors?{query}")

    assert answer.status_code == 400
    assert said in answer.text


def test_list_goes_on_where_it_was_cut(client: TestClient, fail: Fail) -> None:
    for number in range(3):
        fail(f"1-aaa{number}")
    page = client.get("/errors?days=7&count=2").text

    assert page.count('<th scope="row"') == 2
    assert 'href="/errors?count=52"' in page
    assert "Show more" not in client.get("/errors").text


def test_one_error_leads_to_the_messages_that_prove_it(client: TestClient, fail: Fail) -> None:
    fail("1-aaa", sessions=2)
    page = client.get("/errors/1-aaa").text

    assert 'href="/session/1-aaa%2F0?from=200#m207"' in page
    assert "&lt;b&gt;example.org&lt;/b&gt;" in page
    assert "/sessions?issue=1-aaa" in page


def test_first_page_has_a_card_for_a_new_error_behind_more_frequent_known_ones(client: TestClient, fail: Fail) -> None:
    for known in ("1-aaa", "1-bbb", "1-ccc"):
        fail(known, sessions=3)
        client.post(f"/errors/{known}", data={"mark": "resolve", "form_token": ACCESS.form_token})
    fail("1-ddd", sessions=2, said="Disk full")

    assert "Disk full in 2 sessions" in re.sub(r"<[^>]+>", "", client.get("/").text)


def test_error_that_is_none_is_said_in_one_line(client: TestClient, fail: Fail) -> None:
    fail("1-aaa")
    answer = client.get("/errors/9-zzz")

    assert answer.status_code == 404
    assert "no error group has an id that begins with &#39;9-zzz&#39;" in answer.text


def test_what_a_person_says_of_an_error_is_noted_and_withdrawn(client: TestClient, fail: Fail) -> None:
    fail("1-aaa")
    states = []
    for mark in ("resolve", "ignore", "reopen"):
        answer = client.post("/errors/1-aaa", data={"mark": mark, "form_token": ACCESS.form_token})
        assert (answer.status_code, answer.headers["location"]) == (303, "/errors/1-aaa")
        page = client.get("/errors/1-aaa").text
        states += [each for each in ("new", "resolved", "ignored") if f'class="state {each}">{each}' in page]

    assert states == ["resolved", "ignored", "new"]


def test_error_is_marked_in_no_other_way(client: TestClient, fail: Fail) -> None:
    fail("1-aaa")
    answer = client.post("/errors/1-aaa", data={"mark": "delete", "form_token": ACCESS.form_token})

    assert answer.status_code == 400
    assert "resolve, ignore, reopen" in answer.text


def test_the_surest_step_stands_first(client: TestClient, fail: Fail, tmp_path: Path) -> None:
    fail("1-aaa", sessions=6)
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        store.connection.execute("INSERT INTO issue_steps SELECT fingerprint, day, 'ls', '', 60, 2, 2 FROM issue_steps")
    page = client.get("/errors/1-aaa").text.partition("What agents tried next")[2]

    assert page.index("6 of 6") < page.index("2 of 60")
    assert "After any" not in page


def test_what_was_tried_after_other_failures_of_the_cause_is_folded_away(client: TestClient, fail: Fail) -> None:
    fail("1-aaa")
    fail("1-bbb", sessions=6)
    folded = client.get("/errors/1-aaa").text.partition("<summary>After any timeout in ")[2]

    assert "terminal" in folded.partition("</summary>")[0]
    assert "7 of 7" in folded.partition("</table>")[0]


def test_rarer_steps_are_folded_away(client: TestClient, fail: Fail, tmp_path: Path) -> None:
    fail("1-aaa")
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        store.connection.execute(
            "INSERT INTO issue_steps SELECT fingerprint, day, tool || value, command, 1, 0, 0"
            " FROM issue_steps, json_each('[1,2,3,4,5,6,7,8,9]')"
        )

    assert "2 more steps" in client.get("/errors/1-aaa").text


@pytest.mark.parametrize(
    ("index", "address"),
    [
        (None, "/session/a%2Fb"),
        (0, "/session/a%2Fb#m0"),
        (199, "/session/a%2Fb#m199"),
        (200, "/session/a%2Fb?from=200#m200"),
    ],
)
def test_message_is_on_the_page_that_holds_it(index: int | None, address: str) -> None:
    assert message_address("a/b", index) == address
