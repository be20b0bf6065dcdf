"""The list: what an address asks for, and what is said where it asks for nothing that there is."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.session_filter import ADDRESSED
from grader_daemon.dashboard import saved_views
from grader_daemon.dashboard.pages import sessions
from grader_daemon.dashboard.pages.sessions import VIEWS
from grader_daemon.domain.analysis import Category, Failure, FailureKind
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import write
from tests.strategies import NOW, grade, json_answer, json_round, json_user, new_grade
from tests.unit.dashboard.conftest import ACCESS, MakeClient

_COUNT = 120


@pytest.fixture
def client(client_of: MakeClient, tmp_path: Path) -> TestClient:
    """A client of a home with 120 sessions, one each hour: s0 is the newest; every third is not done."""
    store = SqliteStore(tmp_path / "grades.db")
    made = [
        grade(
            session_id=f"s{number}",
            session_file=f"/s/{number}.json",
            ended_at=NOW - timedelta(hours=number),
            task_summary=f"Task {number} <b>&",
            task_completed=number % 3 > 0,
            model="opus" if number % 2 else "haiku",
            total_errors=number % 5,
        )
        for number in range(_COUNT)
    ]
    with store.transaction():
        save_grades(store, [new_grade(each) for each in made])
    store.close()
    return client_of(tmp_path / "grades.db")


def _ids(text: str) -> list[str]:
    return re.findall(r'<tr role="row" data-id="([^"]+)"', text)


def _numbers(ids: Sequence[str]) -> list[int]:
    return [int(each[1:]) for each in ids]


def test_pages_follow_each_other_without_a_gap(client: TestClient) -> None:
    seen: list[str] = []
    address = "/sessions"
    while address:
        text = client.get(address).text
        seen += _ids(text)
        found = re.search(r'class="next" href="([^"]+)"', text)
        address = found[1].replace("&amp;", "&") if found else ""
    assert _numbers(seen) == list(range(_COUNT))


def _link(text: str, name: str) -> str:
    found = re.search(rf'class="{name}" href="([^"]+)"', text)
    return found[1].replace("&amp;", "&") if found else ""


@pytest.mark.parametrize("query", ["", "?sort=errors", "?sort=probability&reverse=1", "?sort=cost"])
def test_pages_say_which_sessions_they_show_and_lead_back_the_same_way(client: TestClient, query: str) -> None:
    texts = [client.get(f"/sessions{query}").text]
    while following := _link(texts[-1], "next"):
        texts.append(client.get(following).text)
    there = [_ids(text) for text in texts]

    assert [re.findall(r'data-live="place">([^<]*)<', text) for text in texts] == [
        *(
            ["1\N{EN DASH}50 of 120 sessions"],
            ["51\N{EN DASH}100 of 120 sessions"],
            ["101\N{EN DASH}120 of 120 sessions"],
        )
    ]
    back = [there[-1]]
    while previous := _link(texts[-1], "previous"):
        texts.append(client.get(previous).text)
        back.append(_ids(texts[-1]))
    assert back == there[::-1]


def test_of_very_many_sessions_it_is_said_that_there_are_more(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_COUNTED", 60)
    first = client.get("/sessions").text
    second = client.get(_link(first, "next")).text
    third = client.get(_link(second, "next")).text

    assert "1\N{EN DASH}50 of 60 or more sessions" in first
    assert "51\N{EN DASH}100 of 60 or more sessions" in second
    assert "after the first 60 sessions" in third
    assert '<a href="/sessions">First page</a>' in third


def test_heads_sort_the_highest_first_and_then_the_lowest(client: TestClient) -> None:
    text = client.get("/sessions?model=opus&sort=errors").text
    heads = dict(re.findall(r'aria-sort="(\w+)"><a href="[^"]*">(\w+)', text))
    links = {
        words: link.replace("&amp;", "&") for link, words in re.findall(r'<a href="([^"]*)">([^<]*)</a></th>', text)
    }

    assert heads == {"descending": "failures"}
    assert links["failures"] == "/sessions?model=opus&sort=errors&reverse=1"
    assert links["likely done"] == "/sessions?model=opus&sort=probability"
    assert links["ended"] == "/sessions?model=opus"
    lowest = client.get(links["failures"]).text
    assert 'aria-sort="ascending"' in lowest
    assert {number % 5 for number in _numbers(_ids(lowest))[:10]} == {0}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("verdict=not_done", lambda number: number % 3 == 0, id="verdict"),
        pytest.param("model=opus&verdict=done", lambda n: n % 2 == 1 and n % 3 > 0, id="several"),
        pytest.param("model=Opu", lambda number: number % 2 == 1, id="a-part-of-one-model"),
        pytest.param("model=u", lambda _: True, id="a-part-of-several-models"),
        pytest.param("since=24h", lambda number: number <= 24, id="since"),
        pytest.param("until=24h", lambda number: number > 24, id="until"),
        pytest.param("text=task+7", lambda number: number == 7 or 70 <= number < 80, id="words-that-begin-so"),
    ],
)
def test_filter_shows_what_it_says(client: TestClient, query: str, expected: object) -> None:
    assert callable(expected)
    shown = _numbers(_ids(client.get(f"/sessions?{query}").text))
    assert shown == [number for number in range(_COUNT) if expected(number)][:50]
    assert shown


def test_a_part_of_a_name_stays_in_the_form(client: TestClient) -> None:
    text = client.get("/sessions?model=u").text
    assert "<option selected>u</option>" in text
    assert "<option selected>" not in client.get("/sessions?model=opus").text


def test_order_is_the_one_that_is_asked_for(client: TestClient) -> None:
    most = _numbers(_ids(client.get("/sessions?sort=errors").text))
    fewest = _numbers(_ids(client.get("/sessions?sort=errors&reverse=1").text))
    assert {number % 5 for number in most[:24]} == {4}
    assert {number % 5 for number in fewest[:24]} == {0}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param("verdict=perhaps", "verdict must be one of done, not_done, unsure, no_answer", id="verdict"),
        pytest.param("state=gone", "state must be one of", id="state"),
        pytest.param("sort=luck", "sort must be one of", id="sort"),
        pytest.param("since=yesterday", "since: ", id="since"),
        pytest.param("text=%3F%3F", "no word to search for", id="no-word"),
        pytest.param("before=%5B1%5D", "belongs to another sort order", id="a-place-of-another-order"),
        pytest.param("before=x", "incomplete", id="no-place"),
        pytest.param("before=%5B1%2C2%5D", "incomplete", id="numbers-for-a-time-and-an-id"),
        pytest.param("sort=cost&before=%5B%22a%22%2C%22b%22%2C%22c%22%5D", "incomplete", id="a-word-for-a-cost"),
    ],
)
def test_what_cannot_be_asked_for_is_said_beside_the_form(client: TestClient, query: str, said: str) -> None:
    answer = client.get(f"/sessions?{query}")
    assert answer.status_code == 400
    assert said in answer.text
    assert '<form class="panel filters"' in answer.text


def test_list_is_a_table_for_other_programs(client: TestClient) -> None:
    page = client.get("/sessions?model=opus&days=30").text
    (address,) = re.findall(r'href="(/sessions\.csv[^"]*)"', page)
    answer = client.get(address.replace("&amp;", "&"))
    rows = list(csv.DictReader(io.StringIO(answer.text)))

    assert answer.headers["content-type"].startswith("text/csv")
    assert [row["session_id"] for row in rows][:50] == _ids(page)
    assert {row["model"] for row in rows} == {"opus"}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param("project=/nowhere", "No sessions match the choices above.", id="a-project"),
        pytest.param("model=gpt-9", "no session has the model", id="a-model"),
        pytest.param("issue=v9", "no error group has an id", id="an-error"),
    ],
)
def test_what_no_session_has_is_an_empty_list(client: TestClient, query: str, said: str) -> None:
    answer = client.get(f"/sessions?{query}")

    assert answer.status_code == 200
    assert said in answer.text
    assert "data-id=" not in answer.text


def test_form_has_a_field_for_every_filter(client: TestClient) -> None:
    text = client.get("/sessions?project=/x&agent=a&kind=main&days=90").text
    forms = text.partition('<form class="scope"')[2].partition('<form method="post"')[0]

    of_which_there_are_none = {"host", "user", "job"}
    assert {*re.findall(r' name="(\w+)"', forms)} == {each.name for each in ADDRESSED} - of_which_there_are_none | {
        "line"
    }


def test_filter_is_taken_away_by_its_own_link(client: TestClient) -> None:
    text = client.get("/sessions?model=opus&verdict=done").text
    links = re.findall(r'<a href="([^"]+)"><span class="unseen">Remove the filter </span>(\w+)', text)
    assert {name: address.replace("&amp;", "&") for address, name in links} == {
        "model": "/sessions?verdict=done",
        "verdict": "/sessions?model=opus",
    }


def test_a_line_of_filters_becomes_the_address_and_stands_above_the_list(client: TestClient) -> None:
    answer = client.get('/sessions?line=failed model:op "task 9" days:30')
    address = "/sessions?verdict=not_done&model=op&text=task+9&days=30"
    assert (answer.status_code, answer.headers["location"]) == (303, address)

    text = client.get(address).text
    assert 'value="not-done model:op days:30 &#34;task 9&#34;"' in text
    assert _numbers(_ids(text)) == [9, 93, 99]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("failed alembic", "alembic is not a filter; write &#34;alembic&#34;", id="a-word"),
        pytest.param("days:many", "days must be a number above 0", id="a-scope-that-is-none"),
        pytest.param("sort:luck", "sort:luck: no such value; known: ", id="a-value-that-is-none"),
    ],
)
def test_a_line_that_is_not_understood_stays_with_what_would_be(client: TestClient, line: str, said: str) -> None:
    answer = client.get(f"/sessions?line={line}")
    assert answer.status_code == 400
    assert said in answer.text
    assert f'value="{line}"' in answer.text


def test_fields_that_nobody_filled_in_do_not_stay_in_the_address(client: TestClient) -> None:
    answer = client.get("/sessions?text=&verdict=&model=opus&days=&sort=")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sessions?model=opus")


def test_failures_of_a_comparison_count_as_the_list_below_does(client_of: MakeClient, tmp_path: Path) -> None:
    kinds = [*([FailureKind.PROBE] * 2), *([FailureKind.HARMFUL] * 2), FailureKind.RECOVERED]
    failures = tuple(Failure(n, "terminal", Category.UNKNOWN, kind=kind) for n, kind in enumerate(kinds))
    failed = grade(session_id="a", session_file="/a", failures=failures, total_errors=3, errors_recovered=True)
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(failed), new_grade(grade(session_id="b", session_file="/b", total_errors=0))])
    text = client_of(tmp_path / "grades.db").get("/compare?id=a&id=b").text

    assert '<td role="cell">3, and 2 probes</td><td role="cell">0</td>' in text
    assert '<td role="cell">1 of 3</td><td role="cell">-</td>' in text


def test_titles_of_sessions_have_no_beginning_that_many_share(client_of: MakeClient, tmp_path: Path) -> None:
    asked = "You are a software engineer who works on the files of a project. Fix number "
    made = [grade(session_id=f"s{n}", session_file=f"/{n}", task_summary=f"{asked}{n}") for n in range(4)]
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(each) for each in made])
    page = client_of(tmp_path / "grades.db").get("/session/s2").text

    assert "<title>… 2 · grader-daemon</title>" in page
    assert f'title="{asked}2">… 2</h1>' in page


def test_two_sessions_stand_side_by_side(client: TestClient) -> None:
    text = client.get("/compare?id=s0&id=s1").text
    assert text.count("Task 0 &lt;b&gt;&amp;") == 2  # as a title, and whole under the pointer
    assert "differs" in text
    assert "haiku" in text
    assert "opus" in text


@pytest.mark.parametrize("ids", [["s1"], [], ["s1", "s2", "s3"]])
def test_only_two_are_compared(client: TestClient, ids: Sequence[str]) -> None:
    answer = client.get(f"/compare?{'&'.join(f'id={quote(each)}' for each in ids)}")
    assert answer.status_code == 400
    assert "choose two sessions in the list" in answer.text


def _say(client: TestClient, mark: str, query: str, **form: str) -> Response:
    data = {"mark": mark, "view": query, "form_token": ACCESS.form_token, **form}
    return client.post("/sessions/views", data=data)


def _views(text: str) -> dict[str, str]:
    """Return the addresses of the views above a list, by their names, after those that are always there."""
    found = re.findall(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', text.partition('class="views"')[2].partition("</nav>")[0])
    return {name: address.replace("&amp;", "&") for address, name in found[len(VIEWS) :]}


def test_a_list_is_kept_under_a_name_until_it_is_removed(client: TestClient) -> None:
    query, address = "model=opus&days=30", "/sessions?model=opus&days=30"
    answer = _say(client, "save", query, name="  Opus <b> ")
    assert (answer.status_code, answer.headers["location"]) == (303, address)
    assert _views(client.get("/sessions?verdict=done").text) == {"Opus &lt;b&gt;": address}
    assert 'aria-current="true">Opus &lt;b&gt;</a>' in client.get(address).text
    assert {each["words"]: each["address"] for each in client.get("/palette.json").json() if "address" in each}[
        "Sessions: Opus <b>"
    ] == address

    assert _say(client, "rename", query, old="Opus <b>", name="Opus").status_code == 303
    assert _views(client.get("/sessions").text) == {"Opus": address}
    assert _say(client, "remove", query, old="Opus", name="").status_code == 303
    assert _views(client.get("/sessions").text) == {}


def test_a_view_that_is_saved_again_asks_for_something_else(client: TestClient) -> None:
    _say(client, "save", "model=opus", name="Mine")
    _say(client, "save", "verdict=done&token=x", name="Mine")
    assert _views(client.get("/sessions").text) == {"Mine": "/sessions?verdict=done"}


@pytest.mark.parametrize(
    ("mark", "query", "form", "said"),
    [
        pytest.param("save", "model=opus", {"name": " "}, "1 to 60 characters", id="no-name"),
        pytest.param("save", "model=opus", {"name": "x" * 61}, "1 to 60 characters", id="a-long-name"),
        pytest.param("save", "verdict=perhaps", {"name": "x"}, "verdict must be one of", id="no-filter"),
        pytest.param("rename", "model=opus", {"old": "b", "name": "a"}, "a view named", id="a-name-that-is-taken"),
        pytest.param("steal", "", {}, "a view can be", id="no-mark"),
    ],
)
def test_what_is_no_view_is_not_kept(
    client: TestClient, mark: str, query: str, form: dict[str, str], said: str
) -> None:
    for name in ("a", "b"):
        _say(client, "save", "model=haiku", name=name)
    answer = _say(client, mark, query, **form)

    assert answer.status_code == 400
    assert said in answer.text
    assert list(_views(client.get("/sessions").text)) == ["a", "b"]


def test_only_so_many_views_are_kept(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_views, "_MOST", 1)
    _say(client, "save", "model=opus", name="a")
    assert "1 views is the maximum" in _say(client, "save", "model=opus", name="b").text
    assert _say(client, "save", "model=haiku", name="a").status_code == 303


def test_steps_of_two_sessions_stand_side_by_side_and_the_first_difference_is_marked(
    client_of: MakeClient, tmp_path: Path
) -> None:
    for name, last in (("one", "make test"), ("other", "tox")):
        output = json.dumps({"output": "no tests", "exit_code": int(name == "one"), "error": None})
        rounds = [
            *json_round("x", call_id="a", arguments='{"command": "ls"}'),
            *json_round(output, call_id="b", arguments='{"command": "pytest"}'),
            *json_round("x", call_id="c", arguments=json.dumps({"command": last})),
        ]
        write(tmp_path / "sessions", name, [json_user("Test it"), *rounds, json_answer("Done.")])
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=tmp_path / "sessions") as grader:
        grader.grade_latest_sessions()
    text = client_of(tmp_path / "grades.db").get("/compare?id=one&id=other").text.partition('id="steps-h"')[2]
    shown = " ".join(re.sub(r"<[^>]+>", " ", text.partition("</section>")[0]).split())

    assert "1 equal step 1 terminal ls 1 terminal ls First difference" in shown
    assert "3 terminal pytest failed 5 terminal make test" not in shown
    assert shown.count("First difference") == 1
    assert shown.count("pytest failed") == 1
    assert 'href="/session/other#m5"' in text


def test_sessions_without_their_files_are_compared_without_steps(client: TestClient) -> None:
    assert 'id="steps-h"' not in client.get("/compare?id=s0&id=s1").text
