"""The first page, in each state of a home."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader_daemon.domain.analysis import Category, ErrorSign, Failure, SessionState
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.claims import Claim, ClaimKind, ClaimReason, Support
from grader_daemon.domain.error_groups import IssueRow
from grader_daemon.domain.installed import InstalledKind, ObservedVersion
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.storage.lock import DaemonLock
from grader_daemon.storage.sqlite.issues import Issues
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import alert
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import MakeClient

Fill = Callable[..., TestClient]


@pytest.fixture
def home_with(client_of: MakeClient, tmp_path: Path) -> Fill:
    """Make a home with so many sessions, one a day or more, the last one just now, and a client of its page."""

    def filled(sessions: int, *, a_day: int = 1, **changes: object) -> TestClient:
        store = SqliteStore(tmp_path / "grades.db")
        made = [
            grade(
                session_id=f"s{number}",
                session_file=f"/s/{number}.json",
                ended_at=NOW - timedelta(days=number // a_day),
                ended_on=f"{NOW - timedelta(days=number // a_day):%Y-%m-%d}",
                task_summary=f"Task {number}",
                **{"ending": EndingKind.ANSWERED, "standing": ResultStanding.CLAIMED, **changes},
            )
            for number in range(sessions)
        ]
        with store.transaction():
            save_grades(store, [new_grade(each) for each in made])
        store.close()
        return client_of(tmp_path / "grades.db")

    return filled


def text_of(client: TestClient) -> str:
    answer = client.get("/")
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())


def test_home_whose_first_session_is_still_to_come_says_so(home_with: Fill) -> None:
    said = text_of(home_with(0))
    assert "Nothing is graded yet." in said
    assert "last grade" not in said
    assert "no sessions" in said
    assert "Too few sessions in four weeks" in said


def test_one_session_is_shown_and_gives_no_rate(home_with: Fill) -> None:
    said = text_of(home_with(1))
    assert "too few sessions (1)" in said
    assert "Task 0" in said


def test_month_has_rates_with_intervals_and_samples(home_with: Fill) -> None:
    said = text_of(home_with(30))
    assert "7 sessions counted" in said
    assert re.search(r"Verdicts \d+ done, \d+ not done, \d+ unsure Completion rate", said)
    assert "Completion rate unknown: 0 of 20 random sessions labelled" in said
    assert re.search(r"Tool efficiency \S+ \S+–\S+, 7 sessions", said)


def test_questions_are_asked_once_where_sessions_wait(home_with: Fill) -> None:
    text = home_with(30).get("/").text

    assert text.count("5 questions, 90 seconds") == 1
    assert 'href="/review">review</a>' in text, "where the rate is not known"


@pytest.mark.parametrize("sessions", [0, 1, 4])
def test_no_questions_are_asked_where_too_few_sessions_wait(home_with: Fill, sessions: int) -> None:
    assert "seconds:" not in home_with(sessions).get("/").text


def test_each_day_of_the_chart_leads_to_its_sessions(home_with: Fill) -> None:
    client = home_with(30, a_day=6)
    text = client.get("/").text
    day = f"{NOW - timedelta(days=1):%Y-%m-%d}"
    (address,) = set(re.findall(f'href="(/sessions[^"]*since={day}&amp;[^"]*)"', text))

    assert text.count(f"{day}: 0 % (") == 2, "where it is pointed at, and in the list of the days"
    assert client.get(address.replace("&amp;", "&")).text.count("data-id=") == 6


def test_one_day_is_told_as_one(home_with: Fill) -> None:
    text = home_with(30).get("/?days=1").text

    assert f"Finished sessions of today, {NOW:%Y-%m-%d}, compared with the day before" in text
    assert "<b>1 session</b> counted" in text
    assert "1 days" not in text


def test_scheduled_runs_are_counted_beside_and_have_a_figure(home_with: Fill) -> None:
    said = text_of(home_with(30, kind=SessionKind.CRON, task_completed=True))
    assert "0 sessions counted + 7 scheduled" in said
    assert re.search(r"Scheduled: bad endings \S+ % \S+–\S+ %, 7 sessions", said)


def test_each_scheduled_job_has_a_line_that_leads_to_its_runs(home_with: Fill) -> None:
    failed = {"ending": EndingKind.ANSWERED, "standing": ResultStanding.CHECK_FAILED}
    client = home_with(30, kind=SessionKind.CRON, job="a1b2", job_name="Check the backups", **failed)

    said = text_of(client)
    found = re.search(r'<a href="([^"]*job=a1b2)"', client.get("/").text)

    assert re.search(r"Scheduled jobs .* Check the backups 7 100 % \S+–\S+ %", said.replace("(", "").replace(")", ""))
    assert "7 last check failed" in said
    assert found is not None
    assert client.get(found[1].replace("&amp;", "&")).text.count("data-id=") == 7


def test_home_without_scheduled_runs_says_nothing_of_them(home_with: Fill) -> None:
    assert "cheduled" not in text_of(home_with(30))


def test_open_session_runs_now_and_is_counted_nowhere(home_with: Fill) -> None:
    said = text_of(home_with(1, state=SessionState.OPEN, had_infinite_loop_risk=True))
    assert "Running now" in said
    assert "may be in a loop" in said
    assert "0 sessions counted" in said


def test_where_nothing_is_wrong_that_is_said(home_with: Fill, tmp_path: Path) -> None:
    client = home_with(1)
    assert "No open alert" not in text_of(client)

    with DaemonLock(tmp_path / "grades.db"):
        said = text_of(client)
    assert "Nothing needs your attention" in said
    assert "No open alert, no contradicted claim, the daemon is up to date, and no file failed." in said


def test_a_contradicted_answer_needs_a_person_and_is_listed(home_with: Fill, tmp_path: Path) -> None:
    said = "All 12 tests pass"
    lied = Claim(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, None, 3, (2,), ClaimReason.TESTS_FAILED, said)
    client = home_with(3, claims=(lied,), standing=ResultStanding.CONTRADICTED)

    with DaemonLock(tmp_path / "grades.db"):
        text = text_of(client)

    assert "1 thing needs your attention" in text
    assert "False claim 3 answers say something that tool calls contradict, in 7 days. Show" in text
    assert "“All 12 tests pass” ≠ the last run failed" in text
    assert client.get("/sessions?days=7&claim=contradicted").text.count("data-id=") == 3


def test_changes_and_alerts_are_marked_on_the_trend(home_with: Fill, tmp_path: Path) -> None:
    client = home_with(90, a_day=3, agent="hermes")
    _edit_files_and_open_alerts(tmp_path, edited=(20, 6, 5), opened=(12, 4))
    page = client.get("/").text

    assert re.findall(r'<text[^>]* class="event"[^>]*>([^<]*)</text>', page) == [
        "config.yaml",
        "alert 1",
        "alert 2, 2 changes",
        *("", ""),
    ]
    assert '<a href="/changes?days=28">what changed</a>' in page


def test_alerts_that_are_near_are_named_together(home_with: Fill, tmp_path: Path) -> None:
    client = home_with(90, a_day=3)
    _edit_files_and_open_alerts(tmp_path, edited=(), opened=(4, 3, 40))
    page = client.get("/").text

    assert re.findall(r'<text[^>]* class="event"[^>]*>([^<]*)</text>', page) == ["2 alerts", ""]
    assert "what changed" not in page


def _edit_files_and_open_alerts(tmp_path: Path, *, edited: Sequence[int], opened: Sequence[int]) -> None:
    """Note edits of a file and alerts, each so many days ago."""
    seen = [
        ObservedVersion(
            kind=InstalledKind.CONFIGURATION,
            name="config.yaml",
            agent="hermes",
            path="/home/t/.hermes/config.yaml",
            digest=f"{days:032}",
            bytes=9,
            written_at=NOW - timedelta(days=days),
            first_seen=NOW - timedelta(days=days),
            last_seen=NOW - timedelta(days=days),
        )
        for days in (60, *edited)
    ]
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        ObservedVersions(store).save(seen)
        for days in opened:
            store.alerts.add(alert(began_at=NOW - timedelta(days=days), opened_at=NOW - timedelta(days=days)))


def test_cost_that_is_not_known_takes_no_room(home_with: Fill) -> None:
    assert "Cost per task" not in text_of(home_with(30))


@pytest.mark.parametrize(("priced", "is_shown"), [pytest.param(2, True, id="fifth"), pytest.param(1, False, id="less")])
def test_cost_of_few_sessions_is_no_figure_of_all(
    home_with: Fill, tmp_path: Path, priced: int, *, is_shown: bool
) -> None:
    client = home_with(10, a_day=10)
    made = [grade(session_id=f"s{n}", session_file=f"/s/{n}.json", ended_at=NOW, cost_usd=0.5) for n in range(priced)]
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(each) for each in made])
    assert ("Cost per task" in text_of(client)) is is_shown


def test_known_cost_is_told_with_the_week_before(home_with: Fill) -> None:
    said = text_of(home_with(30, cost_usd=0.5))
    assert re.search(r"Cost per task \$0.50 \$3.50 total, known for 7 of 7 sessions", said)


def test_daemon_that_does_not_run_is_told_first(home_with: Fill) -> None:
    said = text_of(home_with(1))
    assert said.index("The daemon does not run") < said.index("Completion rate")


@pytest.mark.parametrize("sessions", [pytest.param(3, id="new-ones"), pytest.param(30, id="known-for-weeks")])
def test_errors_that_are_not_shown_are_not_read(
    home_with: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sessions: int
) -> None:
    """A week may have hundreds of them."""
    read: list[str] = []
    one = Issues.issue

    def noted(self: Issues, fingerprint: str, span: Span, *, until: datetime) -> IssueRow | None:
        read.append(fingerprint)
        return one(self, fingerprint, span, until=until)

    monkeypatch.setattr(Issues, "issue", noted)
    failures = tuple(Failure(number, "terminal", Category.TIMEOUT, None, f"1-{number:012x}") for number in range(30))
    client = home_with(sessions, failures=failures)
    store = SqliteStore(tmp_path / "grades.db")
    with store.transaction():
        store.issues.save_signs(
            [
                ErrorSign(
                    fingerprint=str(each.fingerprint),
                    tool="terminal",
                    command=None,
                    category=each.category,
                    signal="timed out",
                    example="timed out",
                )
                for each in failures
            ]
        )
    store.close()
    text_of(client)

    assert len(read) == 3
