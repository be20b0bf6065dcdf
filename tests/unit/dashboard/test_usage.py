"""Usage: what is shown of money and tokens, where it leads, and what is said where nothing is known."""

from __future__ import annotations

import csv
import io
import re
from contextlib import closing
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any, Protocol

import pytest
from starlette.testclient import TestClient

from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import MakeClient

SPENT = {"input_tokens": 1000, "cache_read_tokens": 3000, "output_tokens": 500, "cost_usd": 0.25}
TODAY = f"{NOW:%Y-%m-%d}"


class Fill(Protocol):
    """Save sessions, of which each says how many days ago it ended; return a client of their page."""

    def __call__(self, *made: dict[str, Any]) -> TestClient: ...


@pytest.fixture
def home_with(client_of: MakeClient, tmp_path: Path) -> Fill:
    def filled(*made: dict[str, Any]) -> TestClient:
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            save_grades(store, [new_grade(_made(number, **each)) for number, each in enumerate(made)])
        return client_of(tmp_path / "grades.db")

    return filled


def _first_chart(html: str) -> str:
    return html.partition("<h3>")[0]


def _made(number: int, *, ago: int = 0, **changes: Any) -> Any:
    ended = NOW - timedelta(days=ago)
    recorded = {"ending": EndingKind.ANSWERED, "standing": ResultStanding.CLAIMED}
    timing = {"ended_at": ended, "ended_on": f"{ended:%Y-%m-%d}"}
    return grade(session_id=f"s{number}", session_file=f"/s/{number}.json", **{**recorded, **timing, **changes})


def html_of(client: TestClient, address: str = "/usage") -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.text


def text_of(client: TestClient, address: str = "/usage") -> str:
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", html_of(client, address)).split()))


def days_of(html: str) -> dict[str, str | None]:
    """The days of the picture: what each says, and where it leads."""
    parts = re.findall(r'<(?:a href="([^"]*)" tabindex="-1"|g)><title>([^<]*)</title>', html)
    return {unescape(words): unescape(address) or None for address, words in parts}


def test_totals_stand_beside_the_sessions_that_they_are_known_of(home_with: Fill) -> None:
    said = text_of(home_with(SPENT, SPENT, {"agent": "hermes"}))

    assert "Spent $0.50 known for 2 of 3 sessions (67 %)" in said
    assert "Tokens 9.0 k 2.0 k input, 6.0 k from caches, 1.0 k output known for 2 of 3" in said
    assert "75 % of the input came from caches" in said
    assert "No cost known for some sessions: hermes does not record tokens." in said


def test_money_of_sessions_that_failed_is_a_line_of_its_own(home_with: Fill) -> None:
    said = text_of(home_with(SPENT, {**SPENT, "task_completed": False}))
    assert "$0.25 went to 1 session that was not done or ended badly, 50 % of the cost." in said


def test_where_nothing_is_known_it_says_why_and_shows_what_is(home_with: Fill) -> None:
    client = home_with({"agent": "hermes"})

    said = text_of(client)
    assert "No cost known: hermes does not record tokens." in said
    assert "Sessions by day and model" in said
    assert "$" not in said
    cost = html_of(client, "/usage?show=cost")
    assert 'class="bars"' not in cost
    assert "$0.00" not in cost


def test_day_says_its_values_and_leads_to_its_sessions(home_with: Fill) -> None:
    client = home_with({**SPENT, "model": "large"}, {**SPENT, "ago": 2, "model": "small"}, {"ago": 3})
    days = days_of(_first_chart(html_of(client)))

    assert len(days) == 7
    told = {words[:10]: (words[12:], address) for words, address in days.items()}
    assert told[TODAY] == (
        "$0.25 \N{MIDDLE DOT} 1 session \N{MIDDLE DOT} large $0.25",
        f"/sessions?since={TODAY}&until={NOW + timedelta(days=1):%Y-%m-%d}",
    )
    assert told[f"{NOW - timedelta(days=1):%Y-%m-%d}"] == ("no session finished", None)
    assert told[f"{NOW - timedelta(days=3):%Y-%m-%d}"][0] == "no cost known \N{MIDDLE DOT} 1 session"
    listed = client.get(told[TODAY][1] or "").text
    assert 'data-id="s0"' in listed
    assert 'data-id="s1"' not in listed


@pytest.mark.parametrize(
    ("query", "beside"),
    [("", "Tokens"), ("?show=tokens", "Cost"), ("?show=sessions", "Cost")],
    ids=["cost", "tokens", "sessions"],
)
def test_other_amount_by_day_stands_beside_the_one_asked_for(home_with: Fill, query: str, beside: str) -> None:
    html = html_of(home_with(SPENT, {**SPENT, "ago": 2}), f"/usage{query}")

    assert re.findall(r"<h3>(.*?)</h3>", html) == [beside]
    assert html.count(": no session finished<") == 10


def test_amount_of_which_nothing_is_known_has_no_chart_beside(home_with: Fill) -> None:
    html = html_of(home_with({"agent": "hermes"}))

    assert html.count('class="bars"') == 1
    assert "<h3>" not in html


def test_days_of_which_nothing_is_known_are_gaps(home_with: Fill) -> None:
    html = _first_chart(html_of(home_with(SPENT, {**SPENT, "ago": 2, "cost_usd": 0.0}, {"ago": 3})))
    [ground] = re.findall(r'<path d="([^"]*)" class="base"', html)
    [bars] = re.findall(r'<path d="([^"]*)" class="s0"', html)
    assert [ground.count("M"), bars.count("M")] == [2, 1]  # a day that cost nothing has a ground, and no bar


def test_many_groups_share_one_colour(home_with: Fill) -> None:
    html = html_of(home_with(*({**SPENT, "model": f"m{number}", "cost_usd": 9.0 - number} for number in range(9))))

    assert [_first_chart(html).count(f'class="s{number}"') for number in range(8)] == [1] * 7 + [0]
    assert html.count('class="swatch s6"') == 3


def test_table_goes_by_what_is_shown_and_leads_to_the_sessions_of_a_group(home_with: Fill) -> None:
    client = home_with({**SPENT, "project": "/a & b"}, {**SPENT, "project": None, "input_tokens": 9000})

    html = html_of(client, "/usage?by=project&show=tokens&days=30")
    rows = re.findall(r'<th scope="row" class="cut fill">.*?</th>', html)

    assert [re.sub(r"<[^>]+>", "", row) for row in rows] == ["unknown", "/a &amp; b"]
    assert "<a " not in rows[0]
    assert 'href="/sessions?days=30&amp;project=%2Fa+%26+b"' in rows[1]


def test_choices_keep_each_other_and_leave_out_what_is_usual(home_with: Fill) -> None:
    html = html_of(home_with(SPENT), "/usage?by=agent&show=tokens")
    addresses = [unescape(each) for each in re.findall(r'href="(/usage[^"]*)"', html)]

    assert "/usage?days=30&by=agent&show=tokens" in addresses
    assert "/usage?by=agent&show=cost" in addresses
    assert "/usage?show=tokens" in addresses
    assert "/usage.csv?by=agent&show=tokens" in addresses
    assert re.findall(r'aria-current="true">([^<]*)<', html) == ["7 days", "tokens", "agent"]


def test_most_expensive_sessions_stand_below_those_without_a_price_do_not(home_with: Fill) -> None:
    html = html_of(home_with({**SPENT, "task_summary": "<b>Cheap"}, {**SPENT, "cost_usd": 3.0}, {}))
    below = html.partition("Most expensive sessions")[2]

    assert re.findall(r'href="/session/([^"]*)"', below) == ["s1", "s0"]
    assert "&lt;b&gt;Cheap" in below


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param("days=0", "days must be a number above 0, or all, not '0'", id="no-days"),
        pytest.param("days=1e9", "days must be a number above 0, or all, not '1e9'", id="no-number"),
        pytest.param("by=<x>", "by must be one of model, project, agent, kind, task_type, not '<x>'", id="no-split"),
        pytest.param("show=gold", "show must be one of cost, tokens, sessions, not 'gold'", id="no-measure"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(home_with: Fill, query: str, said: str) -> None:
    client = home_with(SPENT)
    for page in ("/usage", "/usage.csv"):
        answer = client.get(f"{page}?{query}")
        assert (answer.status_code, said in unescape(answer.text)) == (400, True)


def test_table_for_other_programs_has_a_row_for_each_group_of_a_day(home_with: Fill) -> None:
    client = home_with({**SPENT, "model": "=1+1"}, {**SPENT, "ago": 1, "model": "b,c"}, {"ago": 1, "model": "mute"})

    answer = client.get("/usage.csv?days=30")

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="usage-model-30-days.csv"'
    rows = list(csv.reader(io.StringIO(answer.text)))
    yesterday = f"{NOW - timedelta(days=1):%Y-%m-%d}"
    assert rows == [
        [
            *("day", "model", "sessions", "cost_usd", "priced", "input_tokens", "cache_read_tokens"),
            *("cache_write_tokens", "output_tokens", "metered"),
        ],
        [yesterday, "b,c", "1", "0.25", "1", "1000", "3000", "", "500", "1"],
        [yesterday, "mute", "1", "", "0", "", "", "", "", "0"],
        [TODAY, "'=1+1", "1", "0.25", "1", "1000", "3000", "", "500", "1"],
    ]


def test_most_used_projects_stand_beside_the_models_and_models_beside_projects(home_with: Fill) -> None:
    made = [{**SPENT, "project": f"/w/p{number}", "cost_usd": number} for number in range(1, 8)]
    client = home_with(*made, {**SPENT, "model": "m-1", "project": None})
    said = text_of(client)

    assert "Cost by project p7 $7.00 25 % p6 $6.00 21 %" in said
    assert "p3 $3.00 11 % 3 more" in said
    assert "Cost by model" in text_of(client, "/usage?by=project")
    assert "Tokens by project" in text_of(client, "/usage?show=tokens")
    assert 'href="/sessions?project=%2Fw%2Fp7&amp;sort=cost"' in html_of(client)


@pytest.mark.parametrize(
    ("made", "address"),
    [
        pytest.param(SPENT, "/usage", id="projects-without-names"),
        pytest.param({**SPENT, "project": "/w"}, "/usage?project=/w", id="one-group-which-is-not-split-further"),
    ],
)
def test_nothing_stands_beside(home_with: Fill, made: dict[str, Any], address: str) -> None:
    assert "beside" not in html_of(home_with(made), address)
