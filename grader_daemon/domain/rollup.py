"""Counts and sums over sessions, by day and group: what statistics are made of.

Everything is an integer, so that adding a session and taking it away again leaves exactly what was there.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

import msgspec

from grader_daemon.domain.estimate import Estimate, mean, proportion, rate_per_call


class Dimension(StrEnum):
    """By what sessions are grouped. A session is in several groups of `TOOL` and `CATEGORY`."""

    OVERALL = "overall"
    TASK_TYPE = "task_type"
    TOOL = "tool"
    MODEL = "model"
    PLATFORM = "platform"
    CATEGORY = "category"


class Sums(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Sums over the finished sessions of a group in which the agent answered or called a tool.

    Others are only counted: `open_sessions` are not finished, `unanswered` are finished without an answer or a call.
    `completed` is of all whose verdict is known: `unanswered_judged` have that of a person.

    `calls` and `failures` are the tool calls of the sessions and those that failed: in a group of `Dimension.TOOL`
    those of the tool, in one of `Dimension.CATEGORY` the failures of the category. Names that end in ``_squares`` are
    sums of squares per session, `calls_failures` of products. `score_squares` is of three times the session score.
    """

    sessions: int = 0
    open_sessions: int = 0
    unanswered: int = 0
    unanswered_judged: int = 0
    completed: int = 0
    with_errors: int = 0
    recovered: int = 0
    efficiency: int = 0
    efficiency_squares: int = 0
    quality: int = 0
    quality_squares: int = 0
    score_squares: int = 0
    calls: int = 0
    calls_squares: int = 0
    failures: int = 0
    failures_squares: int = 0
    calls_failures: int = 0

    @property
    def judged(self) -> int:
        """Sessions of which it is known whether their task was completed."""
        return self.sessions + self.unanswered_judged

    def completion_rate(self, *, fewest: int = 1) -> Estimate:
        """Rate of completed sessions, of those judged, 0 to 1; here and below: no value for fewer than `fewest`."""
        return proportion(self.completed, self.judged, fewest=fewest)

    def mean_efficiency(self, *, fewest: int = 1) -> Estimate:
        """Mean tool efficiency, 1 to 5."""
        return self.mean_score(self.efficiency, self.efficiency_squares, fewest=fewest)

    def mean_quality(self, *, fewest: int = 1) -> Estimate:
        """Mean response quality, 1 to 5."""
        return self.mean_score(self.quality, self.quality_squares, fewest=fewest)

    def mean_score(self, total: float, squares: float, *, fewest: int = 1) -> Estimate:
        """Mean of a score of 1 to 5 by its sum and its sum of squares over these sessions."""
        return mean(total, squares, self.sessions, lowest=1.0, highest=5.0, fewest=fewest)

    def failure_rate(self, whole: Self | None = None, *, fewest: int = 1) -> Estimate:
        """Failures per tool call, 0 to 1; `whole` are the sums whose calls count, if not these."""
        of = whole or self
        return rate_per_call(
            self.failures,
            of.calls,
            failures_squares=self.failures_squares,
            calls_squares=of.calls_squares,
            calls_failures=self.calls_failures,
            sessions=of.sessions,
            fewest=fewest,
        )


SUM_NAMES = Sums.__struct_fields__
"""The fields of `Sums`, in order."""
