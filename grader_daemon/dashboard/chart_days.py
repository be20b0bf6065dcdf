"""Days of a chart: values in words, where their sessions are listed, and marks of what happened on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import TypeAlias

from grader_daemon.dashboard.query_filter import day_address
from grader_daemon.dashboard.scope import Scope
from grader_daemon.domain.alert import Alert
from grader_daemon.domain.calendar import day_of
from grader_daemon.domain.calibration import GraderChange
from grader_daemon.domain.insight import DayFigures
from grader_daemon.domain.setup_changes import SetupChange
from grader_daemon.reports.change_words import mark_words
from grader_daemon.reports.charts import APART, ChartDay, Event
from grader_daemon.reports.numbers import Measure, estimate_words

Marked: TypeAlias = Alert | SetupChange | GraderChange
"""What a mark on the trend stands for."""


def chart_days(scope: Scope, daily: Sequence[DayFigures], measure: Measure, **asked: str) -> list[ChartDay]:
    """Return the days of a measure; `asked` is what their sessions have in common, beside the scope."""
    return [
        ChartDay(
            name=f"{each.day}",
            words=f"{each.day}: {estimate_words(getattr(each, measure.group), measure)}",
            address=day_address(scope, each.day, **asked),
        )
        for each in daily
    ]


def events_on(daily: Sequence[DayFigures], marked: Iterable[Marked], zone: tzinfo | None) -> list[Event]:
    """Mark the days on which alerts began, and setups or the grader changed; the first of near ones names them all."""
    places = {day.day: number for number, day in enumerate(daily)}
    dated = [(day_of(each.began_at if isinstance(each, Alert) else each.at, zone), each) for each in marked]
    groups: list[dict[int, list[Marked]]] = []
    for day, each in sorted(dated, key=lambda one: one[0]):
        if day not in places:
            continue
        if not groups or places[day] - next(iter(groups[-1])) >= APART:
            groups.append({})
        groups[-1].setdefault(places[day], []).append(each)
    return [
        Event(at=place, name="" if number else _mark_words([each for some in group.values() for each in some]))
        for group in groups
        for number, place in enumerate(group)
    ]


def _mark_words(happened: Sequence[Marked]) -> str:
    alerts = [each for each in happened if isinstance(each, Alert)]
    changes = [each for each in happened if isinstance(each, SetupChange)]
    words = [f"alert {alerts[0].number}" if len(alerts) == 1 else f"{len(alerts)} alerts"] if alerts else []
    words += ["grader changed"] if any(isinstance(each, GraderChange) for each in happened) else []
    return ", ".join([*words, mark_words(changes)] if changes else words)
