"""The charts beside a finding: on which days an error came, how work went since a change, what of a drop is other work.

Widths are percentages and heights pixels, as in `charts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final
from xml.etree.ElementTree import Element

from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.text import count
from grader_daemon.reports.charts import ChartDay, with_days
from grader_daemon.reports.markup import element

_HEIGHT: Final = 150
_TOP: Final = 18
_BOTTOM: Final = 126
_GAP: Final = 0.2
"""Space between two bars, as a part of their pitch."""
_SPARK_PITCH: Final = 4
_SPARK_HEIGHT: Final = 22
_STRIP_MIDDLE: Final = 9
_STRIP_REACH: Final = 46.0
"""Percent of the width from the middle to either end of a scale."""


def day_chart(days: Mapping[date, int], *, identifier: str, links: Sequence[ChartDay] = ()) -> Element:
    """Draw the failures of each day as bars; at least one day. With `links`, one for each, a day leads to sessions."""
    every = list(days.items())
    most = max(1, *days.values())
    drawn = element(
        "svg",
        element("title", f"Failures on each of {len(every)} days", id=f"{identifier}-title"),
        element("desc", f"{days_words(days)}.", id=f"{identifier}-desc"),
        role="img",
        class_="chart",
        width="100%",
        height=_HEIGHT,
        aria_labelledby=f"{identifier}-title {identifier}-desc",
    )
    for value in sorted({0, most}):
        at = _BOTTOM - (_BOTTOM - _TOP) * value / most
        drawn.append(element("line", x1=0, x2="100%", y1=at, y2=at, class_="grid"))
    drawn.append(element("text", f"{most:,} a day", x=0, y=_TOP - 5, class_="tick"))
    pitch = 100 / len(every)
    for number, (day, failures) in enumerate(every):
        height = (_BOTTOM - _TOP) * failures / most
        bar = element(
            "rect",
            element("title", failures_words(day, failures)),
            x=f"{(number + _GAP / 2) * pitch:.2f}%",
            width=f"{(1 - _GAP) * pitch:.2f}%",
            y=_BOTTOM - height,
            height=height,
            class_="bar",
        )
        drawn.append(bar)
    drawn.append(element("text", f"{every[0][0]}", x=0, y=_HEIGHT - 8, class_="tick"))
    drawn.append(element("text", f"{every[-1][0]}", x="100%", y=_HEIGHT - 8, class_="tick", text_anchor="end"))
    return with_days(drawn, links, [number * pitch for number in range(len(every))], pitch)


def failures_words(day: date, failures: int) -> str:
    """Return how many failures there were on a day."""
    return f"{day}: {count(failures, 'failure')}"


def day_bars(days: Mapping[date, int]) -> Element:
    """Draw the same in little room and without letters, for a row of a table."""
    most = max(1, *days.values())
    bars = []
    for number, failures in enumerate(days.values()):
        if failures:
            height = max(1.5, _SPARK_HEIGHT * failures / most)
            bars.append(f"M{number * _SPARK_PITCH} {_SPARK_HEIGHT}v{-height:.3g}h{_SPARK_PITCH - 1}v{height:.3g}z")
    width = len(days) * _SPARK_PITCH - 1
    return element(
        "svg",
        element("path", d=f"M0 {_SPARK_HEIGHT}h{width}", class_="grid"),
        element("path", d="".join(bars), class_="bar"),
        role="img",
        width=width,
        height=_SPARK_HEIGHT + 1,
        aria_label=days_words(days),
    )


def days_words(days: Mapping[date, int]) -> str:
    """Return on how many of the days there were any, and when most."""
    with_any = sum(1 for failures in days.values() if failures)
    if not with_any:
        return f"none in {len(days)} days"
    worst = max(days, key=lambda day: days[day])
    return f"on {with_any} of {len(days)} days, most on {worst}: {days[worst]:,}"


def part_strip(part: float, margin: float | None, *, reach: float) -> Element:
    """Draw a part of a change as a dot on its interval, from `-reach` to `reach`; its table says the same in words."""
    spread = None if margin is None else (part - margin, part + margin)
    return _strip(part, spread, reach)


def change_strip(change: Estimate, *, reach: float) -> Element:
    """Draw a change, which has a value, in the same way: for beside a sentence that says it."""
    spread = None if change.low is None or change.high is None else (change.low, change.high)
    return _strip(change.value or 0.0, spread, reach)


def _strip(value: float, spread: tuple[float, float] | None, reach: float) -> Element:
    drawn = element("svg", class_="strip", width="100%", height=2 * _STRIP_MIDDLE, aria_hidden="true")
    drawn.append(_level(-reach, reach, "base", reach))
    drawn.append(element("line", x1="50%", x2="50%", y1=2, y2=2 * _STRIP_MIDDLE - 2, class_="zero"))
    if spread is not None:
        drawn.append(_level(*spread, "range", reach))
    drawn.append(element("circle", cx=_along(value, reach), cy=_STRIP_MIDDLE, r=4, class_="dot"))
    return drawn


def _level(start: float, end: float, kind: str, reach: float) -> Element:
    ends = (_along(start, reach), _along(end, reach))
    return element("line", x1=ends[0], x2=ends[1], y1=_STRIP_MIDDLE, y2=_STRIP_MIDDLE, class_=kind)


def _along(value: float, reach: float) -> str:
    return f"{50 + _STRIP_REACH * max(-1.0, min(1.0, value / reach)):.2f}%"
