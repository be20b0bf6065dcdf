"""Today: what needs a person, is anything wrong, how good is it, can the numbers be trusted, and what to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final
from xml.etree.ElementTree import Element

import msgspec
from starlette.responses import Response

from grader_daemon.api.grades import GradeFilter
from grader_daemon.api.overview import Overview, main_figures
from grader_daemon.dashboard.chart_days import Marked, chart_days, events_on
from grader_daemon.dashboard.pages.alerts import change_line
from grader_daemon.dashboard.pages.cards import CONTRADICTED_READ, MOST, NEWS_SHOWN, Today, cards_of
from grader_daemon.dashboard.scope import MOST_DAYS, Scope
from grader_daemon.dashboard.scope_line import scope_line
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.claims import Support
from grader_daemon.domain.error_groups import NEWS, ErrorIssue, StepCount
from grader_daemon.domain.estimate import Figure
from grader_daemon.domain.feedback import FEWEST_DRAWN
from grader_daemon.domain.fleet_hosts import FleetHostState
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.insight import DayFigures, Group, Patterns, Spending
from grader_daemon.domain.rollup import Dimension, task_and_model
from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.setup_changes import SetupChange
from grader_daemon.domain.text import count
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.patterns.groups import group as group_of
from grader_daemon.reports.charts import ChartDay, Event, shares_bar, sparkline, trend_chart
from grader_daemon.reports.issue_names import IssueName, issue_name
from grader_daemon.reports.job_words import endings_words, more_jobs_words
from grader_daemon.reports.money import usd_words
from grader_daemon.reports.numbers import (
    BAD_ENDINGS,
    COMPLETION,
    FAILURES,
    TRENDED,
    UNKNOWN,
    Direction,
    Measure,
    change_words,
    direction_of,
    estimate_words,
    interval_words,
    missing_words,
    value_words,
)
from grader_daemon.reports.phrasing import sure_step
from grader_daemon.reports.verdicts import known_rate_words, shares_words
from grader_daemon.reports.work_words import outcomes_words

_MONTH: Final = 28
_MOST_DRAWN: Final = 90
_ERRORS_SHOWN: Final = 3
_GRADED_SHOWN: Final = 4
_RUNNING_SHOWN: Final = 10
_JOBS_SHOWN: Final = 8
_TYPES_SHOWN: Final = 5
_MODELS_SHOWN: Final = 4
_IN_A_ROW: Final = 3
"""Cards that fill the row, so that a question would push the figures down: their link to the review stays."""
_ANSWER_SECONDS: Final = 18
"""Five questions take 90 seconds."""
_LEAST_PRICED: Final = 0.2
"""Of the sessions: where the price of fewer is known, a tile would make too much of them."""


class Tile(msgspec.Struct, frozen=True, kw_only=True):
    """One of the figures on top: its value, what that rests on, how it stands to the week before, and its month.

    `value` is None where there are too few sessions; `detail` then says so. `asks`: labels would tell more.
    """

    title: str
    value: str | None
    detail: str
    change: str | None
    direction: Direction
    month: Element | None
    asks: bool = False


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of a fleet, and how it did in the week, beside the one before."""

    host: FleetHostState
    sessions: int
    ended_badly: str
    change: str


class JobLine(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduled job, and how its runs of the week ended, beside those of the one before."""

    job: ScheduledJob
    ended_badly: str
    change: str
    direction: Direction
    endings: str
    errors: str


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    """An error issue, its line, and the next step that surely helps, if one does."""

    issue: ErrorIssue
    name: IssueName
    step: StepCount | None


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Types of task by models, the commonest first; `cells` by both, where there were sessions."""

    types: tuple[str, ...]
    models: tuple[str, ...]
    cells: dict[tuple[str, str], Group]
    left_out: int


def overview(visit: Visit) -> Response:
    """Answer with the first look."""
    grader, scope, days = visit.grader, visit.scope, visit.scope.days_shown
    seen = main_figures(grader.context, days=days)
    assert seen.patterns is not None  # there is a database
    drawn = max(_MONTH, min(days, _MOST_DRAWN))
    daily = grader.insight.daily(days=drawn, of=scope.group or (Dimension.OVERALL, ""))
    issues = grader.insight.error_issues(days=days, limit=_ERRORS_SHOWN)
    running = _listed(visit, state=SessionState.OPEN, limit=_RUNNING_SHOWN)
    news, line_of = _news(visit, issues), partial(change_line, visit)
    needed = cards_of(Today(seen, _contradicted(visit), running, news, visit.site.title, line_of))
    changed, graders = _changed(visit, drawn), grader.calibration.changes(days=drawn)
    whole = scope.group is None
    shown = _shown(seen.patterns, scope)
    jobs = seen.patterns.jobs if whole and scope.kind is None else ()
    charted = chart_days(scope, daily, BAD_ENDINGS)
    marked: list[Marked] = [*grader.insight.alerts(), *changed, *graders]
    return visit.show(
        "overview.html",
        scope=scope_line(visit, note=_scope_note(scope), longest=MOST_DAYS),
        seen=seen,
        grading=None if visit.site.first_grading is None else visit.site.first_grading.state,
        headline=_headline(len(needed)),
        span=_span_words(seen.patterns),
        patterns=seen.patterns,
        shown=shown,
        is_whole=whole,
        machines=_machines(seen, seen.patterns.groups[Dimension.HOST]) if whole else [],
        jobs=[_job_line(job) for job in jobs[:_JOBS_SHOWN]],
        work=None if seen.patterns.work is None or not whole else outcomes_words(seen.patterns.work),
        more_jobs=more_jobs_words(jobs, _JOBS_SHOWN),
        cards=needed[:MOST],
        more_cards=max(0, len(needed) - MOST),
        questions=_questions(visit) if len(needed) != _IN_A_ROW else None,
        tiles=list(_tiles(seen, shown, daily, is_whole=whole)),
        charted=charted,
        trend=_trend(charted, daily, events_on(daily, marked, visit.site.settings.zone)),
        changed=bool(changed),
        drawn_days=drawn,
        failing=[Failing(issue=issue, name=issue_name(issue), step=sure_step(issue.steps)) for issue in issues],
        matrix=_matrix(grader.insight.groups(Dimension.TASK_MODEL, days=_MONTH) if whole else ()),
        graded=_listed(visit, limit=_GRADED_SHOWN),
        bad_endings=BAD_ENDINGS,
        completion=COMPLETION,
        running=running,
    )


def _headline(needed: int) -> str:
    if not needed:
        return "Nothing needs your attention"
    return f"{count(needed, 'thing')} {'needs' if needed == 1 else 'need'} your attention"


def _span_words(patterns: Patterns) -> str:
    if patterns.days == 1:
        return f"Finished sessions of today, {patterns.last_day}, compared with the day before"
    span, compared = f"{patterns.first_day} to {patterns.last_day}", f"the {patterns.days} days before"
    return f"Finished sessions of the last {patterns.days} days, {span}, compared with {compared}"


def _questions(visit: Visit) -> str | None:
    """Return how many questions of the week wait for answers, and how long these take; None if there are none."""
    left = 0 if visit.site.reads_only else visit.site.recent("questions", visit.grader.review.left_this_week)[1]
    return f"{count(left, 'question')}, {left * _ANSWER_SECONDS} seconds" if left else None


def _shown(patterns: Patterns, scope: Scope) -> Group:
    """Return the group whose figures are shown; one without sessions where none are in the scope."""
    if scope.group is None:
        return patterns.overall
    dimension, name = scope.group
    found = (each for each in patterns.groups[dimension] if each.name == name)
    return next(found, group_of({}, {}, dimension, name))


def _scope_note(scope: Scope) -> str:
    of_all = "" if not any(scope.whose.values()) else "Errors and alerts cover all sessions."
    return " ".join(each for each in (scope.beyond_the_sums, of_all) if each)


def _news(visit: Visit, issues: list[ErrorIssue]) -> list[ErrorIssue]:
    """Return those of the most frequent errors that are new or back, or else others that are."""
    found = [issue for issue in issues if issue.state in NEWS]
    if found or len(issues) < _ERRORS_SHOWN:
        return found[:NEWS_SHOWN]
    return visit.grader.insight.error_issues(days=visit.scope.days_shown, states=NEWS, limit=NEWS_SHOWN)


def _tiles(seen: Overview, shown: Group, daily: Sequence[DayFigures], *, is_whole: bool) -> Iterator[Tile]:
    assert seen.patterns is not None  # there is a database
    yield from _verdicts(seen, shown, is_whole=is_whole)
    for measure in TRENDED:
        estimates = [getattr(day, measure.group) for day in daily[-_MONTH:]]
        month = sparkline(estimates, measure=measure) if any(one.value is not None for one in estimates) else None
        yield _figure_tile(measure.name, getattr(shown, measure.group), measure, month=month)
    if is_whole:
        yield from _scheduled(seen.patterns.groups[Dimension.KIND])
    if shown.spending is not None and _is_priced(shown.spending):
        yield _cost(shown.spending, daily, seen.patterns.days)


def _figure_tile(title: str, figure: Figure, measure: Measure, *, month: Element | None = None) -> Tile:
    now = figure.now
    return Tile(
        title=title,
        value=None if now.value is None else value_words(now.value, measure),
        detail=missing_words(now, measure)
        if now.value is None
        else f"{interval_words(now, measure)}, {count(now.sample, 'session')}",
        change=None if figure.change.value is None else change_words(figure, measure),
        direction=direction_of(figure, measure),
        month=month,
    )


def _verdicts(seen: Overview, shown: Group, *, is_whole: bool) -> Iterator[Tile]:
    """Return the three shares, and below them the rate where labels put it right."""
    counts = VerdictCounts(shown.done, shown.not_done, shown.unsure, shown.unanswered)
    if is_whole and seen.verdicts is not None:
        counts = seen.verdicts
    if not counts.answered:
        return
    checked = seen.checked if is_whole else None
    yield Tile(
        title="Verdicts",
        value=shares_words(counts),
        detail="" if checked is None else f"Completion rate {known_rate_words(checked)}",
        change=None,
        direction=Direction.UNKNOWN,
        month=shares_bar(counts),
        asks=checked is not None and checked.sample < FEWEST_DRAWN,
    )


def _scheduled(kinds: Iterable[Group]) -> Iterator[Tile]:
    """Return how the runs of schedules do, where there are any: no other figure counts them."""
    for group in kinds:
        if group.name == SessionKind.CRON:
            yield _figure_tile(f"Scheduled: {BAD_ENDINGS.name.lower()}", group.ended_badly, BAD_ENDINGS)


def _machines(seen: Overview, groups: Iterable[Group]) -> list[Machine]:
    """Return the machines of a fleet, those with most sessions first."""
    known = {group.name: group for group in groups}
    found = [(host, known.get(host.host)) for host in (() if seen.fleet is None else seen.fleet.hosts)]
    return sorted(
        (
            Machine(
                host=host,
                sessions=0 if group is None else group.sessions,
                ended_badly=UNKNOWN if group is None else estimate_words(group.ended_badly.now, BAD_ENDINGS),
                change=UNKNOWN if group is None else change_words(group.ended_badly, BAD_ENDINGS),
            )
            for host, group in found
        ),
        key=lambda machine: (-machine.sessions, machine.host.host),
    )


def _job_line(job: ScheduledJob) -> JobLine:
    return JobLine(
        job=job,
        ended_badly=estimate_words(job.ended_badly.now, BAD_ENDINGS),
        change=change_words(job.ended_badly, BAD_ENDINGS),
        direction=direction_of(job.ended_badly, BAD_ENDINGS),
        endings=endings_words(job),
        errors=estimate_words(job.failure_rate.now, FAILURES),
    )


def _is_priced(spent: Spending) -> bool:
    return spent.priced > 0 and spent.priced >= _LEAST_PRICED * spent.sessions


def _cost(spent: Spending, daily: Sequence[DayFigures], days: int) -> Tile:
    each = spent.per_task_usd
    before = _per_task(daily[-2 * days : -days])
    return Tile(
        title="Cost per task",
        value=None if each is None else usd_words(each),
        detail=f"{usd_words(spent.cost_usd)} total, known for {spent.priced:,} of {count(spent.sessions, 'session')}",
        change=None if each is None or before is None else f"{usd_words(before)} the {count(days, 'day')} before",
        direction=Direction.UNKNOWN,
        month=None,
    )


def _per_task(days: Sequence[DayFigures]) -> float | None:
    tasks = sum(day.tasks for day in days)
    return sum(day.cost_usd or 0.0 for day in days) / tasks if tasks else None


def _changed(visit: Visit, days: int) -> list[SetupChange]:
    """Return what changed of how agents are set up, in order, as far as the trend is of their work."""
    span, scope = timedelta(days=days), visit.scope
    changes = visit.site.recent(f"changes of {days} days", lambda: visit.grader.setup.changes_alone(span))[1]
    is_of_jobs = scope.kind not in (None, SessionKind.MAIN)
    return [
        change
        for change in changes
        if change.scheduled is is_of_jobs and (scope.agent is None or change.agent in (None, scope.agent))
    ]


def _trend(days: Sequence[ChartDay], daily: Sequence[DayFigures], events: Sequence[Event]) -> Element | None:
    estimates = [day.ended_badly for day in daily]
    if all(one.value is None for one in estimates):
        return None
    names = [f"{day.day:%m-%d}" for day in daily]
    return trend_chart(names, estimates, measure=BAD_ENDINGS, identifier="trend", events=events, days=days)


def _matrix(groups: Sequence[Group]) -> Matrix:
    cells = {task_and_model(group.name): group for group in groups if group.sessions}
    types, models = (_commonest(cells, which) for which in (0, 1))
    shown_types, shown_models = types[:_TYPES_SHOWN], models[:_MODELS_SHOWN]
    shown = {key: group for key, group in cells.items() if key[0] in shown_types and key[1] in shown_models}
    return Matrix(
        types=shown_types,
        models=shown_models,
        cells=shown,
        left_out=sum(group.sessions for group in cells.values()) - sum(group.sessions for group in shown.values()),
    )


def _commonest(cells: dict[tuple[str, str], Group], which: int) -> tuple[str, ...]:
    sessions: dict[str, int] = {}
    for key, group in cells.items():
        sessions[key[which]] = sessions.get(key[which], 0) + group.sessions
    return tuple(sorted(sessions, key=lambda name: (-sessions[name], name)))


def _contradicted(visit: Visit) -> list[Grade]:
    """Return the newest sessions of these days with a claim that the record contradicts."""
    since = visit.grader.grades.begin_of(visit.scope.days_shown)
    return _listed(visit, claim=Support.CONTRADICTED, since=since, limit=CONTRADICTED_READ)


def _listed(visit: Visit, **asked: Any) -> list[Grade]:
    which = GradeFilter(**visit.scope.whose, **asked)
    return [stored.grade for stored in visit.grader.grades.page(which).grades]


PAGES: Final = (Page("/", overview),)
