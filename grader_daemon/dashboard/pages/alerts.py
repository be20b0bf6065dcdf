"""Alerts: what got worse, whether that is other work or the same work, what changed, and in which sessions it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from starlette.responses import Response

from grader_daemon.alerts.settlement import silent_until
from grader_daemon.api.grader import SelfGrader
from grader_daemon.dashboard.addresses import message_address, read_alert_number
from grader_daemon.dashboard.chart_days import chart_days
from grader_daemon.dashboard.query_filter import NAMES
from grader_daemon.dashboard.scope import Scope
from grader_daemon.dashboard.scope_line import scope_line
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.alert import Alert, Decomposition, Stream, StreamDrop
from grader_daemon.domain.calendar import day_of, read_span
from grader_daemon.domain.estimate import Estimate, Figure
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.insight import DayFigures
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.errors import InputError
from grader_daemon.reports.charts import APART, ChartDay, Event, scale_end, sparkline, strip, trend_chart
from grader_daemon.reports.finding_charts import part_strip
from grader_daemon.reports.numbers import MEASURES, estimate_words, part_words
from grader_daemon.reports.phrasing import CAUSE_OF, alert_cause, drop_words, group_words, opening_words, stream_words

_LISTED: Final = 100
_SILENCES: Final[Mapping[str, str]] = {"12h": "12 hours", "1d": "a day", "7d": "7 days", "30d": "30 days"}


class Part(NamedTuple):
    """Share of a change that came in one way."""

    words: str
    amount: str
    drawn: Element


class Shown(NamedTuple):
    """A session in which an alert shows, and the message to begin at; no grade where it is gone."""

    session_id: str
    grade: Grade | None
    at: int | None
    address: str


class Row(NamedTuple):
    """A stream before and since."""

    words: tuple[object, ...]
    before: str
    since: str
    drawn: Element


def alerts(visit: Visit) -> Response:
    """Answer with the alerts, the open ones first."""
    found, silences = visit.grader.insight.alerts(limit=_LISTED), visit.grader.insight.silences()
    zone = visit.site.settings.zone
    return visit.show(
        "alerts.html",
        scope=scope_line(visit, note="Alerts cover all sessions, so the filters above do not apply here."),
        open=[alert for alert in found if alert.resolved_at is None],
        resolved=[alert for alert in found if alert.resolved_at is not None],
        silences=[(stream_words(stream), until) for stream, until in sorted(silences.items())],
        silent_until=lambda alert: silent_until(alert, silences),
        opening=lambda alert: opening_words(alert, zone),
        cause=alert_cause,
        first=lambda alert: drop_words(alert.drops[0]) if alert.drops else ("a figure that alerts no longer watch",),
    )


def alert(visit: Visit) -> Response:
    """Answer with one alert."""
    insight, number = visit.grader.insight, read_alert_number(visit.path["number"])
    found = insight.alert(number)
    first = found.drops[0] if found.drops else None
    days = () if first is None else insight.alert_days(found)
    charted = [] if first is None else chart_days(Scope(), days, MEASURES[first.stream.metric], **_asked(first.stream))
    return visit.show(
        "alert.html",
        alert=found,
        silent_until=silent_until(found, insight.silences()),
        opening=opening_words(found, visit.site.settings.zone),
        title=("An alert on a figure that alerts no longer watch",)
        if first is None
        else stream_words(first.stream, first.called),
        measure=None if first is None else MEASURES[first.stream.metric],
        rows=[_row(drop) for drop in found.drops],
        charted=charted,
        chart=None if first is None else _chart(found, days, charted, visit),
        cause=None if found.decomposition is None else CAUSE_OF[found.decomposition.cause],
        split=() if found.decomposition is None or first is None else _parts(found.decomposition, first.stream),
        group_words=group_words,
        sessions=[_shown(visit.grader, each, first) for each in found.sessions],
        spans=_SILENCES,
    )


def answer(visit: Visit) -> Response:
    """Note what a person says of an alert."""
    insight, number = visit.grader.insight, read_alert_number(visit.path["number"])
    said = visit.form.get("mark", "")
    marks: Mapping[str, Callable[[], object]] = {
        "acknowledge": lambda: insight.acknowledge_alert(number, visit.form.get("note") or None),
        "unacknowledge": lambda: insight.unacknowledge_alert(number),
        "silence": lambda: _silence(visit, number),
        "unsilence": lambda: insight.unsilence_alert(number),
    }
    if said not in marks:
        raise InputError(f"an alert can be marked {', '.join(marks)}, not {said[:40]!r}")
    marks[said]()
    return visit.go_to(f"/alerts/{number}")


PAGES: Final = (Page("/alerts", alerts), Page("/alerts/{number}", alert), Page("/alerts/{number}", answer, writes=True))


def _silence(visit: Visit, number: int) -> datetime:
    try:
        span = read_span(visit.form.get("for", ""))
    except ValueError as error:
        raise InputError(str(error)) from error
    return visit.grader.insight.silence_alert(number, span)


def _row(drop: StreamDrop) -> Row:
    measure = MEASURES[drop.stream.metric]
    figure = Figure(now=drop.since, before=drop.before, change=Estimate())
    drawn = strip(figure, measure, highest=scale_end((drop.before, drop.since), measure))
    words = (estimate_words(drop.before, measure), estimate_words(drop.since, measure))
    return Row(stream_words(drop.stream, drop.called), *words, drawn)


def change_line(visit: Visit, found: Alert) -> Element | None:
    """Draw the days around an alert as a line on which its beginning is marked; nothing where it has no days."""
    days = visit.grader.insight.alert_days(found)
    if not days:
        return None
    measure = MEASURES[found.drops[0].stream.metric]
    began = day_of(found.began_at, visit.site.settings.zone) - days[0].day
    return sparkline([getattr(each, measure.group) for each in days], measure=measure, marked=began.days)


def _asked(stream: Stream) -> dict[str, str]:
    """Return the filter of the sessions of a stream; none where there is no such filter."""
    name = stream.dimension.value
    return {name: stream.name} if name in NAMES else {}


def _chart(found: Alert, days: Sequence[DayFigures], charted: Sequence[ChartDay], visit: Visit) -> Element | None:
    """Draw the days around an alert; nothing where no day has sessions enough."""
    measure = MEASURES[found.drops[0].stream.metric]
    estimates: list[Estimate] = [getattr(each, measure.group) for each in days]
    if all(one.value is None for one in estimates):
        return None
    places = {each.day: number for number, each in enumerate(days)}
    zone = visit.site.settings.zone
    began = places[day_of(found.began_at, zone)]
    events = [Event(at=began, name="it began")]
    if found.resolved_at is not None:
        resolved = places.get(day_of(found.resolved_at, zone), began)
        events += [Event(at=resolved, name="resolved")] if resolved - began > APART else []
    names = [f"{each.day:%m-%d}" for each in days]
    return trend_chart(names, estimates, measure=measure, identifier="around", events=events, days=charted)


def _parts(split: Decomposition, stream: Stream) -> tuple[Part, ...]:
    measure = MEASURES[stream.metric]
    parts = (
        ("Different tasks: the mix of task types", split.mix, split.mix_margin),
        ("Worse results: within task types", split.work, split.work_margin),
    )
    reach = max(abs(part) + (margin or 0.0) for _, part, margin in parts) or (measure.highest - measure.lowest) / 10
    return tuple(
        Part(words, part_words(part, margin, measure), part_strip(part, margin, reach=reach))
        for words, part, margin in parts
    )


def _shown(grader: SelfGrader, session_id: str, first: StreamDrop | None) -> Shown:
    grade = None
    with suppress(InputError):  # it is gone, as `sources forget` and a restored backup have it
        grade = grader.grades.find(session_id).grade
    at = None if grade is None or first is None else _failed_at(grade, first.stream)
    return Shown(session_id, grade, at, message_address(session_id, at))


def _failed_at(grade: Grade, stream: Stream) -> int | None:
    """Return the message with the first failure that such an alert is about; None where it is about no failures."""
    if stream.metric is not Metric.FAILURE_RATE:
        return None
    tool = stream.name if stream.dimension is Dimension.TOOL else None
    return next((each.index for each in grade.failures if tool is None or each.tool == tool), None)
