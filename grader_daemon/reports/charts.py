"""The charts of a page, as inline SVG that needs no script.

Places along the width are percentages, heights are pixels: so a chart fills a telephone and a wide screen with letters
of the same size. Lines and bands cannot be given in percent; they stand in an inner picture that is stretched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree.ElementTree import Element

import msgspec

from grader_daemon.domain.estimate import Estimate, Figure
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.reports.markup import element
from grader_daemon.reports.numbers import Measure, estimate_words, tick_words, value_words
from grader_daemon.reports.safe_text import cut

HEIGHT: Final = 190
"""Pixels of a trend."""
TOP: Final = 22
"""Height of the highest value of a scale, in pixels from the top."""
BOTTOM: Final = 162
"""Height of the lowest value of a scale, likewise."""

APART: Final = 5
"""Days between two marks whose names would stand on each other if they were nearer."""

_FIRST, _LAST = 13.0, 94.0
"""Places of the first and the last week, in percent of the width; to the left are the numbers of the scale."""
_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Possible ends of the scale of a rate that is usually small."""
_MOST_LABELS = 7
_LONGEST_BAR = 58.0
"""Percent of the width; to the right are the numbers of the bar."""
_BAR_PITCH = 46
_STRIP_MIDDLE = 9
_SHARES_HEIGHT: Final = 10
_SPARK_HEIGHT = 34
_SPARK_EDGE = 4


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at one of the places of a trend, counted from 0; `name` is short, or empty."""

    at: int
    name: str


class ChartDay(msgspec.Struct, frozen=True, kw_only=True):
    """A day of a chart: its name, its value in words, and where its sessions are listed."""

    name: str
    words: str
    address: str


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """Count of a group, now and in the span before."""

    name: str
    now: int
    before: int


def trend_chart(
    weeks: Sequence[str],
    estimates: Sequence[Estimate],
    *,
    measure: Measure,
    identifier: str,
    events: Sequence[Event] = (),
    days: Sequence[ChartDay] = (),
) -> Element:
    """Draw a measure over weeks or days: a line in the band of its intervals, with a gap where one has no value.

    With `days`, one for each place, each place says its value where it is pointed at, and leads to its sessions.
    """
    chart = _chart(measure.name, _trend_description(weeks, estimates, measure), identifier=identifier, height=HEIGHT)
    highest = scale_end(estimates, measure)
    chart.extend(_scale(measure, highest))
    places = [_place(number, len(weeks)) for number in range(len(weeks))]
    marks = [_mark(place, one, measure, highest) for place, one in zip(places, estimates, strict=True)]
    chart.append(_curves(marks))
    chart.extend(_dot(mark) for mark in marks if mark is not None)
    chart.extend(_last_value(marks, measure))
    chart.extend(_week_labels(weeks, places))
    for event in events:
        chart.extend(_event(event, places[event.at]))
    pitch = (_LAST - _FIRST) / max(1, len(days) - 1)
    return with_days(chart, days, [place - pitch / 2 for place in places], pitch)


def with_days(chart: Element, days: Sequence[ChartDay], starts: Iterable[float], width: float) -> Element:
    """Return a chart whose days say their values and lead to their sessions; `starts` and `width` in percent of it.

    The keyboard reads the same from a table of days beside it: days are narrower than a finger.
    """
    if days:
        chart.set("role", "group")
    for day, start in zip(days, starts, strict=False):
        hit = element("rect", x=percent(start), width=percent(width), y=0, height="100%", class_="hit")
        chart.append(element("a", element("title", day.words), hit, href=day.address, tabindex="-1"))
    return chart


def sparkline(estimates: Sequence[Estimate], *, measure: Measure, marked: int | None = None) -> Element:
    """Draw a measure over some days in little room and without letters, for beside a number that words explain.

    Its scale reaches as far as its values, but never less than a quarter of all: what hardly moves looks so. The day
    `marked`, counted from 0, has a line across.
    """
    highest = scale_end(estimates, measure)
    marks = [
        _mark(100 * number / max(1, len(estimates) - 1), one, measure, highest) for number, one in enumerate(estimates)
    ]
    known = [mark for mark in marks if mark is not None]
    top, bottom = min((mark.high for mark in known), default=TOP), max((mark.low for mark in known), default=BOTTOM)
    spare = max(0.0, (BOTTOM - TOP) / 4 - (bottom - top)) / 2 + _SPARK_EDGE
    drawn = element("svg", class_="sparkline", width="100%", height=_SPARK_HEIGHT, aria_hidden="true")
    curves = _curves(marks)
    curves.set("height", str(_SPARK_HEIGHT))
    curves.set("viewBox", f"0 {top - spare:.1f} 100 {bottom - top + 2 * spare:.1f}")
    if marked is not None:
        at = 100 * marked / max(1, len(estimates) - 1)
        curves.append(element("path", d=f"M{at:.2f} 0v{HEIGHT}", class_="event", vector_effect="non-scaling-stroke"))
    drawn.append(curves)
    return drawn


def shares_bar(verdicts: VerdictCounts) -> Element:
    """Draw the shares of done, not done and unsure tasks as one bar, for beside the numbers."""
    drawn = element(
        "svg",
        class_="shares",
        width="100%",
        height=_SHARES_HEIGHT,
        viewBox=f"0 0 100 {_SHARES_HEIGHT}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    begun = 0.0
    for kind in ("done", "unsure", "not_done"):
        share = 100 * getattr(verdicts, kind) / max(1, verdicts.answered)
        drawn.append(element("rect", class_=kind, x=f"{begun:.2f}", width=f"{share:.2f}", height=_SHARES_HEIGHT))
        begun += share
    return drawn


def bar_chart(bars: Sequence[Bar], *, title: str, identifier: str) -> Element:
    """Draw counts as bars, each with a tick where it ended the week before."""
    said = "; ".join(f"{bar.name} {bar.now:,}, the week before {bar.before:,}" for bar in bars)
    chart = _chart(title, f"{said}.", identifier=identifier, height=_BAR_PITCH * len(bars))
    most = max([1, *(max(bar.now, bar.before) for bar in bars)])
    for number, bar in enumerate(bars):
        chart.extend(_bar(bar, number * _BAR_PITCH, _LONGEST_BAR / most))
    return chart


def strip(figure: Figure, measure: Measure, *, highest: float) -> Element:
    """Draw a number as a dot on its interval and the one before as a ring; its table says the same in words."""
    drawn = element("svg", class_="strip", width="100%", height=2 * _STRIP_MIDDLE, aria_hidden="true")
    drawn.append(_level(2, 98, "base"))
    if figure.now.low is not None and figure.now.high is not None:
        low, high = (_along(end, measure, highest) for end in (figure.now.low, figure.now.high))
        drawn.append(_level(low, high, "range"))
    for estimate, radius, kind in ((figure.before, 4, "ring"), (figure.now, 4, "dot")):
        if estimate.value is not None:
            at = percent(_along(estimate.value, measure, highest))
            drawn.append(element("circle", cx=at, cy=_STRIP_MIDDLE, r=radius, class_=kind))
    return drawn


def scale_end(estimates: Iterable[Estimate], measure: Measure) -> float:
    """Return the highest value that a scale needs: all of it, for rates that are usually small the next round one."""
    if not measure.fine_below:
        return measure.highest
    most = max((end for one in estimates for end in (one.value, one.high) if end is not None), default=0.0)
    return next((end for end in _ENDS if end >= most), measure.highest)


def percent(share: float) -> str:
    """Return a place along the width, or a part of it, as SVG takes it: 12.5 is "12.5%"."""
    return f"{round(share, 2):g}%"


class _Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Place of a week's value: percent of the width, pixels from the top."""

    place: float
    value: float
    height: float
    low: float
    high: float


def _chart(title: str, description: str, *, identifier: str, height: int) -> Element:
    names = {"title": f"{identifier}-title", "desc": f"{identifier}-desc"}
    return element(
        "svg",
        element("title", title, id=names["title"]),
        element("desc", description, id=names["desc"]),
        role="img",
        class_="chart",
        width="100%",
        height=height,
        aria_labelledby=" ".join(names.values()),
    )


def _trend_description(weeks: Sequence[str], estimates: Sequence[Estimate], measure: Measure) -> str:
    said = (f"{week} {estimate_words(estimate, measure)}" for week, estimate in zip(weeks, estimates, strict=True))
    return f"{'; '.join(said)}."


def _mark(place: float, estimate: Estimate, measure: Measure, highest: float) -> _Mark | None:
    if estimate.value is None:
        return None
    low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
    heights = (_height(value, measure, highest) for value in (estimate.value, low, high))
    return _Mark(place=place, value=estimate.value, **dict(zip(("height", "low", "high"), heights, strict=True)))


def _place(number: int, weeks: int) -> float:
    return (_FIRST + _LAST) / 2 if weeks == 1 else _FIRST + (_LAST - _FIRST) * number / (weeks - 1)


def _height(value: float, measure: Measure, highest: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * (value - measure.lowest) / (highest - measure.lowest)


def _scale(measure: Measure, highest: float) -> list[Element]:
    drawn = []
    for value in (measure.lowest, (measure.lowest + highest) / 2, highest):
        height = _height(value, measure, highest)
        drawn.append(element("line", x1=0, x2="100%", y1=height, y2=height, class_="grid"))
        drawn.append(element("text", tick_words(value, measure), x=0, y=height - 4, class_="tick"))
    return drawn


def _curves(marks: Sequence[_Mark | None]) -> Element:
    stretched = element(
        "svg", width="100%", height=HEIGHT, viewBox=f"0 0 100 {HEIGHT}", preserveAspectRatio="none", aria_hidden="true"
    )
    for run in _runs(marks):
        edge = [*((mark.place, mark.high) for mark in run), *((mark.place, mark.low) for mark in reversed(run))]
        line = [(mark.place, mark.height) for mark in run]
        stretched.append(element("polygon", points=_points(edge), class_="band"))
        stretched.append(element("polyline", points=_points(line), class_="line", vector_effect="non-scaling-stroke"))
    return stretched


def _runs(marks: Sequence[_Mark | None]) -> list[list[_Mark]]:
    """Cut the weeks at the gaps. A week alone gets a little width, or its interval would not be seen."""
    runs: list[list[_Mark]] = [[]]
    for mark in marks:
        if mark is None:
            runs.append([])
        else:
            runs[-1].append(mark)
    return [_widened(run) for run in runs if run]


def _widened(run: list[_Mark]) -> list[_Mark]:
    if len(run) > 1:
        return run
    return [msgspec.structs.replace(run[0], place=run[0].place + aside) for aside in (-0.6, 0.6)]


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{round(across, 2):g},{round(down, 2):g}" for across, down in places)


def _dot(mark: _Mark) -> Element:
    return element("circle", cx=percent(mark.place), cy=mark.height, r=3.5, class_="dot")


def _last_value(marks: Sequence[_Mark | None], measure: Measure) -> list[Element]:
    """Write the number of the last week where its line does not come from."""
    before, last = [None, None, *marks][-2:]
    if last is None:
        return []
    is_fall = before is not None and before.height < last.height
    at = last.height + (20 if is_fall else -10)
    return [element("text", value_words(last.value, measure), x=percent(last.place), y=at, class_="value middle")]


def _week_labels(weeks: Sequence[str], places: Sequence[float]) -> list[Element]:
    """Name as many weeks as a narrow screen has room for, the last one always."""
    every = -(-len(weeks) // _MOST_LABELS)
    return [
        element("text", cut(_brief(week), 6), x=percent(place), y=HEIGHT - 8, class_="tick middle")
        for number, (week, place) in enumerate(zip(weeks, places, strict=True), start=1)
        if (len(weeks) - number) % every == 0
    ]


def _event(event: Event, place: float) -> list[Element]:
    at = percent(place)
    side = "end" if place > (_FIRST + _LAST) / 2 else "start"
    return [
        element("line", x1=at, x2=at, y1=TOP - 8, y2=BOTTOM, class_="event"),
        element("text", event.name, x=at, dx=-4 if side == "end" else 4, y=TOP - 4, class_="event", text_anchor=side),
    ]


def _brief(week: str) -> str:
    """Return a week without its year: 2026-W47 is W47; another name as it is."""
    return week[5:] if week[4:6] == "-W" else week


def _bar(bar: Bar, top: int, scale: float) -> list[Element]:
    drawn = [
        element("text", bar.name, x=0, y=top + 12, class_="label"),
        element("rect", x=0, y=top + 21, width=percent(bar.now * scale), height=12, class_="bar"),
    ]
    if bar.before:
        drawn.append(element("rect", x=percent(bar.before * scale), y=top + 18, width=3, height=18, class_="before"))
    before = element("tspan", f" (before: {bar.before:,})", class_="aside")
    end = percent(max(bar.now, bar.before) * scale)
    return [*drawn, element("text", f"{bar.now:,}", before, x=end, dx=9, y=top + 31, class_="value")]


def _along(value: float, measure: Measure, highest: float) -> float:
    return 4 + 92 * (value - measure.lowest) / (highest - measure.lowest)


def _level(start: float, end: float, kind: str) -> Element:
    return element("line", x1=percent(start), x2=percent(end), y1=_STRIP_MIDDLE, y2=_STRIP_MIDDLE, class_=kind)
