"""The contribution of one grade to the daily roll-ups: the only place that knows how sums are made of sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import add, neg, sub
from typing import Final, NamedTuple, TypeVar

from grader_daemon.domain.analysis import Failure, FailureKind, SessionState
from grader_daemon.domain.claims import claim_sums
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.group_names import NAME_CHARACTERS, UNKNOWN, kept_folder
from grader_daemon.domain.rollup import MILLIONTHS, SUM_NAMES, Dimension, task_model
from grader_daemon.domain.scheduled_jobs import JobDay, JobFacts, KnownJob
from grader_daemon.domain.session import PERSONS, SessionKind
from grader_daemon.domain.session_result import CUT_SHORT, EndingKind, ResultStanding, ended_badly
from grader_daemon.domain.verdict import Outcome, prediction

_Key = TypeVar("_Key")
_Periodic = TypeVar("_Periodic", "GroupKey", "ToolStepKey", "ClaimKey", JobDay)
_MONTH: Final = len("2026-11")
_SHARED: Final = SUM_NAMES[: SUM_NAMES.index("calls")]
_NO_OTHERS: Final = (0,) * (SUM_NAMES.index("completed") - 1)
"""The counts between `sessions` and `completed` are of others than sessions with scores."""

_OPEN_SESSION: Final = tuple(int(name == "open_sessions") for name in SUM_NAMES)
_SIDE: Final = SUM_NAMES.index("side")
_SPENT: Final = SUM_NAMES[_SIDE:]
_NOTHING_SPENT: Final = (0,) * len(_SPENT)


class GroupKey(NamedTuple):
    """One row of the roll-ups: a group on a day."""

    dimension: str
    day: str
    name: str

    def of_month(self) -> GroupKey:
        """The row of the month."""
        return GroupKey(self.dimension, self.day[:_MONTH], self.name)


class IssueKey(NamedTuple):
    """One error issue on a day."""

    fingerprint: str
    day: str


class StepKey(NamedTuple):
    """A next step after failures of one issue on a day. `command` is "" where there is none."""

    fingerprint: str
    day: str
    tool: str
    command: str


class ToolStepKey(NamedTuple):
    """A next step after failures of a tool on a day."""

    day: str
    tool: str
    next_tool: str
    next_command: str
    is_retry: bool

    def of_month(self) -> ToolStepKey:
        """The row of the month."""
        return self._replace(day=self.day[:_MONTH])


class ClaimKey(NamedTuple):
    """Claims of one kind by a model on a day."""

    day: str
    kind: str
    model: str

    def of_month(self) -> ClaimKey:
        """The row of the month."""
        return self._replace(day=self.day[:_MONTH])


class TaskKey(NamedTuple):
    """One error issue in sessions of one task type on a day."""

    fingerprint: str
    day: str
    task_type: str


class _Work(NamedTuple):
    """Key that most sessions of a batch share; they are summed by it first, and spread over their groups once."""

    day: str
    task_type: str
    model: str
    platform: str
    agent: str
    project: str
    kind: SessionKind
    ending: str
    standing: str
    host: str | None

    def groups(self) -> tuple[tuple[Dimension, str], ...]:
        """Return the groups that such a session is in, beside that of its kind."""
        own = () if self.host is None else ((Dimension.HOST, self.host),)
        return (
            *own,
            (Dimension.OVERALL, ""),
            (Dimension.TASK_TYPE, self.task_type),
            (Dimension.MODEL, self.model),
            (Dimension.PLATFORM, self.platform),
            (Dimension.AGENT, self.agent),
            (Dimension.ENDING, self.ending),
            (Dimension.STANDING, self.standing),
            (Dimension.PROJECT, self.project),
            (Dimension.TASK_MODEL, task_model(self.task_type, self.model)),
        )


def kept_name(dimension: Dimension, name: str) -> str:
    """Return so much of a name as sums are kept by."""
    return kept_folder(name) if dimension is Dimension.PROJECT else name[:NAME_CHARACTERS]


def groups_of(grade: Grade) -> Iterator[tuple[Dimension, str]]:
    """Yield the groups that a finished task of a person is in."""
    work = _work_of(grade)
    yield Dimension.KIND, work.kind
    yield from ((dimension, kept_name(dimension, name)) for dimension, name in work.groups())
    yield from ((Dimension.TOOL, use.tool[:NAME_CHARACTERS]) for use in grade.tools)
    yield from ((Dimension.CATEGORY, category) for category in {error.category for error in grade.errors})


class Changes:
    """Amounts that a batch of grades adds to (or takes away from) the roll-ups, one entry for each row.

    `issues` holds failures, sessions and recovered sessions; `steps` and `tool_steps` tries, those that worked, those
    in completed sessions and those after whose failure the same worked later; `tasks` sessions; `claims` the sums of
    `CLAIM_SUMS`. `job_facts` are those of `JobFacts`, `jobs` the jobs of added runs, by the last of each.
    """

    def __init__(self) -> None:
        self.issues: dict[IssueKey, list[int]] = {}
        self.steps: dict[StepKey, list[int]] = {}
        self.tool_steps: dict[ToolStepKey, list[int]] = {}
        self.tasks: dict[TaskKey, list[int]] = {}
        self.claims: dict[ClaimKey, list[int]] = {}
        self.job_facts: dict[JobDay, list[int]] = {}
        self.jobs: dict[str, KnownJob] = {}
        self._work: dict[_Work, list[int]] = {}
        self._parts: dict[GroupKey, list[int]] = {}

    def add(self, grade: Grade) -> None:
        """Count a grade."""
        self._count(grade, 1)

    def remove(self, grade: Grade) -> None:
        """Withdraw a grade that was counted."""
        self._count(grade, -1)

    def revise(self, before: Grade, after: Grade) -> None:
        """Count another verdict on a grade that was counted; nothing but what verdicts say differs between the two."""
        day = after.ended_on
        if after.state is SessionState.OPEN:
            self.remove(before)
            self.add(after)
            return
        moved = list(map(sub, _whole_sums(after), _whole_sums(before)))
        _add(self._work, _work_of(after), moved, 1)
        if after.job is not None:
            _add(self._parts, GroupKey(Dimension.JOB, day, after.job), moved, 1)
        if not after.is_persons:
            return
        named = [(Dimension.TOOL, use.tool[:NAME_CHARACTERS]) for use in after.tools]
        named += [(Dimension.CATEGORY, category) for category in {error.category for error in after.errors}]
        for dimension, name in named:
            _add(self._parts, GroupKey(dimension, day, name), [*moved[:_SIDE], *_NOTHING_SPENT], 1)

    @property
    def days(self) -> set[str]:
        """The days on which something changes."""
        return {key.day for key in self._work} | {key.day for key in self._parts}

    def groups(self) -> dict[GroupKey, list[int]]:
        """Return the sums of each group, in the order of `SUM_NAMES`."""
        groups = dict(self._parts)
        for work, sums in self._work.items():
            _add(groups, GroupKey(Dimension.KIND, work.day, work.kind), sums, 1)
            counted = sums if work.kind in PERSONS else _as_side(sums)
            for dimension, name in work.groups():
                _add(groups, GroupKey(dimension, work.day, kept_name(dimension, name)), counted, 1)
        return groups

    def _count(self, grade: Grade, sign: int) -> None:
        day, kind = grade.ended_on, grade.kind or SessionKind.MAIN
        if grade.state is SessionState.OPEN:
            _add(self._parts, GroupKey(Dimension.OVERALL, day, ""), _OPEN_SESSION, sign)
            _add(self._parts, GroupKey(Dimension.KIND, day, kind), _OPEN_SESSION, sign)
            return
        whole = _whole_sums(grade)
        shared = whole[: len(_SHARED)]
        _add(self._work, _work_of(grade), whole, sign)
        if grade.job is not None:
            self._count_run(grade, grade.job, whole, sign=sign)
        if not grade.is_persons:
            return
        for use in grade.tools:
            key = GroupKey(Dimension.TOOL, day, use.tool[:NAME_CHARACTERS])
            _add(self._parts, key, [*shared, *_call_sums(use.calls, use.failures), *_NOTHING_SPENT], sign)
        for claimed, numbers in claim_sums(grade.claims).items():
            _add(self.claims, ClaimKey(day, claimed, (grade.model or UNKNOWN)[:NAME_CHARACTERS]), numbers, sign)
        errors = grade.errors
        if errors:
            self._count_errors(grade, errors, shared, sign=sign)

    def _count_run(self, grade: Grade, job: str, whole: list[int], *, sign: int) -> None:
        """Count a run of a scheduled job in the group of its job, where it is no side of anything."""
        day = grade.ended_on
        _add(self._parts, GroupKey(Dimension.JOB, day, job), whole, sign)
        _add(self.job_facts, JobDay(day, job), JobFacts.of_run(grade).numbers(), sign)
        known = self.jobs.get(job)
        if sign > 0 and (known is None or known.last_day <= day):
            self.jobs[job] = KnownJob(job, grade.job_name or job, grade.agent, day)

    def _count_errors(self, grade: Grade, errors: tuple[Failure, ...], shared: list[int], *, sign: int) -> None:
        day = grade.ended_on
        for category, failures in Counter(error.category for error in errors).items():
            sums = [*shared, *_call_sums(grade.tool_calls, failures), *_NOTHING_SPENT]
            _add(self._parts, GroupKey(Dimension.CATEGORY, day, category), sums, sign)
        seen = Counter(error.fingerprint for error in errors if error.fingerprint)
        for fingerprint, failures in seen.items():
            _add(self.issues, IssueKey(fingerprint, day), (failures, 1, int(grade.errors_recovered)), sign)
            _add(self.tasks, TaskKey(fingerprint, day, grade.task_type[:NAME_CHARACTERS]), (1,), sign)
        for error in errors:
            self._count_step(error, day, sign)

    def _count_step(self, failure: Failure, day: str, sign: int) -> None:
        step = failure.next_step
        if step is None or step.worked is None:
            return
        recovered = failure.kind is FailureKind.RECOVERED
        counts = (1, int(step.worked), int(recovered))
        tool, command = step.tool[:NAME_CHARACTERS], step.command or ""
        if failure.fingerprint is not None:
            _add(self.steps, StepKey(failure.fingerprint, day, tool, command), counts, sign)
        if failure.tool is not None:
            is_retry = (step.tool, step.command) == (failure.tool, failure.command)
            key = ToolStepKey(day, failure.tool[:NAME_CHARACTERS], tool, command, is_retry)
            _add(self.tool_steps, key, counts, sign)


def _work_of(grade: Grade) -> _Work:
    return _Work(
        grade.ended_on,
        grade.task_type,
        grade.model or UNKNOWN,
        grade.platform or UNKNOWN,
        grade.agent or UNKNOWN,
        grade.project or UNKNOWN,
        grade.kind or SessionKind.MAIN,
        grade.ending or UNKNOWN,
        grade.standing or UNKNOWN,
        grade.host,
    )


def is_counted_alike(one: Grade, other: Grade) -> bool:
    """Return whether two verdicts on one session add the same to all sums, and say the same in reports of its day."""
    return _verdict_of(one) == _verdict_of(other)


def _verdict_of(grade: Grade) -> tuple[object, ...]:
    done = (grade.task_completed, grade.completed, grade.outcome, grade.verdict_by)
    scores = (grade.tool_calls_efficient, grade.response_quality)
    return (*done, *scores, grade.has_scores, _predicted_millionths(grade))


def by_month(rows: dict[_Periodic, list[int]]) -> dict[_Periodic, list[int]]:
    """Sum rows of days by their month."""
    months: dict[_Periodic, list[int]] = {}
    for key, numbers in rows.items():
        _add(months, key.of_month(), numbers, 1)
    return months


def _whole_sums(grade: Grade) -> list[int]:
    """Return all sums, as in the group of its kind."""
    return [*_shared_sums(grade), *_call_sums(grade.tool_calls, grade.total_errors), *_spent_sums(grade)]


def _shared_sums(grade: Grade) -> list[int]:
    """Return the sums up to `calls`: they are the same in every group of the session."""
    if not grade.has_scores:
        return _unscored_sums(grade)
    efficiency, quality, completed = grade.tool_calls_efficient, grade.response_quality, int(grade.task_completed)
    failed = grade.total_errors > 0
    return [
        1,
        *_NO_OTHERS,
        completed,
        int(failed),
        int(failed and grade.errors_recovered),
        efficiency,
        efficiency * efficiency,
        quality,
        quality * quality,
        (efficiency + quality + 1 + 4 * completed) ** 2,
        _predicted_millionths(grade),
        *_verdict_counts(grade).values(),
        *_fact_counts(grade).values(),
    ]


def _predicted_millionths(grade: Grade) -> int:
    bare = grade.task_completed if grade.automatic_completed is None else grade.automatic_completed
    return round(prediction(grade.p_completed, completed=bare) * MILLIONTHS) if grade.has_scores else 0


def _verdict_counts(grade: Grade) -> dict[str, int]:
    outcome = grade.outcome
    return {"done": int(outcome is Outcome.DONE), "not_done": int(outcome is Outcome.NOT_DONE)}


def _fact_counts(grade: Grade) -> dict[str, int]:
    """Return the facts of the record, in the order of `SUM_NAMES`; all 0 where nothing is recorded, as before them."""
    ending, standing = grade.ending, grade.standing
    return {
        "recorded": int(ending is not None and standing is not None),
        "ended_badly": int(ended_badly(ending, standing) is True),
        "contradicted": int(standing is ResultStanding.CONTRADICTED),
        "check_failed": int(standing is ResultStanding.CHECK_FAILED),
        "admitted": int(standing is ResultStanding.ADMITTED),
        "cut_short": int(ending in CUT_SHORT),
        "gave_up": int(ending is EndingKind.GAVE_UP),
        "left_midway": int(ending is EndingKind.LEFT),
    }


def _unscored_sums(grade: Grade) -> list[int]:
    """Return the sums of a session in which nothing was finished: it counts, and its verdict if there is one."""
    completed = int(bool(grade.completed))
    counted = {"completed": completed, "unscored_completed": completed}
    counted |= _verdict_counts(grade)
    counted |= {"sessions": 1, "interrupted": 1} | _fact_counts(grade) if grade.scored else {"unanswered": 1}
    counted["interrupted_judged" if grade.scored else "unanswered_judged"] = int(grade.completed is not None)
    return [counted.get(name, 0) for name in _SHARED]


def _call_sums(calls: int, failures: int) -> tuple[int, ...]:
    return calls, calls * calls, failures, failures * failures, calls * failures


def _spent_sums(grade: Grade) -> tuple[int, ...]:
    """Return the sums of `_SPENT`, as in the group of its kind."""
    priced, failed = int(grade.cost_usd is not None), int(grade.has_failed)
    millionths = round((grade.cost_usd or 0.0) * MILLIONTHS)
    return (
        0,
        grade.input_tokens or 0,
        grade.cache_read_tokens or 0,
        grade.cache_write_tokens or 0,
        grade.output_tokens or 0,
        int(grade.input_tokens is not None and grade.output_tokens is not None),
        millionths,
        priced,
        0,
        priced,
        failed,
        failed * priced,
        failed * millionths,
    )


def _as_side(sums: Sequence[int]) -> list[int]:
    """Return what sessions that are no tasks of a person add to the groups of such tasks: what they cost, no more."""
    whole = dict(zip(SUM_NAMES, sums, strict=True))
    side = {name: whole[name] for name in _SPENT} | {
        "side": whole["sessions"] + whole["unanswered"],
        "side_millionths": whole["cost_millionths"],
        "priced_tasks": 0,
    }
    return [side.get(name, 0) for name in SUM_NAMES]


def _add(rows: dict[_Key, list[int]], key: _Key, numbers: Sequence[int], sign: int) -> None:
    """Add to a row, never changing a list in place: rows may share one."""
    known = rows.get(key)
    if known is None:
        rows[key] = list(numbers) if sign > 0 else list(map(neg, numbers))
    else:
        rows[key] = list(map(add if sign > 0 else sub, known, numbers))
