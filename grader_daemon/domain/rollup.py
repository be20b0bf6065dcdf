"""Counts and sums over sessions, by day and group: what statistics are made of.

Everything is an integer, so that adding a session and taking it away again leaves exactly what was there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, Self

import msgspec

from grader_daemon.domain.estimate import Estimate, mean, proportion, rate_per_call
from grader_daemon.domain.verdict import VerdictCounts

MILLIONTHS: Final = 1_000_000
"""Parts in a dollar, and in a probability: sums must be exact."""

_BY: Final = " × "


class Dimension(StrEnum):
    """Dimension to group sessions by. A session is in several groups of `TOOL` and `CATEGORY`.

    Groups of `HOST` are the machines of a fleet, groups of `USER` all machines of one owner; sessions of this machine
    are in neither. Groups of `KIND` count all sessions; the others count people's sessions, and only their cost
    includes the rest. Groups of `TASK_MODEL` combine a task type and a model, see `task_model`. Groups of
    `JOB` are the runs of a schedule, by the key of their job, see `domain.scheduled_jobs`.
    """

    OVERALL = "overall"
    TASK_TYPE = "task_type"
    TOOL = "tool"
    MODEL = "model"
    PLATFORM = "platform"
    CATEGORY = "category"
    AGENT = "agent"
    ENDING = "ending"
    STANDING = "standing"
    PROJECT = "project"
    KIND = "kind"
    HOST = "host"
    USER = "user"
    TASK_MODEL = "task_model"
    JOB = "job"


SUMMED_BY_MACHINES: Final = (
    *(Dimension.OVERALL, Dimension.KIND, Dimension.TASK_TYPE, Dimension.MODEL, Dimension.AGENT),
)
"""Dimensions of which each machine of a fleet sends its own sums."""


class Metric(StrEnum):
    """A metric that can get worse: a rate of 0 to 1, or a score of 1 to 5.

    `completion_rate` is the rate by random labels. Only thresholds use it, not the detector.
    """

    COMPLETION_RATE = "completion_rate"
    ENDED_BADLY = "ended_badly"
    EFFICIENCY = "efficiency"
    QUALITY = "quality"
    FAILURE_RATE = "failure_rate"

    @property
    def is_score(self) -> bool:
        """True for a score of 1 to 5, False for a rate."""
        return self in {Metric.EFFICIENCY, Metric.QUALITY}


def task_model(task_type: str, model: str) -> str:
    """Return the name of a group of `Dimension.TASK_MODEL`."""
    return f"{task_type}{_BY}{model}"


def task_and_model(name: str) -> tuple[str, str]:
    """Return the two parts of such a name; task types are words of ours, without the sign between."""
    task_type, _, model = name.partition(_BY)
    return task_type, model


class Sums(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Sums over the finished sessions of a group in which the agent answered or called a tool.

    Others are only counted: `open_sessions`, of every kind, are not finished, `unanswered` are finished without an
    answer or a call. The `interrupted`, which are among the `sessions`, have no scores, for nothing was finished there.
    `completed` is of all whose verdict is known: of those without scores, `unanswered_judged` and `interrupted_judged`
    have one, that of a person or that the session was cut short; `unscored_completed` of them are completed.

    `calls` and `failures` are the tool calls of the sessions and those that failed: in a group of `Dimension.TOOL`
    those of the tool, in one of `Dimension.CATEGORY` the failures of the category. Names that end in ``_squares`` are
    sums of squares per session, `calls_failures` of products. `score_squares` is of three times the session score.
    `predicted_millionths` are millionths of predictions (see `verdict.prediction`), of sessions with scores. `done` and
    `not_done` are those with such a verdict, see `verdict.Outcome`. Of the `sessions`, `recorded` are those with a
    known ending and result; what follows counts facts of these, see `session_result`.

    What follows is of the finished sessions of every kind, but 0 in groups of `Dimension.TOOL` and `CATEGORY`. `side`
    are those that are no task of a person, which nothing above counts; in groups of `Dimension.KIND` all count above.
    Tokens are those of sessions with known ones; `metered` are those where it is known what was read and written.
    `cost_millionths` are millionths of a US dollar, of the sessions that are `priced`; `side_millionths` is the part of
    `side`, and `priced_tasks` counts the `priced` that are none of them. `failed` are the sessions that are not done,
    or ended badly and are not known to be done; `failed_priced` and `failed_millionths` are the cost of these.
    """

    sessions: int = 0
    open_sessions: int = 0
    unanswered: int = 0
    unanswered_judged: int = 0
    interrupted: int = 0
    interrupted_judged: int = 0
    unscored_completed: int = 0
    completed: int = 0
    with_errors: int = 0
    recovered: int = 0
    efficiency: int = 0
    efficiency_squares: int = 0
    quality: int = 0
    quality_squares: int = 0
    score_squares: int = 0
    predicted_millionths: int = 0
    done: int = 0
    not_done: int = 0
    recorded: int = 0
    ended_badly: int = 0
    contradicted: int = 0
    check_failed: int = 0
    admitted: int = 0
    cut_short: int = 0
    gave_up: int = 0
    left_midway: int = 0
    calls: int = 0
    calls_squares: int = 0
    failures: int = 0
    failures_squares: int = 0
    calls_failures: int = 0
    side: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    metered: int = 0
    cost_millionths: int = 0
    priced: int = 0
    side_millionths: int = 0
    priced_tasks: int = 0
    failed: int = 0
    failed_priced: int = 0
    failed_millionths: int = 0

    @property
    def finished(self) -> int:
        """Finished sessions of every kind, answered or not."""
        return self.ended + self.side

    @property
    def ended(self) -> int:
        """Finished sessions that count in the group, answered or not."""
        return self.sessions + self.unanswered

    @property
    def judged(self) -> int:
        """Sessions of which it is known whether their task was completed."""
        return self.scored + self.unanswered_judged + self.interrupted_judged

    @property
    def scored(self) -> int:
        """Sessions that have scores: those with an answer or a call that were not interrupted."""
        return self.sessions - self.interrupted

    @property
    def unsure(self) -> int:
        """Sessions whose verdict is neither done nor not done."""
        return self.sessions + self.unanswered_judged - self.done - self.not_done

    @property
    def verdicts(self) -> VerdictCounts:
        """Number of the sessions that count in the group, answered or not, by verdict."""
        return VerdictCounts(self.done, self.not_done, self.unsure, self.unanswered - self.unanswered_judged)

    @property
    def predicted(self) -> float:
        """Number of sessions with scores that are completed, by the sum of their predictions."""
        return self.predicted_millionths / MILLIONTHS

    def plus(self, other: Self) -> Self:
        """Return the sums over the sessions of both, which have none in common."""
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in SUM_NAMES})

    def bad_endings(self, *, fewest: int = 1) -> Estimate:
        """Rate of sessions that ended badly, of those recorded; here and below: no value for fewer than `fewest`."""
        return proportion(self.ended_badly, self.recorded, fewest=fewest)

    def contradictions(self, *, fewest: int = 1) -> Estimate:
        """Rate of sessions whose answer the record contradicts."""
        return proportion(self.contradicted, self.recorded, fewest=fewest)

    def failed_checks(self, *, fewest: int = 1) -> Estimate:
        """Rate of sessions whose last check failed."""
        return proportion(self.check_failed, self.recorded, fewest=fewest)

    def admissions(self, *, fewest: int = 1) -> Estimate:
        """Rate of sessions whose answer says that the task is not done, or only in part."""
        return proportion(self.admitted, self.recorded, fewest=fewest)

    def cuts(self, *, fewest: int = 1) -> Estimate:
        """Rate of sessions that an error, a limit or the end of their process cut short."""
        return proportion(self.cut_short, self.recorded, fewest=fewest)

    def surrenders(self, *, fewest: int = 1) -> Estimate:
        """Rate of sessions that gave up."""
        return proportion(self.gave_up, self.recorded, fewest=fewest)

    def departures(self, *, fewest: int = 1) -> Estimate:
        """Rate of sessions that stop in the middle."""
        return proportion(self.left_midway, self.recorded, fewest=fewest)

    def recovery_rate(self, *, fewest: int = 1) -> Estimate:
        """Rate of sessions that recovered, 0 to 1, of those that had failures."""
        return proportion(self.recovered, self.with_errors, fewest=fewest)

    def mean_efficiency(self, *, fewest: int = 1) -> Estimate:
        """Mean tool efficiency, 1 to 5."""
        return self._mean(self.efficiency, self.efficiency_squares, fewest)

    def mean_quality(self, *, fewest: int = 1) -> Estimate:
        """Mean response quality, 1 to 5."""
        return self._mean(self.quality, self.quality_squares, fewest)

    def mean_score(self, *, fewest: int = 1) -> Estimate:
        """Mean session score, 1 to 5."""
        return self._mean(self._thrice_score / 3, self.score_squares / 9, fewest)

    @property
    def plain_score(self) -> float | None:
        """Mean session score, 1 to 5, however few the sessions; None without any."""
        return self._thrice_score / (3 * self.scored) if self.scored else None

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

    @property
    def _thrice_score(self) -> int:
        return self.efficiency + self.quality + self.scored + 4 * (self.completed - self.unscored_completed)

    def _mean(self, total: float, squares: float, fewest: int) -> Estimate:
        return mean(total, squares, self.scored, lowest=1.0, highest=5.0, fewest=fewest)


Estimator = Callable[..., Estimate]
"""A method of `Sums`; with `fewest` it has no value for fewer sessions."""
ESTIMATORS: Final[Mapping[str, Estimator]] = {
    "ended_badly": Sums.bad_endings,
    "contradicted": Sums.contradictions,
    "check_failed": Sums.failed_checks,
    "admitted": Sums.admissions,
    "cut_short": Sums.cuts,
    "gave_up": Sums.surrenders,
    "left_midway": Sums.departures,
    "score": Sums.mean_score,
    "efficiency": Sums.mean_efficiency,
    "quality": Sums.mean_quality,
    "recovery": Sums.recovery_rate,
    "failure_rate": Sums.failure_rate,
}
"""Estimators of every group, by the field of `insight.Group`."""
WATCHED: Final[Mapping[Metric, Estimator]] = {
    Metric.ENDED_BADLY: Sums.bad_endings,
    Metric.EFFICIENCY: Sums.mean_efficiency,
    Metric.QUALITY: Sums.mean_quality,
    Metric.FAILURE_RATE: Sums.failure_rate,
}
"""Estimators of what the watch follows."""
SUM_NAMES = Sums.__struct_fields__
"""The fields of `Sums`, in order."""
