"""Errors in the first ten tool calls, and what became of tasks that began so: what is known while a session runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.estimate import Estimate

EARLY_CALLS: Final = 10
FEWEST_TASKS: Final = 20
"""Fewest tasks with such a start for which a share is told."""

FEWEST_JUDGED: Final = 100
"""Fewest judged tasks for which anything is told of a running session."""

LEAST_AREA: Final = 0.6
"""Least area under the curve; the lower end of its interval must lie above it."""


class EarlyCount(NamedTuple):
    """Number of finished tasks with so many errors in their first ten tool calls, all judged by people or rewards."""

    errors: int
    completed: bool
    tasks: int


class EarlyErrors(msgspec.Struct, frozen=True, kw_only=True):
    """The errors in a session's first ten tool calls, and the results of tasks with as many.

    Attributes:
        errors: number of errors in the first ten tool calls.
        least: fewest such errors in the compared tasks.
        most: most such errors in the compared tasks.
        completion: share of the compared tasks that are done, from finished tasks of the last 90 days with a label or
        reward; no value for fewer than 20.
    """

    errors: int
    least: int
    most: int
    completion: Estimate


class EarlyReason(StrEnum):
    """Reason for no prediction on a running session: too few judged tasks, or early errors do not predict the end."""

    TOO_FEW = "too_few"
    NOT_TELLING = "not_telling"


class EarlyWorth(msgspec.Struct, frozen=True, kw_only=True):
    """Power of early errors to predict the end of a task, from tasks of 90 days with a label or reward.

    The grader's own verdicts are not used, because they depend on errors.

    Attributes:
        area: area under the curve, 0 to 1: how often a done task has fewer early errors than one that is not done.
        reason: why there are no warnings about running sessions; None if there are.
    """

    area: Estimate
    reason: EarlyReason | None
