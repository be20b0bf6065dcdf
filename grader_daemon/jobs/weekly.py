"""The weekly report: which weeks lack one, and making it of what the database holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, tzinfo

import msgspec

from grader_daemon.domain.calendar import Span, day_of, end_of, start_of, week_name
from grader_daemon.domain.calibration import GraderChange, Trust
from grader_daemon.domain.error_groups import ErrorIssue
from grader_daemon.domain.insight import TrendPoint, WeeklyReport
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.setup_changes import SetupChange, SetupChanges, SetupEffect
from grader_daemon.domain.work_fate import WorkOutcomes
from grader_daemon.patterns import groups
from grader_daemon.patterns.completion_estimate import estimate_completion
from grader_daemon.patterns.issues import to_issue
from grader_daemon.pipeline.group_completion import completion_of, completions
from grader_daemon.pipeline.kept_sums import jobs_of
from grader_daemon.pipeline.save_labels import labels
from grader_daemon.reports.document import read_report, report_document
from grader_daemon.reports.numbers import TRENDED
from grader_daemon.reports.suggestions import AdviceOn
from grader_daemon.reports.week import Bases, WeekFacts, missing_weeks, revised, weekly_report
from grader_daemon.storage.records import StoredReport
from grader_daemon.storage.sqlite.store import SqliteStore

_SHOWN = (
    *(Dimension.OVERALL, Dimension.AGENT, Dimension.TASK_TYPE, Dimension.TOOL, Dimension.CATEGORY, Dimension.HOST),
    Dimension.KIND,
)
_EXAMINED_ISSUES = 200
_EXAMINED_CALIBRATIONS = 50
_TREND_WEEKS = 8
_WORK_BEFORE = timedelta(weeks=3)
"""With the week itself four weeks: what becomes of work shows later."""
_GRACE = timedelta(hours=1)
_ZONES = timedelta(hours=26)
"""Longest distance between the ends of a day in two zones."""


class ReportJob:
    """Writes the reports that are missing, when nothing waits to be graded that might belong in them."""

    name = "weekly_report"

    def __init__(self, reports: WeeklyReports, *, is_settled: Callable[[], bool]) -> None:
        self._reports = reports
        self._is_settled = is_settled
        import structlog  # who asks for a report need not wait for it

        self._log = structlog.get_logger()

    def run(self, now: datetime) -> bool:
        """Write what is missing an hour after the end of a week: by then its last sessions are over too.

        Returns:
            whether anything was missing.
        """
        weeks = self._reports.missing(now - _GRACE) if self._is_settled() else []
        for week in weeks:
            report, is_news = self._reports.write(week, now)
            if is_news:
                self._log.info(
                    "report.written", week=report.week, revision=report.revision, sessions=report.total_sessions
                )
        return bool(weeks)


class WeeklyReports:
    """Makes weekly reports; a stored one stands until something changes in the days that it was made of."""

    def __init__(
        self,
        store: SqliteStore,
        *,
        zone: tzinfo | None,
        trust: Callable[[], Trust],
        changes: Callable[[datetime, datetime], SetupChanges],
        work: Callable[[datetime, datetime], WorkOutcomes | None] = lambda *_: None,
        skill_advice: Callable[[datetime], AdviceOn] = lambda _: lambda _: None,
    ) -> None:
        """`trust` says how far verdicts can be trusted now.

        `changes` returns what changed in how agents are set up from one moment to another, and how work went,
        `work` what became of it in git, `skill_advice` what finds skills that could help.
        """
        self._store = store
        self._zone = zone
        self._trust = trust
        self._changes_between = changes
        self._work_between = work
        self._skill_advice = skill_advice

    def missing(self, now: datetime) -> list[Span]:
        """Return the weeks that are over and have no report, or one of other numbers, in order.

        Those are the weeks in which sessions ended, and all since this program first used the database.
        """
        installed_at = self._store.reports.installed_at()
        basis_of, bases = Bases(self._store.rollups.revisions()), self._store.reports.bases()
        return missing_weeks(
            self._store.rollups.days_with_sessions(),
            installed_on=None if installed_at is None else day_of(installed_at, self._zone),
            today=day_of(now, self._zone),
            is_told=lambda week: bases.get(week.first) == basis_of(week),
        )

    def write(self, week: Span, now: datetime) -> tuple[WeeklyReport, bool]:
        """Make and keep the report of a week that is over; one that says the same as before stays as it was.

        Returns:
            the report, and whether it says anything new.
        """
        basis = Bases(self._store.rollups.revisions())(week)
        before = _read(self._store.reports.report(week.first))
        report = revised(before, self._make(week, complete=True))
        with self._store.transaction():
            if report == before:
                self._store.reports.note_basis(week.first, basis)
            else:
                content = msgspec.json.encode(report_document(report)).decode()
                self._store.reports.save(week, content, basis=basis, now=now)
        return report, report != before

    def report(self, week: Span, now: datetime) -> WeeklyReport:
        """Return the report of a week: the kept one, or what `write` would keep; a provisional one while it goes on."""
        if week.last >= day_of(now, self._zone):
            return self._make(week, complete=False)
        kept = self._store.reports.report(week.first)
        before = _read(kept)
        if before is not None and kept is not None and kept.basis == Bases(self._store.rollups.revisions())(week):
            return before
        return revised(before, self._make(week, complete=True))

    def kept(self, before: date, limit: int) -> list[WeeklyReport]:
        """Return the newest reports of weeks that began before a day, as they were kept, the newest first.

        Those that only another version can read are left out.
        """
        found = (_decoded(content) for content in self._store.reports.kept(before, limit))
        return [report for report in found if report is not None]

    def _make(self, week: Span, *, complete: bool) -> WeeklyReport:
        since, until = start_of(week.first, self._zone), end_of(week.last, self._zone)
        now, before = (self._store.rollups.groups(span, _SHOWN) for span in (week, week.before()))
        rates = completions(self._store, now, week)
        overall = groups.group(now, before, Dimension.OVERALL, "", completions=rates)
        overall_now = now.get((Dimension.OVERALL, ""), Sums())
        changes = self._changes(week)
        agents, task_types, tools, categories, hosts, kinds = (
            groups.groups(now, before, dimension, completions=rates) for dimension in _SHOWN[1:]
        )

        facts = WeekFacts(
            week=week,
            until=until,
            complete=complete,
            coverage=self._store.reports.coverage(
                graded=overall_now.finished, open_sessions=overall_now.open_sessions, since=since, until=until
            ),
            trust=self._trust(),
            overall=overall,
            spending_before=groups.spending(before.get((Dimension.OVERALL, ""), Sums())),
            agents=agents,
            scheduled=next((group for group in kinds if group.name == SessionKind.CRON), None),
            work=self._work_between(start_of(week.first - _WORK_BEFORE, self._zone), until),
            jobs=jobs_of(self._store.rollups, week),
            hosts=hosts,
            task_types=task_types,
            tools=tools,
            categories=categories,
            issues=self._issues(week, until),
            alerts=self._store.alerts.between(since, until),
            trend=self._trend(week, [each for effect in changes for each in effect.changes if not each.scheduled]),
            checked_completion=completion_of(self._store, overall_now, week),
            verdicts=overall_now.verdicts,
            people=self._store.reports.from_people(week),
            claims=self._store.rollups.claims(week),
            changes=[effect for effect in changes if effect.changes[-1].at >= since],
            grader_changes=self._grader_changes(week),
        )
        return weekly_report(
            facts,
            examples=lambda why: self._store.reports.examples(why, week),
            advice_on=self._skill_advice(until),
        )

    def _issues(self, week: Span, until: datetime) -> list[ErrorIssue]:
        """The issues of the week as they stood at its end, those in most sessions first."""
        found = []
        for fingerprint in self._store.issues.seen(week)[:_EXAMINED_ISSUES]:
            row = self._store.issues.issue(fingerprint, week, until=until + _ZONES)
            if row is not None:
                found.append(to_issue(row, until, today=week.last))
        return found

    def _changes(self, week: Span) -> tuple[SetupEffect, ...]:
        """Return what changed in the weeks of the trend, the newest first, as it stood at the end of the last."""
        since = start_of(week.first - timedelta(weeks=_TREND_WEEKS - 1), self._zone)
        return self._changes_between(since, end_of(week.last, self._zone)).effects

    def _grader_changes(self, week: Span) -> list[GraderChange]:
        """Return when another grader came into force in the weeks of the trend, the newest first."""
        since = start_of(week.first - timedelta(weeks=_TREND_WEEKS - 1), self._zone)
        found = (made.grader_change for made in self._store.calibrations.latest(_EXAMINED_CALIBRATIONS))
        until = end_of(week.last, self._zone)
        return [change for change in found if change is not None and since <= change.at < until]

    def _trend(self, week: Span, changes: Sequence[SetupChange]) -> list[TrendPoint]:
        points: list[TrendPoint] = []
        found = labels(self._store)
        while len(points) < _TREND_WEEKS:
            sums = self._store.rollups.group(Dimension.OVERALL, "", week)
            estimates = groups.estimates(sums)
            points.append(
                TrendPoint(
                    week=week_name(week.first),
                    sessions=sums.sessions,
                    unanswered=sums.unanswered,
                    **{measure.report: estimates[measure.group] for measure in TRENDED},
                    done=sums.done,
                    not_done=sums.not_done,
                    unsure=sums.unsure,
                    checked_completion=estimate_completion(sums, found, week),
                    changes=tuple(each for each in changes if week.first <= day_of(each.at, self._zone) <= week.last),
                )
            )
            week = week.before()
        return points[::-1]


def _read(kept: StoredReport | None) -> WeeklyReport | None:
    """Read a report that was kept; one of another version, or that somebody changed, is made anew."""
    return None if kept is None else _decoded(kept.content)


def _decoded(content: str) -> WeeklyReport | None:
    try:
        return read_report(content)
    except msgspec.MsgspecError:
        return None
