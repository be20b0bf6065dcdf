"""Scheduled jobs: runs that a schedule began, counted job by job beside the tasks of persons."""

from __future__ import annotations

from datetime import date
from typing import Final, NamedTuple, Self

import msgspec

from grader_daemon.domain.estimate import Estimate, Figure, proportion
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session_result import CUT_SHORT, EndingKind, ResultStanding, ended_badly

MOST_JOBS: Final = 300
"""Most jobs that are kept; of more, those whose last run is longest ago are forgotten."""


_LONGEST_RUN: Final = 366 * 86_400
"""Seconds. A longer run is no measurement but a wrong clock, and would burst sums over many runs."""


class JobDay(NamedTuple):
    """The runs of one job on a day."""

    day: str
    job: str

    def of_month(self) -> JobDay:
        """The row of the month."""
        return JobDay(self.day[: len("2026-11")], self.job)


class JobFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Facts of the record on the finished runs of a job; integers, so that sums are exact.

    Attributes:
        recorded: number of runs whose ending is known.
        ended_badly: number of runs that ended badly (see `session_result.ended_badly`), for one or more of the
            following reasons.
        seconds: total duration of the `timed` runs.
        timed: number of runs whose duration is known.
    """

    runs: int = 0
    recorded: int = 0
    ended_badly: int = 0
    check_failed: int = 0
    contradicted: int = 0
    cut_short: int = 0
    gave_up: int = 0
    seconds: int = 0
    timed: int = 0

    @classmethod
    def of_run(cls, grade: Grade) -> Self:
        """Return what one run adds."""
        ending, standing = grade.ending, grade.standing
        bad = ended_badly(ending, standing)
        took = grade.duration_seconds
        is_timed = took is not None and 0 <= took <= _LONGEST_RUN
        return cls(
            runs=1,
            recorded=int(bad is not None),
            ended_badly=int(bool(bad)),
            check_failed=int(standing is ResultStanding.CHECK_FAILED),
            contradicted=int(standing is ResultStanding.CONTRADICTED),
            cut_short=int(ending in CUT_SHORT),
            gave_up=int(ending is EndingKind.GAVE_UP),
            seconds=round(took or 0.0) if is_timed else 0,
            timed=int(is_timed),
        )

    def numbers(self) -> tuple[int, ...]:
        """Return the counts, in the order of `JOB_FACTS`."""
        return tuple([getattr(self, name) for name in JOB_FACTS])

    def bad_endings(self, *, fewest: int = 1) -> Estimate:
        """Rate of runs that ended badly, 0 to 1; no value for fewer than `fewest`."""
        return proportion(self.ended_badly, self.recorded, fewest=fewest)


JOB_FACTS: Final = JobFacts.__struct_fields__
"""The fields of `JobFacts`, in order."""


class KnownJob(NamedTuple):
    """A job that is kept: its key, its name by its last run, its agent, and the day of that run."""

    job: str
    name: str
    agent: str | None
    last_day: str


class ScheduledJob(msgspec.Struct, frozen=True, kw_only=True):
    """The finished runs of one scheduled job in a span of days, compared with the previous span.

    Attributes:
        job: key of the job.
        name: the beginning of its instructions.
        last_day: day of its last run.
        runs_before: number of runs in the previous span.
        done: number of runs with this verdict; `not_done` and `unsure` likewise.
        facts: facts of the record.
        ended_badly: share of runs that ended badly.
        failure_rate: errors per tool call.
        seconds: mean duration of a run.
        input_tokens: input tokens of all runs; None if unknown for all, as are the following two.
    """

    job: str
    name: str
    agent: str | None
    last_day: date
    runs: int
    runs_before: int
    done: int
    not_done: int
    unsure: int
    facts: JobFacts
    ended_badly: Figure
    failure_rate: Figure
    seconds: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
