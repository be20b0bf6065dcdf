"""Estimate from errors in the first ten tool calls how a task ends, and whether they say anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grader_daemon.calibration.agreement import ranking_estimate
from grader_daemon.domain.early import (
    EARLY_CALLS,
    FEWEST_JUDGED,
    FEWEST_TASKS,
    LEAST_AREA,
    EarlyCount,
    EarlyErrors,
    EarlyReason,
    EarlyWorth,
)
from grader_daemon.domain.estimate import Estimate, proportion

_SPANS: Final = ((0, 0), (1, 2), (3, EARLY_CALLS))
"""Numbers of errors that are told together."""


def early_errors(errors: int, counts: Sequence[EarlyCount]) -> EarlyErrors:
    """Return what became of tasks that began with about as many errors."""
    least, most = next((least, most) for least, most in _SPANS if errors <= most)
    alike = [count for count in counts if least <= count.errors <= most]
    completed = sum(count.tasks for count in alike if count.completed)
    completion = proportion(completed, sum(count.tasks for count in alike), fewest=FEWEST_TASKS)
    return EarlyErrors(errors=errors, least=least, most=most, completion=completion)


def early_worth(counts: Sequence[EarlyCount]) -> EarlyWorth:
    """Return whether early errors tell how a task ends."""
    outcomes = [count.completed for count in counts for _ in range(count.tasks)]
    if len(outcomes) < FEWEST_JUDGED:
        return EarlyWorth(area=Estimate(sample=len(outcomes)), reason=EarlyReason.TOO_FEW)
    area = ranking_estimate(outcomes, [float(-count.errors) for count in counts for _ in range(count.tasks)])
    is_telling = area.low is not None and area.low > LEAST_AREA
    return EarlyWorth(area=area, reason=None if is_telling else EarlyReason.NOT_TELLING)
