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
    """The errors in the first ten tool calls of a session, and what became of tasks with `least` to `most` of them.

    `completion` is of the finished tasks of the last 90 days that people or rewards judged, without a value of fewer
    than 20.
    """

    errors: int
    least: int
    most: int
    completion: Estimate


class EarlyReason(StrEnum):
    """Reason to tell nothing of a running session: too few tasks were judged, or early errors do not tell."""

    TOO_FEW = "too_few"
    NOT_TELLING = "not_telling"


class EarlyWorth(msgspec.Struct, frozen=True, kw_only=True):
    """Power of early errors to predict the end of a task, by tasks of 90 days that people or rewards judged.

    `area` is that under the curve, 0 to 1: how often a completed task has fewer of them than one that was not. Its own
    verdicts tell nothing of it: errors speak in them. `reason` says why live warnings are off.
    """

    area: Estimate
    reason: EarlyReason | None
