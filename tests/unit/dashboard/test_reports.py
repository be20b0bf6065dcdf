"""Reports: which weeks are listed, and one week with links to what it names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from starlette.testclient import TestClient

from grader_daemon.api.insight import Insight
from grader_daemon.domain.calendar import Span, week_name, week_of
from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.reports.document import report_document
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock
from tests.reports_examples import MONDAY, WEEK, empty_report, example_report
from tests.strategies import NOW

_WEEK = timedelta(days=7)

Keep = Callable[..., None]


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    """Keep a report, of that week or of so many weeks before."""

    def kept(report: WeeklyReport, *, weeks_before: int = 0) -> None:
        first = week_of(report.week_start).first - weeks_before * _WEEK
        week = Span(first, first + timedelta(days=6))
        of_then = msgspec.structs.replace(report, week=week_name(first), week_start=week.first, week_end=week.last)
        content = msgspec.json.encode(report_document(of_then)).decode()
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            store.reports.save(week, content, basis=0, now=NOW)

    return kept


@pytest.fixture
def last_week(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Make it the Monday after the week of the examples."""
    monkeypatch.setattr(clock, "now", NOW.replace(year=2026, month=11, day=23))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The weeks whose report was made, in order."""
    weeks: list[str] = []
    weekly_report = Insight.weekly_report

    def make(insight: Insight, week: str) -> WeeklyReport:
        weeks.append(week)
        return weekly_report(insight, week)

    monkeypatch.setattr(Insight, "weekly_report", make)
    return weeks


def test_without_kept_reports_the_page_leads_to_this_week_and_the_last(client: TestClient, tmp_path: Path) -> None:
    SqliteStore(tmp_path / "grades.db").close()
    page = client.get("/reports").text

    assert "No reports yet" in page
    assert f'href="/reports/{week_name(NOW.date())}"' in page


def test_kept_reports_are_listed_newest_first_with_lines_over_them(client: TestClient, keep: Keep) -> None:
    for weeks_before in range(3):
        keep(example_report(), weeks_before=weeks_before)
    page = client.get("/reports").text

    assert page.index(f"/reports/{WEEK}") < page.index("/reports/2026-W46") < page.index("/reports/2026-W45")
    assert "over-ended_badly-title" in page


def test_weeks_without_sessions_draw_no_line(client: TestClient, keep: Keep) -> None:
    for weeks_before in range(3):
        keep(empty_report(), weeks_before=weeks_before)

    assert "over-ended_badly-title" not in client.get("/reports").text


def test_list_goes_on_with_older_weeks(client: TestClient, keep: Keep) -> None:
    for weeks_before in range(54):
        keep(empty_report(), weeks_before=weeks_before)
    first = client.get("/reports").text
    oldest = week_name(MONDAY - 51 * _WEEK)
    older = client.get(f"/reports?before={oldest}").text

    assert f'href="/reports?before={oldest}">Older weeks' in first
    assert older.count('<th scope="row"') == 2
    assert "This week so far" not in older
    assert "No older reports" in client.get("/reports?before=2001-W01").text


@pytest.mark.usefixtures("last_week")
def test_report_links_to_the_sessions_errors_and_alerts_that_it_names(client: TestClient, keep: Keep) -> None:
    report = example_report()
    keep(report)
    page = client.get(f"/reports/{WEEK}").text

    assert f"Weekly report, {WEEK}" in page
    assert f'href="/errors/{quote(report.new_issues[0].fingerprint)}"' in page
    assert f'href="/alerts/{report.alerts[0].number}"' in page
    assert f'href="/session/{report.suggestions[0].sessions[0]}"' in page
    assert "style=" not in page


def test_week_that_goes_on_is_provisional_and_has_none_behind_it(client: TestClient, tmp_path: Path) -> None:
    SqliteStore(tmp_path / "grades.db").close()
    this_week = week_of(NOW.date()).first
    page = client.get(f"/reports/{week_name(this_week)}").text

    assert "The week is not over: provisional." in page
    assert 'rel="prev"' in page
    assert 'rel="next"' not in page
    assert 'rel="next"' in client.get(f"/reports/{week_name(this_week - _WEEK)}").text


@pytest.mark.parametrize(
    ("address", "status"), [("/reports/yesterday", 400), ("/reports/2099-W01", 404), ("/reports?before=yesterday", 400)]
)
def test_week_that_is_none_is_said_in_one_line(client: TestClient, tmp_path: Path, address: str, status: int) -> None:
    SqliteStore(tmp_path / "grades.db").close()
    answer = client.get(address)

    assert answer.status_code == status
    assert "week" in answer.text


def test_week_that_goes_on_is_made_once_a_minute(
    client: TestClient, tmp_path: Path, clock: Clock, made: list[str]
) -> None:
    SqliteStore(tmp_path / "grades.db").close()
    week = week_name(clock.now.date())
    for seconds in (0, 59, 1):
        clock.now += timedelta(seconds=seconds)
        page = client.get(f"/reports/{week}").text

    assert made == [week, week]
    assert f"As of {clock.now:%Y-%m-%d %H:%M} UTC" in page


def test_few_weeks_are_remembered(client: TestClient, tmp_path: Path, made: list[str]) -> None:
    SqliteStore(tmp_path / "grades.db").close()
    weeks = [f"2026-W{number:02}" for number in range(1, 10)]
    for week in (*weeks, weeks[-1], weeks[0]):
        client.get(f"/reports/{week}")

    assert made == [*weeks, weeks[0]]
