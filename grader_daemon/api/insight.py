"""Insight from many grades together: patterns, error issues, weekly reports, alerts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta
from functools import partial
from itertools import islice

import msgspec

from grader_daemon.api.arguments import check_count, check_days
from grader_daemon.api.context import GraderPart
from grader_daemon.api.excerpts import one_line
from grader_daemon.api.grades import GradeFilter, Grades
from grader_daemon.bootstrap import periodic
from grader_daemon.domain.alert import Alert, Stream
from grader_daemon.domain.analysis import Category
from grader_daemon.domain.calendar import ALWAYS, Span, day_of, end_of, last_days, read_week, start_of, week_of
from grader_daemon.domain.error_groups import NEWS, ErrorIssue, IssueState, StepCount
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.insight import DayFigures, Group, Patterns, WeeklyReport
from grader_daemon.domain.rollup import Dimension, Metric, Sums
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.summary import Summary
from grader_daemon.domain.text import storable
from grader_daemon.domain.usage_by_day import MOST_DAYS, UsageByDay, UsageSplit
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.domain.work_fate import WorkOutcomes
from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.patterns.groups import (
    PATTERN_DIMENSIONS,
    GroupSums,
    each_day,
    find_patterns,
    groups,
    share_of,
    spending,
    with_users,
)
from grader_daemon.patterns.issues import quiet_before_news, surest_first, to_issue
from grader_daemon.pipeline.group_completion import completion_of, completions
from grader_daemon.pipeline.kept_sums import jobs_of, usage_of
from grader_daemon.pipeline.saving import save_alert
from grader_daemon.reports.week import FIRST_WEEK
from grader_daemon.wings import part

_FACTS = ("recorded", "ended_badly", "contradicted", "check_failed", "admitted", "cut_short", "gave_up", "left_midway")
"""Sums of what the record shows, by their fields of `Summary`."""
_LONGEST_SILENCE = timedelta(days=366)
_BEFORE_ALERT, _AFTER_ALERT = timedelta(days=14), timedelta(days=7)
_AROUND_ALERT = timedelta(days=55)


class Insight(GraderPart):
    """Answers questions about many grades.

    Spans of days end today and begin at midnight where the person lives (setting `timezone`).
    """

    def summary(self, *, days: float | None = 7) -> Summary:
        """Count and average the finished sessions that ended in the last `days` days (None: ever)."""
        span = self._span(days)
        found = self._context.store.rollups.groups(span, (Dimension.OVERALL, Dimension.AGENT))
        sums = found.pop((Dimension.OVERALL, ""), Sums())
        verdicts = sums.verdicts
        return Summary(
            sessions=sums.sessions,
            efficiency=sums.efficiency / sums.scored if sums.scored else None,
            quality=sums.quality / sums.scored if sums.scored else None,
            with_errors=sums.with_errors,
            recovered=sums.recovered,
            open_sessions=sums.open_sessions,
            unanswered=sums.unanswered,
            scheduled=self._context.store.rollups.group(Dimension.KIND, SessionKind.CRON, span).ended,
            done=verdicts.done,
            not_done=verdicts.not_done,
            unsure=verdicts.unsure,
            no_answer=verdicts.no_answer,
            checked=self._completion(sums, span),
            **{name: getattr(sums, name) for name in _FACTS},
            agents={name: of_agent.sessions for (_, name), of_agent in found.items() if of_agent.sessions},
            spending=spending(sums),
        )

    def _completion(self, sums: Sums, span: Span) -> Estimate:
        """Estimate the rate of completion of a span by labels, or by the person's guess where these are too few."""
        return completion_of(self._context.store, sums, span, guess=self._guess())

    def _guess(self) -> float | None:
        guess = self._context.store.level_guesses.last()
        return None if guess is None else guess.rate

    def verdicts(self, *, days: float | None = 7) -> VerdictCounts:
        """Count the finished sessions of the last `days` days (None: ever) by their verdict."""
        return self._context.store.rollups.verdicts(self._span(days))

    def summary_text(self, days: float = 7) -> str:
        """Return a summary of the last days as text for people."""
        from grader_daemon.api.summary_text import summary_text

        return summary_text(self.summary(days=days), self.patterns(days), Grades(self._context).trust(), days=days)

    def patterns(self, days: float = 7) -> Patterns:
        """Return common patterns in the finished sessions of the last `days` days, compared with the days before."""
        span = self._span(days)
        sums, before = (self._sums(each, PATTERN_DIMENSIONS) for each in (span, span.before()))
        steps, daily = self._context.store.rollups.tool_steps(span), self._context.store.rollups.days(span)
        store, zone = self._context.store, self._context.settings.zone
        known = completions(store, sums, span, guess=self._guess())
        found = find_patterns(sums, before, steps, span=span, daily=daily, completions=known)
        work: WorkOutcomes = part("outcomes")(store, start_of(span.first, zone), end_of(span.last, zone))
        said, said_before = (store.reports.from_people(each) for each in (span, span.before()))
        counts = found.overall.sessions, found.overall.sessions_before
        return msgspec.structs.replace(
            found,
            jobs=jobs_of(store.rollups, span),
            work=work,
            objected=share_of(said.objected, counts[0], said_before.objected, counts[1]),
            claims=store.rollups.claims(span),
            asked_again=share_of(said.asked_again, counts[0], said_before.asked_again, counts[1]),
        )

    def groups(self, dimension: Dimension, *, days: float | None = 7) -> tuple[Group, ...]:
        """Describe the groups of one dimension over the last `days` days (None: ever), compared with the days before.

        As in `patterns`, and those of `Dimension.TASK_MODEL` too: what each model does of each type of task.
        """
        span = self._span(days)
        read = partial(self._sums, dimensions=(Dimension.OVERALL, Dimension.HOST, dimension))
        sums, before = read(span), {} if days is None else read(span.before())
        return groups(sums, before, dimension, completions=completions(self._context.store, sums, span))

    def daily(self, *, days: float = 28, of: tuple[Dimension, str] = (Dimension.OVERALL, "")) -> tuple[DayFigures, ...]:
        """Describe each of the last `days` days, also those without a session: tasks of people, or `of` one group."""
        span = self._span(days)
        return each_day(span, self._context.store.rollups.days(span, *of))

    def usage(self, *, days: float = 7, split: UsageSplit = UsageSplit.MODEL, only: str | None = None) -> UsageByDay:
        """Describe cost and tokens of the finished sessions of the last `days` days, by day and group, or one `only`.

        Raises:
            InputError: it is no number of days, or of more than a year.
        """
        span = self._span(days)
        if span.days > MOST_DAYS:
            raise InputError(f"usage covers at most {MOST_DAYS} days, not {span.days:,}")
        return usage_of(self._context.store, span, split, only=only)

    def alert_days(self, alert: Alert) -> tuple[DayFigures, ...]:
        """Describe the days around an alert, for the sessions in which it was detected first.

        They go from two weeks before it began to a week after it was resolved, or to today: at most eight weeks. There
        are none of an alert of the completion rate by labels.
        """
        if not alert.drops or alert.drops[0].stream.metric is Metric.COMPLETION_RATE:
            return ()  # a day has too few labels
        zone, today = self._context.settings.zone, self._context.today
        first = day_of(alert.began_at, zone) - _BEFORE_ALERT
        end = today if alert.resolved_at is None else min(today, day_of(alert.resolved_at, zone) + _AFTER_ALERT)
        span = Span(first, max(first, min(end, first + _AROUND_ALERT)))
        known = self._context.store.rollups.days(span, alert.drops[0].stream.dimension, alert.drops[0].stream.name)
        return each_day(span, known)

    def task_score(self, task_type: str, *, days: float | None = None) -> float | None:
        """Mean session score (1-5) of a task type, over the last `days` days or ever; None without sessions.

        Raises:
            InputError: no session is of this type, and no rule gives it.
        """
        self._context.check_task_type(task_type)
        return self._context.store.rollups.group(Dimension.TASK_TYPE, task_type, self._span(days)).plain_score

    # -- error issues ----------------------------------------------------------------------------------------------

    def error_issues(
        self,
        *,
        days: float | None = 30,
        states: frozenset[IssueState] | None = None,
        among: GradeFilter | None = None,
        limit: int | None = None,
    ) -> list[ErrorIssue]:
        """Return the error groups of the last `days` days (None: ever), those in most sessions first.

        `states` keeps those that stand in one of them; without it the ignored ones are left out. `among` keeps those of
        sessions since then of its project and agent, with their counts over all sessions. At most `limit`.
        """
        wanted = states if states is not None else frozenset(IssueState) - {IssueState.IGNORED}
        span, now = self._span(days), self._context.now()
        quiet = quiet_before_news(day_of(now, self._context.settings.zone)) if wanted <= NEWS else None
        seen = self._context.store.issues.seen(span, among, quiet=quiet)
        found = (self._issue(fingerprint, span, now) for fingerprint in seen)
        most = None if limit is None else check_count("limit", limit, least=0)
        return list(islice((issue for issue in found if issue is not None and issue.state in wanted), most))

    def error_issue(self, prefix: str) -> ErrorIssue:
        """Return the error group whose id begins with `prefix`, with its counts over all time.

        Raises:
            InputError: there is none, or there are several.
        """
        fingerprint = self._context.store.issues.find(prefix)
        issue = self._issue(fingerprint, ALWAYS, self._context.now())
        if issue is None:
            raise NotFoundError(f"error group {fingerprint} no longer occurs in any finished session")
        return issue

    def find_issue(self, prefix: str) -> str:
        """Return the full fingerprint of the only error group whose id begins with `prefix`.

        Raises:
            InputError: none or several do.
        """
        return self._context.store.issues.find(prefix)

    def alternatives(
        self, tool: str, category: Category, *, command: str | None = None, days: float | None = None
    ) -> tuple[StepCount, ...]:
        """Count the next steps after a tool failed for a cause, and how often each worked, the most reliable first.

        Ordered by the lower end of the 95 % interval; fewer than 5 tries have no rate. Of all failures of the tool in
        this category, or of one `command` ("git push"), in the last `days` days (None: ever). Failures that
        belong to no issue, because their session had too many kinds, do not count.
        """
        steps = self._context.store.issues.tool_steps(self._span(days), tool=tool, category=category, command=command)
        return surest_first(steps)

    def other_steps(self, issue: ErrorIssue) -> tuple[StepCount, ...]:
        """Return the `alternatives` after all errors of its tool and category; none if it is the only such group."""
        known = self.alternatives(issue.tool, issue.category) if issue.tool is not None else ()
        return known if sum(step.tries for step in known) > sum(step.tries for step in issue.steps) else ()

    def issue_days(self, issues: Iterable[ErrorIssue], *, days: int = 28) -> dict[str, dict[date, int]]:
        """Count the failures of error groups, by fingerprint, on each of the last `days` days."""
        span = self._span(days)
        every = [span.first + timedelta(days=number) for number in range(days)]
        fingerprints = [issue.fingerprint for issue in issues]
        counted = self._context.store.issues.daily(fingerprints, span)
        return {each: {day: counted.get(each, {}).get(day, 0) for day in every} for each in fingerprints}

    def resolve_error(self, prefix: str) -> ErrorIssue:
        """Mark an error group as resolved; it becomes `returned` if it occurs again.

        Raises:
            InputError: see `error_issue`.
        """
        return self._mark(prefix, resolved_at=self._context.now(), ignored_at=None)

    def ignore_error(self, prefix: str) -> ErrorIssue:
        """Hide an error group from lists.

        Raises:
            InputError: see `error_issue`.
        """
        return self._mark(prefix, resolved_at=None, ignored_at=self._context.now())

    def reopen_error(self, prefix: str) -> ErrorIssue:
        """Withdraw the note on an error group.

        Raises:
            InputError: see `error_issue`.
        """
        return self._mark(prefix, resolved_at=None, ignored_at=None)

    # -- reports ---------------------------------------------------------------------------------------------------

    def weekly_report(self, week: str | date | None = None) -> WeeklyReport:
        """Return the report of an ISO week ("2026-W47", or any day in it); by default of the last complete week.

        The daemon keeps the reports of weeks that are over, until their sessions change; such a report is given as it
        was kept. Another one is made as the daemon would make it, and not kept; that of a week that goes on is
        provisional.

        Raises:
            InputError: there is no such week, or it has not begun.
        """
        now = self._context.now()
        today = day_of(now, self._context.settings.zone)
        try:
            day = read_week(week) if isinstance(week, str) else week
        except ValueError as error:
            raise InputError(str(error)) from error
        wanted = week_of(today).before() if day is None else week_of(day)
        if wanted.first > today or wanted.first < FIRST_WEEK:
            raise NotFoundError(f"there is no report of week {week}: it is in the future, or before {FIRST_WEEK.year}")
        return periodic.make_reports(self._context.settings, self._context.store).report(wanted, now)

    def kept_reports(self, *, before: str | None = None, limit: int = 52) -> list[WeeklyReport]:
        """Return the newest stored reports, of weeks before `before` ("2026-W47"), the newest first.

        Raises:
            InputError: there is no such week.
        """
        try:
            day = date.max if before is None else read_week(before)
        except ValueError as error:
            raise InputError(str(error)) from error
        return periodic.make_reports(self._context.settings, self._context.store).kept(day, check_count("limit", limit))

    # -- alerts ----------------------------------------------------------------------------------------------------

    def alerts(self, *, limit: int = 50) -> list[Alert]:
        """Return the alerts that are open, then the newest of the others."""
        check_count("limit", limit)
        current = self._context.store.alerts.open()
        return (current + [alert for alert in self._context.store.alerts.latest(limit) if alert.resolved_at])[:limit]

    def open_alerts(self) -> int:
        """Count the alerts that are not resolved."""
        return len(self._context.store.alerts.open())

    def alert(self, number: int) -> Alert:
        """Return one alert.

        Raises:
            InputError: there is none of this number.
        """
        return self._context.store.alerts.find(number)

    def acknowledge_alert(self, number: int, note: str | None = None) -> Alert:
        """Acknowledge an alert; without a `note`, an earlier note stays.

        Raises:
            InputError: there is none of this number.
        """
        with self._context.deciding():
            known = self._context.store.alerts.find(number)
            said = known.note if note is None else one_line(storable(note), self._context.redactor)
            alert = msgspec.structs.replace(known, acknowledged_at=self._context.now(), note=said)
            save_alert(self._context.store, alert)
        return alert

    def silence_alert(self, number: int, span: timedelta) -> datetime:
        """Silence the streams of an alert for a time; returns its end.

        Raises:
            InputError: there is no such alert, or the time is not between a minute and a year.
        """
        if not timedelta(minutes=1) <= span <= _LONGEST_SILENCE:
            raise InputError("an alert can be silenced for a minute to a year")
        until = self._context.now() + span
        with self._context.deciding():
            alert = self._context.store.alerts.find(number)
            self._context.store.alerts.silence([drop.stream for drop in alert.drops], until)
        return until

    def unacknowledge_alert(self, number: int) -> Alert:
        """Withdraw the acknowledgement of an alert; its note stays.

        Raises:
            InputError: there is none of this number.
        """
        with self._context.deciding():
            alert = msgspec.structs.replace(self._context.store.alerts.find(number), acknowledged_at=None)
            save_alert(self._context.store, alert)
        return alert

    def unsilence_alert(self, number: int) -> Alert:
        """End the silence of the streams of an alert.

        Raises:
            InputError: there is none of this number.
        """
        with self._context.deciding():
            alert = self._context.store.alerts.find(number)
            self._context.store.alerts.unsilence([drop.stream for drop in alert.drops])
        return alert

    def test_alerts(self) -> dict[str, str | None]:
        """Send a test alert to every receiver; returns each error, or None if it arrived."""
        from grader_daemon.integrations.receivers import try_receivers  # which loads what posts

        return try_receivers(periodic.make_receivers(self._context.settings), now=self._context.now())

    def silences(self) -> dict[Stream, datetime]:
        """Silenced streams, and until when."""
        return self._context.store.alerts.silenced(self._context.now())

    def _sums(self, span: Span, dimensions: Collection[Dimension]) -> GroupSums:
        return with_users(self._context.store.rollups.groups(span, dimensions), self._context.store.fleet.hosts())

    def _span(self, days: float | None) -> Span:
        today = self._context.today
        return ALWAYS if days is None else last_days(math.ceil(check_days(days)), today)

    def _issue(self, fingerprint: str, span: Span, now: datetime) -> ErrorIssue | None:
        row = self._context.store.issues.issue(fingerprint, span, until=datetime.max.replace(tzinfo=now.tzinfo))
        return None if row is None else to_issue(row, now, today=day_of(now, self._context.settings.zone))

    def _mark(self, prefix: str, *, resolved_at: datetime | None, ignored_at: datetime | None) -> ErrorIssue:
        with self._context.deciding():
            fingerprint = self._context.store.issues.find(prefix)
            self._context.store.issues.mark(fingerprint, resolved_at=resolved_at, ignored_at=ignored_at)
        return self.error_issue(fingerprint)
