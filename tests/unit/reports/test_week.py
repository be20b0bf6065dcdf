from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest

from grader_daemon.domain.calendar import Span, week_name, week_of
from grader_daemon.domain.error_groups import IssueState
from grader_daemon.domain.estimate import Estimate, figure
from grader_daemon.domain.insight import Example, FromPeople, WeeklyReport
from grader_daemon.domain.rollup import Sums
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.patterns.groups import spending
from grader_daemon.reports.week import Bases, WeekFacts, missing_weeks, revised, weekly_report
from tests.reports_examples import (
    MONDAY,
    TRUST,
    example_alert,
    example_group,
    example_issue,
    example_report,
    example_trend,
    failing,
    rate,
    score,
)

DAY = timedelta(days=1)
UNTIL = datetime(2026, 11, 23, tzinfo=UTC)


def report(**changes: Any) -> WeeklyReport:
    """The report of a week of which these things are known."""
    facts = WeekFacts(
        week=week_of(MONDAY),
        until=UNTIL,
        complete=True,
        coverage=example_report().coverage,
        trust=TRUST,
        overall=example_group(""),
        spending_before=spending(Sums()),
        agents=(),
        hosts=(),
        task_types=(),
        tools=(),
        categories=(),
        issues=(),
        alerts=(),
        trend=example_trend(8),
        checked_completion=Estimate(),
        verdicts=VerdictCounts(),
        people=FromPeople(objected=0, asked_again=0),
        claims=(),
        changes=(),
    )
    return weekly_report(msgspec.structs.replace(facts, **changes), examples=lambda _: (), advice_on=lambda _: None)


# -- what it says --------------------------------------------------------------------------------------------------


def test_the_numbers_of_a_report_are_those_of_all_sessions() -> None:
    overall = example_group(
        "",
        ended_badly=figure(rate(1, 10), rate(2, 10)),
        efficiency=figure(score(2.0, 10), score(3.0, 10)),
        quality=figure(score(4.0, 10), score(1.0, 10)),
        recovery=figure(rate(3, 10), rate(4, 10)),
        failure_rate=figure(failing(5, 50, sessions=10), failing(6, 50, sessions=10)),
    )
    made = report(overall=overall)
    assert (made.ended_badly, made.error_recovery_rate) == (overall.ended_badly, overall.recovery)
    assert (made.avg_tool_efficiency, made.avg_response_quality) == (overall.efficiency, overall.quality)
    assert made.failure_rate == overall.failure_rate
    assert (made.total_sessions, made.sessions_before, made.revision, made.late_sessions) == (14, 12, 1, 0)
    assert (made.week, made.week_start, made.week_end) == ("2026-W47", MONDAY, MONDAY + 6 * DAY)


def test_the_lowest_task_types_come_first_and_no_more_than_five() -> None:
    scores = {"a": 5.0, "b": 1.5, "c": 4.0, "d": 1.5, "e": 3.0, "f": 2.0, "few": None}
    types = [
        example_group(name, score=figure(Estimate(value=value, sample=9), Estimate())) for name, value in scores.items()
    ]
    assert [group.name for group in report(task_types=types).lowest_task_types] == ["b", "d", "f", "e", "c"]


@pytest.mark.parametrize(
    ("failures", "listed"),
    [
        pytest.param([9, 8, 7, 6, 5, 4], [9, 8, 7, 6, 5], id="the-five-that-fail-most"),
        pytest.param([3, 0, 0], [3], id="not-those-that-never-fail"),
    ],
)
def test_error_prone_tools_are_those_with_failures(failures: list[int], listed: list[int]) -> None:
    tools = [example_group(f"tool{number}", failures=failed) for number, failed in enumerate(failures)]
    assert [group.failures for group in report(tools=tools).error_prone_tools] == listed


def test_of_many_issues_the_first_ten_of_each_state_are_told() -> None:
    states = [IssueState.NEW, IssueState.RETURNED, IssueState.ONGOING]
    issues = [example_issue(fingerprint=f"{state}-{number}", state=state) for number in range(12) for state in states]
    made = report(issues=issues)
    assert [issue.fingerprint for issue in made.new_issues] == [f"new-{number}" for number in range(10)]
    assert [issue.fingerprint for issue in made.returned_issues] == [f"returned-{number}" for number in range(10)]


@pytest.mark.parametrize(
    ("resolved_at", "told"),
    [
        pytest.param(UNTIL - DAY, UNTIL - DAY, id="resolved-in-the-week"),
        pytest.param(UNTIL, None, id="resolved-as-the-week-was-over"),
        pytest.param(UNTIL + DAY, None, id="resolved-later"),
        pytest.param(None, None, id="open"),
    ],
)
def test_alerts_stand_as_they_stood_at_the_end_of_the_week(resolved_at: datetime | None, told: datetime | None) -> None:
    [found] = report(alerts=[example_alert(resolved_at=resolved_at, acknowledged_at=UNTIL, note="I know")]).alerts
    assert (found.resolved_at, found.acknowledged_at, found.note, found.told) == (told, None, None, True)


def test_suggestions_have_the_sessions_that_show_them() -> None:
    asked: list[Example] = []

    def examples(why: Example) -> tuple[str, ...]:
        asked.append(why)
        return (f"s{len(asked)}",)

    facts = WeekFacts(
        **{field: getattr(example_report(), field) for field in ("coverage", "trust", "trend", "checked_completion")},
        week=week_of(MONDAY),
        until=UNTIL,
        complete=True,
        overall=example_group(""),
        spending_before=spending(Sums()),
        agents=(),
        hosts=(),
        task_types=(),
        tools=(),
        categories=(),
        issues=(),
        alerts=(),
        verdicts=VerdictCounts(),
        people=FromPeople(objected=0, asked_again=0),
        claims=(),
        changes=(),
    )
    made = weekly_report(facts, examples=examples, advice_on=lambda _: None)
    assert [each.sessions for each in made.suggestions] == [(f"s{number}",) for number in range(1, len(asked) + 1)]
    assert asked


# -- which revision ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "revision", "late"),
    [
        pytest.param({}, 3, 2, id="says-the-same"),
        pytest.param({"total_sessions": 100}, 4, 9, id="sessions-arrived-late"),
        pytest.param({"unanswered": 4}, 4, 3, id="a-session-without-an-answer-arrived-late"),
        pytest.param({"total_sessions": 80}, 4, 0, id="sessions-are-gone"),
        pytest.param({"sessions_before": 87}, 4, 2, id="another-week-before"),
    ],
)
def test_a_report_that_says_other_things_is_another_revision(changes: dict[str, int], revision: int, late: int) -> None:
    before = example_report(revision=3, late_sessions=2)
    made = example_report(**changes)
    after = revised(before, made)
    assert (after.revision, after.late_sessions) == (revision, late)
    assert (after is before) is not bool(changes)


def test_the_first_report_is_kept_as_it_was_made() -> None:
    assert revised(None, example_report()) == example_report()


# -- which weeks ---------------------------------------------------------------------------------------------------

W47, TODAY = date(2026, 11, 16), date(2026, 12, 14)


@pytest.mark.parametrize(
    ("days", "installed_on", "told", "missing"),
    [
        pytest.param([], None, [], [], id="nothing-is-known"),
        pytest.param([], W47 + DAY, [], ["W47", "W48", "W49", "W50"], id="all-since-the-installation"),
        pytest.param([date(2026, 9, 9)], date(2026, 12, 7), [], ["W37", "W50"], id="one-before-with-sessions"),
        pytest.param([], W47, ["W47", "W49"], ["W48", "W50"], id="not-those-that-were-told"),
        pytest.param([TODAY, TODAY + 30 * DAY], None, [], [], id="not-a-week-that-is-not-over"),
        pytest.param([date(1970, 1, 1), date(2000, 1, 3)], None, [], ["W01"], id="not-an-absurd-time"),
        pytest.param([], TODAY + 30 * DAY, [], [], id="installed-by-a-clock-that-was-ahead"),
    ],
)
def test_weeks_that_nobody_was_told_of_are_missing(
    days: Sequence[date], installed_on: date | None, told: list[str], missing: list[str]
) -> None:
    def is_told(week: Span) -> bool:
        return week_name(week.first)[5:] in told

    found = missing_weeks(days, installed_on=installed_on, today=TODAY, is_told=is_told)
    assert [week_name(week.first)[5:] for week in found] == missing


@pytest.mark.parametrize(
    ("day", "is_other"),
    [
        pytest.param(W47 - 60 * DAY, True, id="long-before"),
        pytest.param(W47 + 6 * DAY, True, id="its-last-day"),
        pytest.param(W47 + 7 * DAY, False, id="the-day-after"),
    ],
)
def test_a_change_of_any_day_up_to_the_end_of_a_week_is_another_basis(day: date, is_other: bool) -> None:
    before = {W47 - 60 * DAY: 3, W47 + 6 * DAY: 1, W47 + 7 * DAY: 5}
    after = before | {day: before[day] + 1}
    assert (Bases(before)(week_of(W47)) != Bases(after)(week_of(W47))) is is_other
