from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

from grader_daemon import SelfGrader, bootstrap
from grader_daemon.api.context import GraderContext
from grader_daemon.api.insight import Insight
from grader_daemon.cli import report_patterns, report_week, summary
from grader_daemon.domain.analysis import Category, ErrorSign, Failure, SessionState, Step
from grader_daemon.domain.calendar import day_of
from grader_daemon.domain.error_groups import IssueState
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.usage_by_day import UsageSplit
from grader_daemon.errors import InputError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import alert
from tests.conftest import Clock
from tests.strategies import NOW, grade, new_grade
from tests.unit.api.conftest import AUCKLAND, Save


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[SelfGrader]:
    """Four sessions of today: three with a failure of a shell each, and one without an answer."""
    now = bootstrap.utc_now()
    timing = {"ended_at": now, "ended_on": now.date().isoformat(), "session_start": now - timedelta(minutes=5)}
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path]) as opened:
        made = [
            grade(
                session_id=f"s{number}",
                task_completed=number > 0,
                total_errors=4,
                failures=tuple(
                    Failure(2 * place, "terminal", Category.TIMEOUT, command, None, Step("terminal", command, True))
                    for place, command in enumerate(("exit", "exit", "python", "python"))
                ),
                **timing,
            )
            for number in range(3)
        ]
        made.append(grade(session_id="dead", scored=False, tools=(), state=SessionState.INTERRUPTED, **timing))
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            save_grades(store, [new_grade(one) for one in made])
        yield opened


def test_the_summary_has_intervals_and_says_how_far_verdicts_can_be_trusted(grader: SelfGrader) -> None:
    lines = grader.get_grades_summary(days=1).splitlines()

    assert lines == [
        "Sessions of the last day: 3 finished, 0 open, 1 without an answer or a tool call",
        "  verdicts          2 done, 1 not done, 0 unsure",
        "  completion rate   unknown: 0 of 20 random sessions labelled; next: grader-daemon label (4 minutes)",
        "  tool efficiency   5.0 (3.6–5.0)",  # three equal values and a quarter of the range: 4.30 * sqrt(1 / 9)
        "  response quality  3.0 (1.6–4.4)",
        "  errors recovered  3 of 3: 100 % (44–100 %)",
        "  trust             verdicts by the rules, not yet checked: label 50 sessions",
        "  failing errors    timeout 12",
        "  general           3.89 of 5 (3 sessions)",  # (5 + 3 + 1 + 4 * 2 / 3) / 3
    ]


def test_sub_agents_are_named_among_the_sessions_that_do_not_count(
    grader: SelfGrader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = bootstrap.utc_now()
    helper = grade(session_id="sub", kind=SessionKind.SUB_AGENT, ended_at=now, ended_on=now.date().isoformat())
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(helper)])
    report_patterns._print(patterns := grader.identify_patterns(1), ())

    left_out = "1 without an answer or a tool call, 1 of sub-agents or reviews"
    assert f"; not counted: 0 open, {left_out}." in capsys.readouterr().out
    assert summary._coverage(patterns, grader.status()) == f"3 sessions counted; not counted: {left_out}"
    assert ("not counted", left_out) in report_week._facts(grader.generate_weekly_report(now.date()))


def test_what_was_tried_again_is_told_by_its_command(grader: SelfGrader, capsys: pytest.CaptureFixture[str]) -> None:
    report_patterns._print(grader.identify_patterns(1), ())
    shown = capsys.readouterr().out

    assert "3 finished sessions, " in shown
    assert "; not counted: 0 open, 1 without an answer or a tool call." in shown
    assert [line.split()[:4] for line in shown.splitlines() if " again  " in line and line.startswith("terminal")] == [
        ["terminal", "terminal", "exit", "again"],
        ["terminal", "terminal", "python", "again"],
    ]


def test_a_report_of_a_week_that_is_over_needs_no_right_to_write(
    right_to_read: Callable[[], AbstractContextManager[None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grades.db"
        SqliteStore(path).close()
        path.chmod(0o444)
        path.parent.chmod(0o555)

        with SelfGrader(db_path=path) as reader, right_to_read():
            report = reader.generate_weekly_report()

        path.parent.chmod(0o700)
    assert (report.complete, report.revision, report.total_sessions) == (True, 1, 0)


# -- by a clock of the test --------------------------------------------------------------------------------------------


@pytest.fixture
def insight(context: GraderContext) -> Insight:
    return Insight(context)


def test_a_report_is_of_the_last_week_that_is_over_where_the_person_lives(insight: Insight, clock: Clock) -> None:
    monday = datetime(2026, 11, 22, 11, tzinfo=UTC)  # midnight of the 23rd in Auckland: week 48 begins
    clock.now = monday - timedelta(minutes=1)
    before = insight.weekly_report()
    clock.now = monday
    after = insight.weekly_report()

    assert (before.week, after.week) == ("2026-W46", "2026-W47")


@pytest.mark.parametrize("week", ["2026-W49", "2026-W99", "next", "1969-W01"])
def test_there_is_no_report_of_a_week_that_has_not_begun(insight: Insight, week: str) -> None:
    with pytest.raises(InputError, match="week"):
        insight.weekly_report(week)


def test_an_alert_is_acknowledged_when_the_clock_says_and_that_can_be_taken_back(
    insight: Insight, store: SqliteStore, clock: Clock
) -> None:
    number = _add_alert(store)
    known = insight.acknowledge_alert(number, "the mirror\nwas down")
    later = insight.acknowledge_alert(number)
    forgotten = insight.unacknowledge_alert(number)

    assert (known.acknowledged_at, known.note) == (clock.now, "the mirror was down")
    assert later.note == "the mirror was down"
    assert (forgotten.acknowledged_at, forgotten.note) == (None, "the mirror was down")


def test_usage_is_of_days_where_the_person_lives(insight: Insight, save: Save) -> None:
    today = day_of(NOW, ZoneInfo(AUCKLAND))
    save("a", ended_on=today.isoformat(), cost_usd=0.25, agent="hermes", model="large")

    used = insight.usage(days=2, split=UsageSplit.AGENT)

    assert (used.first_day, used.last_day) == (today - timedelta(days=1), today)
    assert [day.spending.cost_usd for day in used.daily] == [None, 0.25]
    assert [group.name for group in used.groups] == ["hermes"]
    assert used.daily[-1].groups["hermes"].cost_usd == 0.25


def test_figures_of_a_folder_are_found_by_its_whole_path_however_long(insight: Insight, save: Save) -> None:
    path, today = f"/{'deep/' * 30}repo", day_of(NOW, ZoneInfo(AUCKLAND))
    save("a", ended_on=today.isoformat(), project=path)
    save("b", ended_on=today.isoformat(), project="/elsewhere")

    used = insight.usage(days=1, split=UsageSplit.PROJECT, only=path)
    (day,) = insight.daily(days=1, of=(Dimension.PROJECT, path))

    assert (used.spending.sessions, len(used.groups), day.sessions) == (1, 1, 1)


def test_usage_of_more_than_a_year_is_not_told_day_by_day(insight: Insight) -> None:
    assert len(insight.usage(days=366).daily) == 366
    with pytest.raises(InputError, match="at most 366 days"):
        insight.usage(days=367)


@pytest.mark.parametrize(
    ("days_ago", "is_compared"),
    [pytest.param(3, True, id="on-the-first-day-before"), pytest.param(2, False, id="a-day-later")],
)
def test_usage_is_compared_where_sessions_go_back_over_all_days_before(
    insight: Insight, save: Save, days_ago: int, *, is_compared: bool
) -> None:
    today = day_of(NOW, ZoneInfo(AUCKLAND))
    save("now", ended_on=today.isoformat(), cost_usd=0.25)
    save("then", ended_on=(today - timedelta(days=days_ago)).isoformat(), cost_usd=0.5)

    used = insight.usage(days=2)

    assert (None if used.before is None else used.before.cost_usd) == (0.5 if is_compared else None)
    assert [each.before is not None for each in used.groups] == [is_compared]


def test_days_of_an_alert_go_from_two_weeks_before_it_began_to_a_week_after_its_end(
    insight: Insight, clock: Clock
) -> None:
    began, ended = clock.now - timedelta(days=40), clock.now - timedelta(days=30)
    resolved = insight.alert_days(alert(began_at=began, resolved_at=ended))
    still = insight.alert_days(alert(began_at=began))
    old = insight.alert_days(alert(began_at=began - timedelta(days=300)))
    today = day_of(clock.now, ZoneInfo(AUCKLAND))

    assert [resolved[0].day, resolved[-1].day] == [today - timedelta(days=54), today - timedelta(days=23)]
    assert (still[-1].day, len(still)) == (today, 55)
    assert len(old) == 56
    assert insight.alert_days(alert(drops=())) == ()


def test_a_silence_ends_by_itself(insight: Insight, store: SqliteStore, clock: Clock) -> None:
    number = _add_alert(store)
    until = insight.silence_alert(number, timedelta(hours=12))
    during = insight.silences()
    clock.now = until
    after = insight.silences()

    assert set(during.values()) == {NOW + timedelta(hours=12)}
    assert after == {}


def test_failures_of_an_issue_are_told_for_each_day(insight: Insight, store: SqliteStore, clock: Clock) -> None:
    _fail(store)
    issues = insight.error_issues()
    (days,) = insight.issue_days(issues, days=3).values()
    today = day_of(clock.now, ZoneInfo(AUCKLAND))

    assert days == {today - timedelta(days=2): 0, today - timedelta(days=1): 1, today: 0}


def test_kept_reports_before_no_week_are_refused(insight: Insight) -> None:
    assert insight.kept_reports() == []
    assert insight.kept_reports(before="2026-W47") == []
    with pytest.raises(InputError, match="is not a week"):
        insight.kept_reports(before="yesterday")


@pytest.mark.parametrize("span", [timedelta(seconds=59), timedelta(days=367), -timedelta(days=1)])
def test_a_silence_is_a_minute_to_a_year(insight: Insight, store: SqliteStore, span: timedelta) -> None:
    number = _add_alert(store)

    with pytest.raises(InputError, match="a minute to a year"):
        insight.silence_alert(number, span)
    assert insight.silences() == {}


def _add_alert(store: SqliteStore) -> int:
    with store.transaction():
        made = store.alerts.add(alert()).number
    assert made is not None
    return made


def _fail(store: SqliteStore) -> None:
    """Save a session in which a command failed."""
    failed = grade(total_errors=1, failures=(Failure(2, "terminal", Category.TIMEOUT, "git", "1-aaa", None),))
    sign = ErrorSign(
        fingerprint="1-aaa", tool="terminal", command="git", category=Category.TIMEOUT, signal="slow", example="slow"
    )
    with store.transaction():
        save_grades(store, [msgspec.structs.replace(new_grade(failed), signs=(sign,))])


def _tried_next(store: SqliteStore, tries: dict[str, tuple[int, int]]) -> None:
    """Save sessions in which `git` timed out; by the next tool how many of them, and in how many it worked."""
    sign = ErrorSign(
        fingerprint="1-aaa", tool="terminal", command="git", category=Category.TIMEOUT, signal="slow", example="slow"
    )
    for tool, (count, worked) in tries.items():
        for number in range(count):
            failure = Failure(2, "terminal", Category.TIMEOUT, "git", "1-aaa", Step(tool, None, number < worked))
            made = grade(session_id=f"{tool}{number}", total_errors=1, failures=(failure,))
            with store.transaction():
                save_grades(store, [msgspec.structs.replace(new_grade(made), signs=(sign,))])


def test_alternatives_come_by_the_lower_end_of_how_often_they_worked(insight: Insight, store: SqliteStore) -> None:
    _tried_next(store, {"few": (4, 4), "some": (6, 6), "many": (30, 28)})

    found = insight.alternatives("terminal", Category.TIMEOUT)

    assert [(step.tool, step.worked, step.tries) for step in found] == [
        ("many", 28, 30),  # from .79
        ("some", 6, 6),  # from .61
        ("few", 4, 4),  # too few
    ]
    assert found[2].rate == Estimate(sample=4)
    assert insight.alternatives("terminal", Category.TIMEOUT, command="git", days=7) == found
    assert insight.alternatives("terminal", Category.TIMEOUT, command="curl") == ()
    assert insight.alternatives("terminal", Category.API_ERROR) == ()


def test_what_is_said_of_an_error_is_noted_and_taken_back(insight: Insight, store: SqliteStore) -> None:
    _fail(store)
    (issue,) = insight.error_issues()
    resolved = insight.resolve_error(issue.fingerprint)
    ignored = insight.ignore_error(issue.fingerprint)
    listed = insight.error_issues()
    reopened = insight.reopen_error(issue.fingerprint)

    assert (resolved.state, ignored.state, listed) == (IssueState.RESOLVED, IssueState.IGNORED, [])
    assert reopened.state == issue.state


def test_a_summary_counts_the_days_that_the_clock_tells(insight: Insight, save: Save, clock: Clock) -> None:
    save("s", ended_at=NOW, ended_on="2026-11-22")  # in Auckland
    counts = []
    for days_later in (0, 6, 7):
        clock.now = NOW + timedelta(days=days_later)
        counts.append(insight.summary(days=7).sessions)

    assert counts == [1, 1, 0]


def test_every_day_is_described_also_those_without_sessions(insight: Insight, save: Save, clock: Clock) -> None:
    for number in range(3):
        ended = {"ending": EndingKind.ANSWERED, "standing": ResultStanding.CHECKED}
        save(f"s{number}", ended_at=clock.now, ended_on="2026-11-22", **ended)

    days = insight.daily(days=5)

    assert [day.sessions for day in days] == [0, 0, 0, 0, 3]
    assert days[0].ended_badly.value is None
    assert days[-1].ended_badly.value is not None
    assert (days[-1].cost_usd, days[-1].tasks) == (None, 0)
