"""Format numbers: rates in percent, scores from 1 to 5, each with its interval, and the change since the span before.

A change is called better or worse only where its interval excludes 0, and a number that has no value is never shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from grader_daemon.domain.estimate import Estimate, Figure
from grader_daemon.domain.insight import Spending
from grader_daemon.domain.rollup import Metric
from grader_daemon.domain.text import count

DASH: Final = "–"
"""Separator of the ends of an interval."""
MINUS: Final = "−"
UNKNOWN: Final = "-"
"""Content of a table's empty cell, as in the tables of the command line."""
WEEK_BEFORE: Final = "the week before"
WITHIN_HOSTS: Final = "Changes compare each machine with itself, weighted by its current number of sessions."


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """Something that reports give numbers of, between `lowest` and `highest`, and how these are written.

    A value is multiplied by `factor` and followed by `unit`, a difference by `step` (in the plural). A sentence adds
    `scale` to the value. Values below
    `fine_below` get one digit more. `sample` says which sessions count, `nothing` what to say where there are none.
    `group` is the field of a group that holds it, `report` that of a report and of its trend, where its column is
    `brief`.
    """

    name: str
    group: str
    report: str = ""
    brief: str = ""
    lowest: float
    highest: float
    factor: int
    unit: str
    step: str
    scale: str = ""
    digits: int
    fine_below: float = 0.0
    more_is_better: bool = True
    sample: str = ""
    nothing: str = "no sessions"


_RATE: Final = Measure(name="", group="", lowest=0, highest=1, factor=100, unit=" %", step=" points", digits=0)
_SCORE: Final = Measure(name="", group="", lowest=1, highest=5, factor=1, unit="", step="", scale=" of 5", digits=1)


def _measure(base: Measure, name: str, group: str, **how: object) -> Measure:
    return replace(base, name=name, group=group, **how)


COMPLETION: Final = _measure(_RATE, "Completion rate", "completion")
BAD_ENDINGS: Final = _measure(
    _RATE, "Bad endings", "ended_badly", report="ended_badly", brief="Bad endings", more_is_better=False, fine_below=0.1
)
EFFICIENCY: Final = _measure(_SCORE, "Tool efficiency", "efficiency", report="avg_tool_efficiency", brief="Efficiency")
QUALITY: Final = _measure(_SCORE, "Response quality", "quality", report="avg_response_quality", brief="Quality")
RECOVERY: Final = _measure(
    _RATE,
    "Error recovery rate",
    "recovery",
    report="error_recovery_rate",
    sample=" with failures",
    nothing="no sessions with failures",
)
FAILURES: Final = _measure(
    _RATE,
    "Failed tool calls",
    "failure_rate",
    report="failure_rate",
    brief="Failed calls",
    more_is_better=False,
    fine_below=0.1,
    nothing="no tool calls",
)
SCORE: Final = _measure(_SCORE, "Session score", "score")
FACTS: Final = tuple(
    _measure(_RATE, name, group, more_is_better=False, fine_below=0.1)
    for name, group in (
        ("Contradicted", "contradicted"),
        ("Last check failed", "check_failed"),
        ("Not done, says the answer", "admitted"),
        ("Cut short", "cut_short"),
        ("Gave up", "gave_up"),
        ("Stopped in the middle", "left_midway"),
    )
)
"""Facts that make an ending bad."""
SAID: Final = tuple(
    _measure(_RATE, name, group, more_is_better=False, fine_below=0.1)
    for name, group in (("People objected", "objected"), ("Same task again", "asked_again"))
)
"""What people said of sessions, or did after them."""
REPORTED: Final = (BAD_ENDINGS, EFFICIENCY, QUALITY, RECOVERY, FAILURES)
"""The week in numbers."""
TRENDED: Final = tuple(measure for measure in REPORTED if measure.brief)
"""The trend, week by week; and the first look."""
MEASURES: Final = {
    Metric.COMPLETION_RATE: COMPLETION,
    Metric.ENDED_BADLY: BAD_ENDINGS,
    Metric.EFFICIENCY: EFFICIENCY,
    Metric.QUALITY: QUALITY,
    Metric.FAILURE_RATE: FAILURES,
}
"""Measures that alerts watch."""


class Direction(StrEnum):
    """Meaning of a change."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "unclear"
    UNKNOWN = UNKNOWN

    @property
    def is_clear(self) -> bool:
        """True of a change beyond chance."""
        return self in (Direction.BETTER, Direction.WORSE)


_CLEAR: Final = {Direction.BETTER: "better", Direction.WORSE: "worse", Direction.UNCLEAR: "no"}


def direction_of(figure: Figure, measure: Measure) -> Direction:
    """Return whether a number got better or worse; unclear while the interval of the change holds 0."""
    low, high = figure.change.low, figure.change.high
    if low is None or high is None:
        return Direction.UNKNOWN
    if low <= 0 <= high:
        return Direction.UNCLEAR
    return Direction.BETTER if (low > 0) == measure.more_is_better else Direction.WORSE


def scheduled_words(runs: int) -> str:
    """Return how many runs of schedules stand beside the sessions that count: ", + 330 scheduled"; or nothing."""
    return f", + {runs:,} scheduled" if runs else ""


def side_words(spending: Spending | None, *, scheduled: int) -> str:
    """Return how many sessions are neither tasks of a person nor scheduled: "10 of sub-agents or reviews"."""
    others = 0 if spending is None else spending.side - scheduled
    return f"{others:,} of sub-agents or reviews" if others > 0 else ""


def value_words(value: float, measure: Measure) -> str:
    """Return one value: "71 %", "3.4". What is not all is never rounded to all, nor what is not nothing to nothing."""
    digits = _digits(value, measure)
    shown = f"{value * measure.factor:.{digits}f}"
    if measure.lowest == 0 < value and float(shown) == 0:
        shown = f"<{10**-digits:.{digits}f}"
    elif measure.lowest == 0 and value < measure.highest and float(shown) == measure.factor:
        shown = ">99"
    return shown + measure.unit


def tick_words(value: float, measure: Measure) -> str:
    """Return a value on a scale, as short as it goes: "2.5 %", "3"."""
    return f"{round(value * measure.factor, 2):g}{measure.unit}"


def estimate_words(estimate: Estimate, measure: Measure) -> str:
    """Return an estimate with its interval: "71 % (62-79 %)"; what has no value says why: "too few sessions (3)"."""
    if estimate.value is None:
        return missing_words(estimate, measure)
    shown, span = value_words(estimate.value, measure), interval_words(estimate, measure)
    return shown if span is None else f"{shown} ({span})"


def interval_words(estimate: Estimate, measure: Measure) -> str | None:
    """Return the interval of an estimate alone: "62-79 %"; None where it has none."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    digits = _digits(estimate.value, measure)
    low, high = (f"{end * measure.factor:.{digits}f}" for end in (estimate.low, estimate.high))
    return f"{low}{DASH}{high}{measure.unit}"


def brief_words(estimate: Estimate, measure: Measure) -> str:
    """Return an estimate without its interval: "71 %", "too few"."""
    if estimate.value is None:
        return "too few" if estimate.sample else UNKNOWN
    return value_words(estimate.value, measure)


def before_words(figure: Figure, measure: Measure) -> str:
    """Return the number of the week before for a table: "71 %", "too few", "no data"."""
    return brief_words(figure.before, measure) if figure.before.sample else "no data"


def clear_words(direction: Direction) -> str:
    """Return for a table whether a change is more than chance, and which way: "better", "worse", "no"."""
    return _CLEAR.get(direction, UNKNOWN)


def missing_words(estimate: Estimate, measure: Measure) -> str:
    """Return why an estimate has no value."""
    if not estimate.sample:
        return measure.nothing
    return f"too few sessions ({estimate.sample:,}{measure.sample})"


def change_words(figure: Figure, measure: Measure) -> str:
    """Return a change with its interval for a table: "+4 (-5 to +13)", a dash where there is none."""
    if figure.change.value is None:
        return UNKNOWN
    digits = _digits_of_change(figure, measure)
    return f"{_signed(figure.change.value, measure, digits)}{_span(figure, measure)}"


def figure_words(figure: Figure, measure: Measure, *, before: str = WEEK_BEFORE) -> str:
    """Return a number and how it stands to the one before, in a sentence."""
    estimate = figure.now
    if estimate.value is None:
        return missing_words(estimate, measure)
    span = interval_words(estimate, measure)
    shown = f"{value_words(estimate.value, measure)}{measure.scale}{'' if span is None else f' ({span})'}"
    return f"{shown}{_comparison(figure, measure, before)}"


def count_words(number: int, noun: str, *, earlier: int, before: str = WEEK_BEFORE) -> str:
    """Return a number of things beside that of the span before: "40 sessions, 5 more than the week before"."""
    if not earlier:
        return f"{count(number, noun)}, none {before}"
    if number == earlier:
        return f"{count(number, noun)}, as many as {before}"
    more = "more" if number > earlier else "fewer"
    return f"{count(number, noun)}, {abs(number - earlier):,} {more} than {before}"


def clear_changes(figures: Sequence[tuple[Measure, Figure]], *, before: str = WEEK_BEFORE) -> tuple[str, ...]:
    """Return what clearly changed, worse first; nothing where there is nothing to compare with."""
    directions = [(direction_of(figure, measure), measure.name.lower()) for measure, figure in figures]
    said = tuple(
        f"Clearly {wanted} than {before}: {', '.join(named)}."
        for wanted in (Direction.WORSE, Direction.BETTER)
        if (named := [name for direction, name in directions if direction is wanted])
    )
    if said or all(direction is Direction.UNKNOWN for direction, _ in directions):
        return said
    return (f"Nothing changed clearly since {before}.",)


def part_words(part: float, margin: float | None, measure: Measure) -> str:
    """Return a part of a change with its sign, margin and unit: "-24 ± 6 points"."""
    amount = _signed(part, measure, measure.digits)
    if margin is not None:
        return f"{amount} ± {margin * measure.factor:.{measure.digits}f}{measure.step}"
    return amount + (measure.step.removesuffix("s") if amount.lstrip(f"+{MINUS}") == "1" else measure.step)


def points_words(figure: Figure, measure: Measure) -> str:
    """Return a change with its unit and interval: "-12 points (-19 to -5)". It has a value."""
    return f"{part_words(figure.change.value or 0.0, None, measure)}{_span(figure, measure)}"


def _comparison(figure: Figure, measure: Measure, before: str) -> str:
    if figure.change.value is None:
        return f"; {before}: {missing_words(figure.before, measure)}"
    direction = direction_of(figure, measure)
    meaning = f"clearly {direction}" if direction.is_clear else "no clear change"
    ends = _ends(figure, measure)
    span = "" if ends is None else f" (between {ends[0]} and {ends[1]}{measure.step})"
    return f", {_difference(figure, measure)} {before}; {meaning}{span}"


def _difference(figure: Figure, measure: Measure) -> str:
    """Return the change in words. `figure.change` has a value."""
    value = figure.change.value or 0.0
    amount = f"{abs(value) * measure.factor:.{_digits_of_change(figure, measure)}f}"
    more = "more than in" if value > 0 else "less than in"
    if float(amount):
        step = measure.step.removesuffix("s") if amount == "1" else measure.step
        return f"{amount}{step} {more}"
    return f"slightly {more}" if direction_of(figure, measure).is_clear else "as in"


def _span(figure: Figure, measure: Measure) -> str:
    ends = _ends(figure, measure)
    return "" if ends is None else f" ({ends[0]} to {ends[1]})"


def _ends(figure: Figure, measure: Measure) -> tuple[str, str] | None:
    """Return the ends of the interval of a change; None where it has none."""
    low, high = figure.change.low, figure.change.high
    if low is None or high is None:
        return None
    digits = _digits_of_change(figure, measure)
    first, last = _signed(low, measure, digits), _signed(high, measure, digits)
    if low > 0 or high < 0:  # a clear change must not look as if it could be none
        beyond = f"{'>' if low > 0 else '<'}0"
        first, last = beyond if first == "0" else first, beyond if last == "0" else last
    return first, last


def _signed(value: float, measure: Measure, digits: int) -> str:
    amount = f"{abs(value) * measure.factor:.{digits}f}"
    if not float(amount):
        return "0"
    return f"{MINUS if value < 0 else '+'}{amount}"


def _digits(value: float, measure: Measure) -> int:
    return measure.digits + (0 < value < measure.fine_below)


def _digits_of_change(figure: Figure, measure: Measure) -> int:
    return _digits(figure.now.value or 0.0, measure)
