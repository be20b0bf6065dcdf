"""Reliability chart: how often likely tasks were done; on the diagonal probabilities are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from grader_daemon.domain.calibration import ReliabilityBin
from grader_daemon.reports.markup import element
from grader_daemon.reports.reliability import agreement_words

_SIDE: Final = 240.0
_LEFT: Final = 44.0
_TOP: Final = 10.0
_BELOW: Final = 44.0
_TICKS: Final = (0.0, 0.5, 1.0)


def reliability_chart(bins: Sequence[ReliabilityBin], *, identifier: str) -> Element:
    """Draw each bin as a dot on its 95 % interval: across what was said, upwards how often people say it was so."""
    names = {"title": f"{identifier}-title", "desc": f"{identifier}-desc"}
    said = "; ".join(
        f"{each.likely:.0%} likely, {agreement_words(each.completed)} of {each.completed.sample} done" for each in bins
    )
    chart = element(
        "svg",
        element("title", "Probabilities, and the share of tasks that were done", id=names["title"]),
        element("desc", f"{said}.", id=names["desc"]),
        role="img",
        class_="reliability",
        viewBox=f"0 0 {_LEFT + _SIDE + 10:g} {_TOP + _SIDE + _BELOW:g}",
        aria_labelledby=" ".join(names.values()),
    )
    for tick in _TICKS:
        chart.append(element("line", x1=_x(0), x2=_x(1), y1=_y(tick), y2=_y(tick), class_="grid"))
        chart.append(element("text", f"{tick:.0%}", x=_LEFT - 6, y=_y(tick) + 4, class_="tick", text_anchor="end"))
        chart.append(element("text", f"{tick:.0%}", x=_x(tick), y=_y(0) + 16, class_="tick middle"))
    chart.append(element("text", "probability", x=_x(0.5), y=_y(0) + 34, class_="aside middle"))
    chart.append(element("line", x1=_x(0), x2=_x(1), y1=_y(0), y2=_y(1), class_="ideal"))
    for each in bins:
        chart.extend(_bin(each))
    return chart


def _bin(each: ReliabilityBin) -> list[Element]:
    seen, at = each.completed, _x(each.likely)
    if seen.value is None:
        return []
    drawn = [element("circle", cx=at, cy=_y(seen.value), r=4.5, class_="dot")]
    if seen.low is not None and seen.high is not None:
        drawn.insert(0, element("line", x1=at, x2=at, y1=_y(seen.low), y2=_y(seen.high), class_="range"))
    return drawn


def _x(share: float) -> float:
    return _LEFT + share * _SIDE


def _y(share: float) -> float:
    return _TOP + (1 - share) * _SIDE
