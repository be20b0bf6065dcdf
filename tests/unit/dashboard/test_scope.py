"""The scope of the pages: it stands in every link of the bar, and pages show what it says, or say that they do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from html import unescape
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from grader_daemon.dashboard.addresses import BAR, GRADER
from grader_daemon.dashboard.scope import Scope, read_scope
from grader_daemon.domain.analysis import Category, ErrorSign, Failure
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.errors import InputError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import MakeClient

_SCOPED = ("/", "/sessions", "/errors", "/alerts", "/changes", "/usage", "/reports")
_SCOPE = "days=30&project=%2Fshop&agent=codex&kind=main"


@pytest.fixture
def client(client_of: MakeClient, tmp_path: Path) -> TestClient:
    """A client of a home with sessions of two projects, two agents and a schedule; some are older than a week.

    Number 0 to 5 of hermes in /shop, 6 to 9 of codex in /site, 10 and 11 scheduled ones of codex in /shop; every second
    one ended 20 days ago.
    """
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        for number in range(12):
            ended = NOW - timedelta(days=20 * (number % 2), minutes=number)
            failure = Failure(1, "terminal", Category.TIMEOUT, "curl", f"1-{'shop' if number < 6 else 'site'}")
            made = grade(
                session_id=f"s{number}",
                session_file=f"/s/{number}.json",
                task_summary=f"Task {number}",
                project="/shop" if number < 6 or number > 9 else "/site",
                agent="hermes" if number < 6 else "codex",
                kind=SessionKind.CRON if number > 9 else SessionKind.MAIN,
                ended_at=ended,
                ended_on=f"{ended:%Y-%m-%d}",
                ending=EndingKind.ANSWERED,
                standing=ResultStanding.CHECK_FAILED if number < 6 else ResultStanding.CLAIMED,
                task_completed=number > 5,
                cost_usd=1.0,
                failures=(failure,),
                total_errors=1,
            )
            save_grades(store, [msgspec.structs.replace(new_grade(made), signs=(_sign(failure),))])
    return client_of(tmp_path / "grades.db")


def _sign(failure: Failure) -> ErrorSign:
    assert failure.fingerprint is not None
    named = f"Nothing in {failure.fingerprint[2:]}"
    return ErrorSign(
        fingerprint=failure.fingerprint,
        tool="terminal",
        command="curl",
        category=Category.TIMEOUT,
        signal=named,
        example=named,
    )


def text_of(client: TestClient, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", answer.text).split()))


def ids_of(client: TestClient, address: str) -> set[int]:
    return {int(each) for each in re.findall(r'data-id="s(\d+)"', client.get(address).text)}


@pytest.mark.parametrize("address", [*_SCOPED, "/trust", "/health", "/session/s1", "/search"])
def test_scope_stands_in_every_link_of_the_bar(client: TestClient, address: str) -> None:
    header = client.get(f"{address}?{_SCOPE}").text.partition("<header")[2].partition("</header>")[0]
    links = {unescape(each) for each in re.findall(r'href="([^"]*)"', header)}

    assert links == {f"{each.address}?{_SCOPE}" for each in (*BAR, *GRADER)}


@pytest.mark.parametrize("address", _SCOPED)
def test_choices_are_on_every_page_of_the_bar_and_keep_each_other(client: TestClient, address: str) -> None:
    line = client.get(f"{address}?{_SCOPE}&state=new").text.partition('<form class="scope"')[2].partition("</form>")[0]
    days = {words: unescape(link) for link, words in re.findall(r'href="([^"]*)"[^>]*>([^<]+)</a>', line)}

    rest = "project=%2Fshop&agent=codex&kind=main&state=new"
    assert days == {
        "7 days": f"{address}?{rest}",
        "30 days": f"{address}?days=30&{rest}",
        "90 days": f"{address}?days=90&{rest}",
        "all time": f"{address}?days=all&{rest}",
    }
    assert re.findall(r'aria-current="true">([^<]+)<', line) == ["30 days"]
    assert re.findall(r'<option value="([^"]*)" selected', line) == ["/shop", "codex", "main"]
    assert 'name="state" value="new"' in line
    assert 'name="days" value="30"' in line


def test_usual_scope_stands_in_no_address(client: TestClient) -> None:
    text = client.get("/sessions").text

    assert "days=7" not in text
    assert '<a href="/sessions" aria-current="true">7 days</a>' in text


@pytest.mark.parametrize("query", ["days=0", "days=x", "days=9999999999", "kind=mine"])
@pytest.mark.parametrize("address", ["/", "/sessions", "/usage"])
def test_scope_that_is_none_is_said_in_words(client: TestClient, address: str, query: str) -> None:
    answer = client.get(f"{address}?{query}")

    assert answer.status_code == 400
    assert f"{query.partition('=')[0]} must be " in answer.text


@pytest.mark.parametrize(
    ("query", "scope"),
    [
        pytest.param({}, Scope(), id="usual"),
        pytest.param({"days": "all"}, Scope(days=None), id="all-days"),
        pytest.param({"host": "desk"}, Scope(host="desk"), id="a-machine"),
        pytest.param({"days": "14", "kind": "cron"}, Scope(days=14, kind=SessionKind.CRON), id="several"),
    ],
)
def test_scope_is_read_as_it_is_written(query: Mapping[str, str], scope: Scope) -> None:
    assert read_scope(query) == scope
    assert scope.query == query


def test_of_several_groups_the_sums_are_of_the_first() -> None:
    scope = Scope(agent="codex", host="desk")

    assert scope.group == (Dimension.AGENT, "codex")
    assert "not filtered by machine desk:" in scope.beyond_the_sums
    assert Scope(host="desk").group == (Dimension.HOST, "desk")


def test_number_of_days_is_bounded() -> None:
    with pytest.raises(InputError, match="days must be a number above 0, or all"):
        read_scope({"days": "1" * 5000})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", {0, 2, 4, 6, 8, 10}, id="seven-days"),
        pytest.param("?days=30", set(range(12)), id="thirty-days"),
        pytest.param("?days=all&project=/site", {6, 7, 8, 9}, id="project"),
        pytest.param("?agent=codex&kind=main", {6, 8}, id="agent-and-people"),
        pytest.param("?kind=cron&days=30", {10, 11}, id="scheduled"),
        pytest.param("?text=task", set(range(12)), id="words-mean-all-days"),
        pytest.param("?text=task&days=7", {0, 2, 4, 6, 8, 10}, id="words-of-seven-days"),
        pytest.param("?issue=1-site", {6, 7, 8, 9}, id="an-error-means-all-days"),
    ],
)
def test_sessions_are_those_of_the_scope(client: TestClient, query: str, expected: set[int]) -> None:
    assert ids_of(client, f"/sessions{query}") == expected


def test_days_of_a_search_are_said_to_be_all_and_can_be_chosen(client: TestClient) -> None:
    text = client.get("/sessions?text=task").text

    assert '<a href="/sessions?days=all&amp;text=task" aria-current="true">all time</a>' in text
    assert '<a href="/sessions?days=7&amp;text=task">7 days</a>' in text


def test_today_has_the_figures_of_a_project_and_of_a_schedule(client: TestClient) -> None:
    whole, shop, jobs = (text_of(client, f"/?{query}") for query in ("", "project=/shop", "kind=cron&days=30"))

    assert "5 sessions counted" in whole
    assert "3 sessions counted" in shop
    assert re.search(r"Bad endings 100 % \S+ %, 3 sessions", shop)
    assert "Errors and alerts cover all sessions." in shop
    assert "2 sessions counted" in jobs
    assert ids_of(client, "/?project=/site") == {6, 7, 8, 9}
    assert client.get("/?agent=nobody").status_code == 404
    assert "Bad endings \N{EN DASH} no sessions" in text_of(client, "/?project=/nowhere")


def test_what_sums_cannot_tell_is_said(client: TestClient) -> None:
    for address in ("/", "/usage"):
        assert "Figures are not filtered by agent codex" in text_of(client, f"{address}?project=/shop&agent=codex")
        assert "Figures are not filtered by scheduled work" in text_of(client, f"{address}?project=/shop&kind=cron")
        assert "not filtered" not in text_of(client, f"{address}?project=/shop&kind=main")
        assert "Only the last 366 days are shown." in text_of(client, f"{address}?days=all")
    for address in ("/alerts", "/reports"):
        assert "the filters above do not apply here" in text_of(client, address)


def test_errors_are_those_of_sessions_in_the_scope(client: TestClient) -> None:
    assert {"Nothing in shop", "Nothing in site"} <= {*re.findall(r"Nothing in \w+", text_of(client, "/errors"))}
    narrowed = text_of(client, "/errors?project=/site")

    assert re.findall(r"Nothing in \w+", narrowed) == ["Nothing in site"]
    assert "figures cover all sessions" in narrowed
    assert re.findall(r"Nothing in \w+", text_of(client, "/errors?agent=hermes&days=all")) == ["Nothing in shop"]
    assert "Only errors in people's sessions count." in text_of(client, "/errors?kind=cron")


def test_usage_is_that_of_one_group(client: TestClient) -> None:
    shop, jobs, people = (text_of(client, f"/usage?{query}") for query in ("project=/shop", "kind=cron", "kind=main"))

    assert "Spent $4.00 known for all 4 sessions" in shop
    assert "$3.00 went to 3 sessions that were not done or ended badly" in shop
    assert "Split by" not in client.get("/usage?project=/shop").text
    assert "Spent $1.00" in jobs
    assert "Spent $5.00" in people
    assert "Spent $6.00" in text_of(client, "/usage")
    lines = client.get("/usage.csv?agent=hermes").text.splitlines()[1:]
    assert lines
    assert all(",hermes," in each for each in lines)
    assert "No session finished in these days." in text_of(client, "/usage?project=/nowhere&show=sessions")
