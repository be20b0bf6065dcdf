"""Overview: is anything wrong, how good is it, can the numbers be trusted, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final
from xml.etree.ElementTree import Element

import msgspec
from starlette.responses import Response

from grader_daemon.api.grades import GradeFilter
from grader_daemon.api.overview import Overview, main_figures
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.alert import Alert
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calendar import day_of
from grader_daemon.domain.counting import task_and_model
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.insight import DayFigures, ErrorIssue, Group, Spending, StepCount
from grader_daemon.domain.rollup import Dimension
from grader_daemon.reports.charts import Event, sparkline, trend_chart
from grader_daemon.reports.money import usd_words
from grader_daemon.reports.numbers import (
    COMPLETION,
    TRENDED,
    Direction,
    change_words,
    count,
    direction_of,
    interval_words,
    missing_words,
    value_words,
)
from grader_daemon.reports.phrasing import sure_step

_WEEK: Final = 7
_MONTH: Final = 28
_ERRORS_SHOWN: Final = 4
_GRADED_SHOWN: Final = 6
_RUNNING_SHOWN: Final = 3
_ALERTS_SHOWN: Final = 3
_TYPES_SHOWN: Final = 6
_MODELS_SHOWN: Final = 4


class Tile(msgspec.Struct, frozen=True, kw_only=True):
    """One of the figures on top: its value, what that rests on, how it stands to the week before, and its month.

    `value` is None where there are too few sessions; `detail` then says so.
    """

    title: str
    value: str | None
    detail: str
    change: str | None
    direction: Direction
    month: Element | None


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    """An error issue, and the next step that surely helps, if one does."""

    issue: ErrorIssue
    step: StepCount | None


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Types of task by models, the commonest first; `cells` by both, where there were sessions."""

    types: tuple[str, ...]
    models: tuple[str, ...]
    cells: dict[tuple[str, str], Group]
    left_out: int


def overview(visit: Visit) -> Response:
    """Answer with the first look."""
    grader = visit.grader
    seen, daily = main_figures(grader, days=_WEEK), grader.insight.daily(days=_MONTH)
    assert seen.patterns is not None  # there is a database
    issues = grader.insight.error_issues(days=_WEEK, limit=_ERRORS_SHOWN)
    return visit.show(
        "overview.html",
        seen=seen,
        patterns=seen.patterns,
        alerts=seen.alerts[:_ALERTS_SHOWN],
        more_alerts=max(0, len(seen.alerts) - _ALERTS_SHOWN),
        tiles=list(_tiles(seen, daily)),
        trend=_trend(daily, grader.insight.alerts(), visit),
        failing=[Failing(issue=issue, step=sure_step(issue.steps)) for issue in issues],
        matrix=_matrix(grader.insight.groups(Dimension.TASK_MODEL, days=_MONTH)),
        graded=_listed(visit, GradeFilter(limit=_GRADED_SHOWN)),
        completion=COMPLETION,
        running=_listed(visit, GradeFilter(state=SessionState.OPEN, limit=_RUNNING_SHOWN)),
    )


def _tiles(seen: Overview, daily: Sequence[DayFigures]) -> Iterator[Tile]:
    assert seen.patterns is not None  # there is a database
    overall = seen.patterns.overall
    for measure in TRENDED:
        figure = getattr(overall, measure.group)
        estimates = [getattr(day, measure.group) for day in daily]
        known = figure.now.value is not None
        yield Tile(
            title=measure.name,
            value=value_words(figure.now.value, measure) if known else None,
            detail=f"{interval_words(figure.now, measure)}, {count(figure.now.sample, 'session')}"
            if known
            else missing_words(figure.now, measure),
            change=None if figure.change.value is None else change_words(figure, measure),
            direction=direction_of(figure, measure),
            month=sparkline(estimates, measure=measure) if any(one.value is not None for one in estimates) else None,
        )
    if overall.spending is not None and overall.spending.priced:
        yield _cost(overall.spending, daily)


def _cost(spent: Spending, daily: Sequence[DayFigures]) -> Tile:
    each = spent.per_completed_usd
    before = _per_completed(daily[-2 * _WEEK : -_WEEK])
    return Tile(
        title="Cost per completed task",
        value=None if each is None else usd_words(each),
        detail=f"{usd_words(spent.cost_usd)} in all, known of {spent.priced:,} of {count(spent.sessions, 'session')}",
        change=None if each is None or before is None else f"{usd_words(before)} the week before",
        direction=Direction.UNKNOWN,
        month=None,
    )


def _per_completed(days: Sequence[DayFigures]) -> float | None:
    completed = sum(day.completed for day in days)
    return sum(day.cost_usd or 0.0 for day in days) / completed if completed else None


def _trend(daily: Sequence[DayFigures], alerts: Sequence[Alert], visit: Visit) -> Element | None:
    estimates = [day.completion for day in daily]
    if all(one.value is None for one in estimates):
        return None
    places = {day.day: number for number, day in enumerate(daily)}
    began = [(day_of(alert.began_at, visit.site.settings.zone), alert) for alert in alerts]
    events = [Event(at=places[day], name=f"alert {alert.number}") for day, alert in began if day in places]
    return trend_chart(
        [_short(day.day) for day in daily], estimates, measure=COMPLETION, identifier="trend", events=events
    )


def _short(day: date) -> str:
    return f"{day:%m-%d}"


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


def _listed(visit: Visit, which: GradeFilter) -> list[Grade]:
    return [stored.grade for stored in visit.grader.grades.page(which).grades]


PAGES: Final = (Page("/", overview),)
