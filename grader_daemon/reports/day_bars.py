"""Amounts by day as stacked bars: inline SVG that needs no script; each day says its values and may be a link.

A day of which nothing is known is a gap: it has no bar, and no line below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import floor, log10
from typing import Final
from xml.etree.ElementTree import Element

import msgspec

from grader_daemon.reports.charts import BOTTOM, HEIGHT, TOP, percent
from grader_daemon.reports.markup import element

_ROUND: Final = (1, 2, 3, 4, 5, 6, 8, 10)
"""Ends of a scale whose half is short, too."""
_HALVES: Final = 2
_BAR: Final = 0.8
"""Width of a bar, as a part of its day."""
_SCALE: Final = 48
"""Pixels to the left of the first day for the numbers of the scale; the style sheet leaves them free."""
_MOST_LABELS: Final = 7


class DayBar(msgspec.Struct, frozen=True, kw_only=True):
    """A day: its name below, all its values in words, and where its sessions are listed.

    `amounts` has one for each group, in the same order on all days; None where nothing is known.
    """

    name: str
    words: str
    amounts: tuple[float, ...] | None
    address: str | None


def day_bars(
    bars: Sequence[DayBar], *, title: str, identifier: str, scale: Callable[[float], str], whole: bool = False
) -> Element:
    """Draw days; the groups of a bar have the classes ``s0``, ``s1`` …, from below. A `whole` scale has no fractions.

    The keyboard reads the same from a table of days beside it: bars are narrower than a finger.
    """
    end = scale_end(max((sum(bar.amounts) for bar in bars if bar.amounts), default=0.0), whole=whole)
    drawn = element(
        "svg",
        element("title", title, id=f"{identifier}-title"),
        role="group",
        class_="bars",
        width="100%",
        height=HEIGHT,
        aria_labelledby=f"{identifier}-title",
    )
    drawn.extend(_scale(end, scale))
    drawn.extend(_day(bar, place, len(bars)) for place, bar in enumerate(bars))
    drawn.append(_stacks(bars, end))
    every = -(-len(bars) // _MOST_LABELS)
    drawn.extend(
        element("text", bar.name, x=percent(100 * (place + 0.5) / len(bars)), y=HEIGHT - 8, class_="tick middle")
        for place, bar in enumerate(bars)
        if (len(bars) - 1 - place) % every == 0
    )
    return drawn


def scale_end(most: float, *, whole: bool = False) -> float:
    """Return the next round number from the highest value on; the half of a `whole` one has no fraction."""
    if most <= 0:
        return float(_HALVES)
    step = 10.0 ** floor(log10(most))
    ends = (end * step for end in (*_ROUND, 2 * _ROUND[-1]) if not whole or end * step % _HALVES == 0)
    return next(end for end in ends if end >= most * (1 - 1e-9))


def _scale(end: float, scale: Callable[[float], str]) -> list[Element]:
    drawn = []
    for value in (0.0, end / 2, end):
        height = _height(value, end)
        if value:
            drawn.append(element("line", x1=-_SCALE, x2="100%", y1=height, y2=height, class_="grid"))
        drawn.append(element("text", scale(value), x=-_SCALE, y=height - 4, class_="tick"))
    return drawn


def _day(bar: DayBar, place: int, days: int) -> Element:
    left, pitch = percent(100 * place / days), percent(100 / days)
    hit = element("rect", x=left, width=pitch, y=TOP, height=BOTTOM - TOP, class_="hit")
    said = element("title", bar.words)
    if bar.address is None:
        return element("g", said, hit)
    return element("a", said, hit, href=bar.address, tabindex="-1")


def _stacks(bars: Sequence[DayBar], end: float) -> Element:
    """Draw the bars of all days, one path for each group, and the ground of the days of which something is known."""
    known = [(place, bar.amounts) for place, bar in enumerate(bars) if bar.amounts is not None]
    paths = {"base": "".join(f"M{place} {BOTTOM}h1" for place, _ in known)}
    groups = max((len(amounts) for _, amounts in known), default=0)
    paths |= {f"s{group}": "".join(_pieces(known, group, end)) for group in range(groups)}
    return element(
        "svg",
        *(element("path", d=d, class_=kind, vector_effect="non-scaling-stroke") for kind, d in paths.items() if d),
        viewBox=f"0 0 {len(bars)} {HEIGHT}",
        preserveAspectRatio="none",
        width="100%",
        height=HEIGHT,
        pointer_events="none",
        aria_hidden="true",
    )


def _pieces(known: Sequence[tuple[int, tuple[float, ...]]], group: int, end: float) -> Iterator[str]:
    """Yield what a group has of each bar."""
    for place, amounts in known:
        if amounts[group] > 0:
            bottom, height = _height(sum(amounts[:group]), end), (BOTTOM - TOP) * amounts[group] / end
            yield f"M{place + (1 - _BAR) / 2:g} {bottom:.4g}v{-height:.4g}h{_BAR}v{height:.4g}z"


def _height(value: float, end: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * value / end
