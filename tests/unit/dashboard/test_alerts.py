"""Alerts: what is told of them, and what a person says of one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from grader_daemon.domain.alert import (
    Alert,
    AlertKind,
    Decomposition,
    DropCause,
    ShareChange,
    Stream,
    StreamDrop,
)
from grader_daemon.domain.analysis import Category, Failure
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import alert
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import ACCESS

DAY = timedelta(days=1)
TOOL = StreamDrop(
    stream=Stream(Metric.FAILURE_RATE, Dimension.TOOL, "terminal"),
    before=Estimate(value=0.08, low=0.07, high=0.09, sample=400),
    since=Estimate(value=0.21, low=0.18, high=0.24, sample=90),
    began_at=NOW - 3 * DAY,
)
SPLIT = Decomposition(mix=-0.02, work=-0.15, mix_margin=0.03, work_margin=0.05, cause=DropCause.WORK)
RECENT = {"opened_at": NOW - DAY, "began_at": NOW - 3 * DAY}

Add = Callable[..., int]


@pytest.fixture
def add(tmp_path: Path) -> Add:
    """Keep an alert that began three days ago, but for what is said; returns its number."""

    def kept(**changes: object) -> int:
        made: Alert = alert(**{**RECENT, **changes})
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            number = store.alerts.add(made).number
        assert number is not None
        return number

    return kept


def say(client: TestClient, number: int, mark: str, **more: str) -> str:
    """Return the page of an alert after something was said of it."""
    answer = client.post(f"/alerts/{number}", data={"mark": mark, "form_token": ACCESS.form_token, **more})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/alerts/{number}")
    return client.get(f"/alerts/{number}").text


def test_without_alerts_the_page_says_that_all_is_well(client: TestClient, add: Add) -> None:
    add(resolved_at=NOW)
    page = client.get("/alerts").text

    assert "No open alert" in page
    assert "Resolved" in page


def test_the_bar_counts_alerts_that_are_news(client: TestClient, add: Add) -> None:
    add()
    known, silent = add(), add(drops=(TOOL,))
    say(client, known, "acknowledge")
    say(client, silent, "silence", **{"for": "24h"})

    assert '>1<span class="unseen"> new alert</span>' in client.get("/health").text


def test_open_alerts_say_whether_other_work_came_in(client: TestClient, add: Add) -> None:
    add(decomposition=SPLIT)

    assert "The same tasks went worse: −2 ± 3 points from the mix of task types" in client.get("/alerts").text


def test_one_alert_shows_where_it_shows_and_what_changed(client: TestClient, add: Add) -> None:
    number = add(
        drops=(TOOL,),
        decomposition=SPLIT,
        changes=(ShareChange(dimension=Dimension.MODEL, name="m<1>", before=0.3, since=0.14),),
    )
    page = client.get(f"/alerts/{number}").text

    assert "8.0 % (7.0–9.0 %)" in page
    assert "<strong>The same tasks went worse.</strong>" in page
    assert "−15 ± 5 points" in page
    assert "m&lt;1&gt;" in page
    assert "30 %" in page


def test_alert_of_days_without_sessions_says_so(client: TestClient, add: Add) -> None:
    assert "Too few sessions a day around that time" in client.get(f"/alerts/{add()}").text


def test_alert_has_a_line_over_the_days_of_its_own_sessions(client: TestClient, add: Add, tmp_path: Path) -> None:
    _save(tmp_path, 6)
    mine = client.get(f"/alerts/{add(resolved_at=NOW + 5 * DAY, began_at=NOW - 6 * DAY)}").text
    others = msgspec.structs.replace(TOOL, stream=Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "debugging"))
    elsewhere = client.get(f"/alerts/{add(drops=(others,))}").text

    assert "it began" in mine
    assert "Too few sessions a day around that time" in elsewhere


def test_alert_that_lasted_says_where_on_the_line_it_was_resolved(client: TestClient, add: Add, tmp_path: Path) -> None:
    _save(tmp_path, 6)
    page = client.get(f"/alerts/{add(began_at=NOW - 9 * DAY, resolved_at=NOW - DAY)}").text

    assert ">resolved</text>" in page


def test_alert_leads_to_the_message_that_failed(client: TestClient, add: Add, tmp_path: Path) -> None:
    _save(tmp_path, 1)
    of_failures = client.get(f"/alerts/{add(drops=(TOOL,), sessions=('s0', 'gone'))}").text
    of_completion = client.get(f"/alerts/{add(sessions=('s0',))}").text

    assert 'href="/session/s0#m4"' in of_failures
    assert "is no longer in the database" in of_failures
    assert 'href="/session/s0"' in of_completion


def test_alert_of_a_threshold_is_not_split(client: TestClient, add: Add) -> None:
    page = client.get(f"/alerts/{add(kind=AlertKind.THRESHOLD, rule='half fails')}").text

    assert "Threshold of your rules: <code><bdi>half fails</bdi></code>." in page
    assert "This alert has no such split" in page


def test_alert_of_nothing_that_is_watched_now_is_shown_all_the_same(client: TestClient, add: Add) -> None:
    number = add(drops=())

    assert "a figure that alerts no longer watch" in client.get("/alerts").text
    assert "a figure that alerts no longer watch" in client.get(f"/alerts/{number}").text


def test_split_into_nothing_is_drawn_in_the_middle(client: TestClient, add: Add) -> None:
    nothing = Decomposition(mix=0.0, work=0.0, cause=DropCause.UNCLEAR)

    assert 'cx="50.00%"' in client.get(f"/alerts/{add(decomposition=nothing)}").text


def test_acknowledgement_has_a_note_and_is_withdrawn(client: TestClient, add: Add) -> None:
    number = add()
    known = say(client, number, "acknowledge", note='the "mirror" was down')
    unknown = say(client, number, "unacknowledge")

    assert 'value="the &#34;mirror&#34; was down"' in known
    assert "Undo the acknowledgement" in known
    assert "Undo the acknowledgement" not in unknown
    assert "mirror" in unknown


def test_silence_has_an_end_and_is_taken_back(client: TestClient, add: Add) -> None:
    number = add()
    silent = say(client, number, "silence", **{"for": "7d"})
    listed = client.get("/alerts").text
    told = say(client, number, "unsilence")

    assert f"silent until {NOW + 7 * DAY:%Y-%m-%d %H:%M} UTC" in silent
    assert "Silenced" in listed
    assert "silent until" not in told


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"mark": "delete"}, "acknowledge, unacknowledge, silence, unsilence"),
        ({"mark": "silence", "for": "ever"}, "ever"),
        ({"mark": "silence", "for": "9999d"}, "a minute to a year"),
    ],
)
def test_other_words_change_nothing(client: TestClient, add: Add, form: dict[str, str], words: str) -> None:
    number = add()
    answer = client.post(f"/alerts/{number}", data={**form, "form_token": ACCESS.form_token})

    assert answer.status_code == 400
    assert words in answer.text
    assert "silent until" not in client.get(f"/alerts/{number}").text


@pytest.mark.parametrize("number", ["0", "999999", "one", "-1", "9" * 40])
def test_alert_that_is_none_is_said_in_one_line(client: TestClient, add: Add, number: str) -> None:
    add()

    assert client.get(f"/alerts/{number}").status_code == 404


def _save(folder: Path, sessions: int) -> None:
    """Save sessions of two days ago, each with one failure."""
    ended = NOW - 2 * DAY
    with closing(SqliteStore(folder / "grades.db")) as store, store.transaction():
        for number in range(sessions):
            made = grade(
                session_id=f"s{number}",
                session_file=f"/s/{number}.json",
                ended_at=ended,
                ended_on=ended.date().isoformat(),
                failures=(Failure(2, "read_file", Category.TIMEOUT), Failure(4, "terminal", Category.TIMEOUT)),
                total_errors=2,
                ending=EndingKind.ANSWERED,
                standing=ResultStanding.CHECKED,
            )
            save_grades(store, [new_grade(made)])
