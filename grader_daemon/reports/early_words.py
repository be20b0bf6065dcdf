"""Sentences on errors in the first ten tool calls."""

from __future__ import annotations

from typing import Final

from grader_daemon.domain.early import EARLY_CALLS, FEWEST_JUDGED, LEAST_AREA, EarlyErrors, EarlyReason, EarlyWorth
from grader_daemon.domain.text import count
from grader_daemon.reports.numbers import COMPLETION, DASH, estimate_words

_FIRST: Final = "the first ten calls"


def early_words(early: EarlyErrors) -> str:
    """Return how many errors a session had early, and what became of tasks that began so."""
    said = f"{count(early.errors, 'error')} in {_FIRST}"
    completed = estimate_words(early.completion, COMPLETION)
    if early.completion.value is None:
        return f"{said}; too few labels to tell how tasks with {_span(early)} end"
    return f"{said}; {completed} of {early.completion.sample:,} judged sessions with {_span(early)} were done"


def worth_words(worth: EarlyWorth) -> str:
    """Return whether anything is told of a session that runs, and why."""
    if worth.reason is EarlyReason.TOO_FEW:
        return f"off (needs {FEWEST_JUDGED} labelled tasks of {EARLY_CALLS}+ calls; {worth.area.sample:,} so far)"
    area = f"the area under the curve is {_area(worth)} on {count(worth.area.sample, 'judged task')}"
    if worth.reason is EarlyReason.NOT_TELLING:
        return f"off: {area}; the lower end of its range must be above {LEAST_AREA:g}"
    return f"on: shows the share of done tasks among those with as many errors in {_FIRST}; {area}"


def _span(early: EarlyErrors) -> str:
    if early.least == early.most:
        return "none"
    return "3 and more" if early.most == EARLY_CALLS else f"{early.least} or {early.most}"


def _area(worth: EarlyWorth) -> str:
    area = worth.area
    if area.value is None or area.low is None or area.high is None:
        return "not known"
    return f"{area.value:.2f} ({area.low:.2f}{DASH}{area.high:.2f})"
