"""A week's report out of what is known of the week, and which weeks lack one. Pure: nothing here asks a database."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import accumulate

import msgspec
from msgspec.structs import replace

from grader_daemon.domain.alert import Alert
from grader_daemon.domain.calendar import Span, week_name, week_of
from grader_daemon.domain.calibration import GraderChange, Trust
from grader_daemon.domain.claims import ClaimTally
from grader_daemon.domain.error_groups import ErrorIssue, IssueState
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.insight import Coverage, FromPeople, Group, Spending, TrendPoint, WeeklyReport
from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.domain.setup_changes import SetupEffect
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.domain.work_fate import WorkOutcomes
from grader_daemon.reports.numbers import REPORTED
from grader_daemon.reports.suggestions import AdviceOn, Examples, suggest

FIRST_WEEK = date(2000, 1, 3)
"""A session of an earlier week has a wrong time."""
_LISTED = 5
_LISTED_ISSUES = 10
_WEEK = timedelta(days=7)


class WeekFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a week that ends at `until`.

    `issues` stand as they did at its end, those in most sessions first; `alerts` are all that were open in it, as
    they stand now.
    """

    week: Span
    until: datetime
    complete: bool
    coverage: Coverage
    trust: Trust
    overall: Group
    spending_before: Spending
    agents: Sequence[Group]
    hosts: Sequence[Group]
    task_types: Sequence[Group]
    tools: Sequence[Group]
    categories: Sequence[Group]
    issues: Sequence[ErrorIssue]
    alerts: Sequence[Alert]
    trend: Sequence[TrendPoint]
    checked_completion: Estimate
    verdicts: VerdictCounts
    people: FromPeople
    claims: Sequence[ClaimTally]
    changes: Sequence[SetupEffect]
    grader_changes: Sequence[GraderChange] = ()
    scheduled: Group | None = None
    jobs: Sequence[ScheduledJob] = ()
    work: WorkOutcomes | None = None


def weekly_report(facts: WeekFacts, *, examples: Examples, advice_on: AdviceOn) -> WeeklyReport:
    """Return the first report of a week."""
    overall = facts.overall
    scored = [group for group in facts.task_types if group.score.now.value is not None]
    return WeeklyReport(
        week=week_name(facts.week.first),
        week_start=facts.week.first,
        week_end=facts.week.last,
        complete=facts.complete,
        revision=1,
        late_sessions=0,
        coverage=facts.coverage,
        total_sessions=overall.sessions,
        unanswered=overall.unanswered,
        sessions_before=overall.sessions_before,
        trust=facts.trust,
        **{measure.report: getattr(overall, measure.group) for measure in REPORTED},
        lowest_task_types=tuple(sorted(scored, key=lambda g: (g.score.now.value or 0.0, g.name))[:_LISTED]),
        error_prone_tools=tuple(group for group in facts.tools[:_LISTED] if group.failures),
        common_errors=tuple(facts.categories[:_LISTED]),
        suggestions=suggest(
            overall,
            task_types=facts.task_types,
            tools=facts.tools,
            categories=facts.categories,
            examples=examples,
            advice_on=advice_on,
        ),
        new_issues=_in_state(IssueState.NEW, facts.issues),
        returned_issues=_in_state(IssueState.RETURNED, facts.issues),
        alerts=tuple(_as_of(alert, facts.until) for alert in facts.alerts),
        trend=tuple(facts.trend),
        checked_completion=facts.checked_completion,
        verdicts=facts.verdicts,
        people=facts.people,
        claims=tuple(facts.claims),
        agents=tuple(facts.agents),
        hosts=tuple(facts.hosts),
        scheduled=facts.scheduled,
        jobs=tuple(facts.jobs),
        work=facts.work,
        spending=overall.spending,
        spending_before=facts.spending_before,
        changes=tuple(facts.changes),
        grader_changes=tuple(facts.grader_changes),
    )


def revised(before: WeeklyReport | None, made: WeeklyReport) -> WeeklyReport:
    """Return the report to keep: another revision if it says other things than the one before."""
    if before is None:
        return made
    late = max(0, before.late_sessions + _finished(made) - _finished(before))
    same = replace(made, revision=before.revision, late_sessions=before.late_sessions)
    return before if same == before else replace(made, revision=before.revision + 1, late_sessions=late)


def missing_weeks(
    days: Iterable[date], *, installed_on: date | None, today: date, is_told: Callable[[Span], bool]
) -> list[Span]:
    """Return the weeks before that of `today` of which nobody was told, in order.

    Those are the weeks of the `days` on which sessions ended, and all since `installed_on`.
    """
    this_week = week_of(today)
    weeks = {week_of(day) for day in days}
    if installed_on is not None:
        week = week_of(installed_on)
        while week.first < this_week.first:
            weeks.add(week)
            week = week_of(week.first + _WEEK)
    over = (week for week in weeks if FIRST_WEEK <= week.first < this_week.first and not is_told(week))
    return sorted(over, key=lambda week: week.first)


class Bases:
    """Bases of reports, each as one number: the revisions of all days up to the end of a week.

    The trend looks back eight weeks, and whether an error is new depends on all days before.
    """

    def __init__(self, revisions: Mapping[date, int]) -> None:
        self._days = sorted(revisions)
        self._sums = [0, *accumulate(revisions[day] for day in self._days)]

    def __call__(self, week: Span) -> int:
        """Return the basis of the report of a week."""
        return self._sums[bisect_right(self._days, week.last)]


def _in_state(state: IssueState, issues: Iterable[ErrorIssue]) -> tuple[ErrorIssue, ...]:
    return tuple([issue for issue in issues if issue.state is state][:_LISTED_ISSUES])


def _finished(report: WeeklyReport) -> int:
    return report.total_sessions + report.unanswered


def _as_of(alert: Alert, moment: datetime) -> Alert:
    """Forget what happened to the alert after `moment`."""
    resolved = alert.resolved_at if alert.resolved_at is not None and alert.resolved_at < moment else None
    return replace(alert, resolved_at=resolved, acknowledged_at=None, note=None, told=True)
