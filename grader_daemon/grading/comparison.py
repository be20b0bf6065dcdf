"""Changes that other rules, another model or other code would make, seen before they are written.

Compared is what statistics are made of. Grades are taken one after the other and forgotten, so a history of any size
takes the memory of the largest changes alone.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from itertools import count

from grader_daemon.domain.difference import ColumnChange, ColumnDiff, GradeChange, RegradeDiff
from grader_daemon.domain.estimate import Estimate, proportion
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.verdict import Outcome, VerdictCounts

_COLUMNS: dict[str, Callable[[Grade], float | None]] = {
    "task_completed": lambda grade: grade.completed,
    "tool_calls_efficient": lambda grade: grade.efficiency,
    "response_quality": lambda grade: grade.quality,
    "total_errors": lambda grade: grade.total_errors,
    "p_completed": lambda grade: grade.p_completed,
}
"""Columns that are compared, where they are known."""

_MOVED = 0.05
"""A probability that moves by less is the same to a person."""

_LARGEST = 20


class Comparison:
    """Gathers the differences of many grades."""

    def __init__(self) -> None:
        self._sessions = 0
        self._changed = 0
        self._moves: Counter[tuple[str, bool]] = Counter()
        self._before = _Known()
        self._after = _Known()
        self._unread: Counter[str] = Counter()
        self._order = count()
        self._largest: list[tuple[tuple[float, ...], int, GradeChange]] = []

    def pass_over(self, reason: str) -> None:
        """Count a session that cannot be compared."""
        self._unread[reason] += 1

    def add(self, before: Grade, after: Grade) -> None:
        """Compare what stands with what would stand."""
        self._sessions += 1
        self._before.add(before)
        self._after.add(after)
        columns = column_changes(before, after)
        if not columns:
            return
        self._changed += 1
        self._moves.update((change.column, _rises(change)) for change in columns)
        change = GradeChange(
            session_id=before.session_id,
            task_summary=before.task_summary,
            columns=columns,
            silent=_only_in(before, after),
            speaking=_only_in(after, before),
            score_change=None if before.score is None or after.score is None else after.score - before.score,
        )
        ranked = (_weight(before, after), -next(self._order), change)
        if len(self._largest) < _LARGEST:
            heapq.heappush(self._largest, ranked)
        else:
            heapq.heappushpop(self._largest, ranked)

    def diff(self) -> RegradeDiff:
        """Return what was found."""
        return RegradeDiff(
            sessions=self._sessions,
            changed=self._changed,
            columns=tuple(
                ColumnDiff(
                    column=column,
                    rises=self._moves[column, True],
                    falls=self._moves[column, False],
                    before=self._before.mean(column),
                    after=self._after.mean(column),
                )
                for column in _COLUMNS
            ),
            completion_before=self._before.completion(),
            completion_after=self._after.completion(),
            verdicts_before=self._before.verdicts(),
            verdicts_after=self._after.verdicts(),
            unread=dict(self._unread.most_common()),
            largest=tuple(change for _, _, change in sorted(self._largest, reverse=True)),
        )


class _Known:
    """Counts and sums of what is known of grades, by column."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._sums: dict[str, float] = dict.fromkeys(_COLUMNS, 0)
        self._verdicts: Counter[Outcome] = Counter()

    def add(self, grade: Grade) -> None:
        if grade.is_persons:
            self._verdicts[grade.outcome] += 1
        for column, value_of in _COLUMNS.items():
            value = value_of(grade)
            if value is not None:
                self._counts[column] += 1
                self._sums[column] += value

    def mean(self, column: str) -> float | None:
        return self._sums[column] / self._counts[column] if self._counts[column] else None

    def verdicts(self) -> VerdictCounts:
        return VerdictCounts(**{str(outcome): self._verdicts[outcome] for outcome in Outcome})

    def completion(self) -> Estimate:
        return proportion(int(self._sums["task_completed"]), self._counts["task_completed"])


def column_changes(before: Grade, after: Grade) -> tuple[ColumnChange, ...]:
    """Return the columns that differ; a probability only if a person would notice."""
    changes = (ColumnChange(name, value_of(before), value_of(after)) for name, value_of in _COLUMNS.items())
    return tuple(change for change in changes if _differs(change))


def _only_in(one: Grade, other: Grade) -> tuple[Reason, ...]:
    """Return the reasons of one grade that another has not, or with another effect."""
    known = {(reason.rule, reason.effect) for reason in other.reasons}
    return tuple(reason for reason in one.reasons if (reason.rule, reason.effect) not in known)


def _differs(change: ColumnChange) -> bool:
    if change.column != "p_completed" or change.before is None or change.after is None:
        return change.before != change.after
    return abs(change.after - change.before) > _MOVED


def _rises(change: ColumnChange) -> bool:
    """Return whether there is more of it, or anything at all where nothing was known."""
    return change.before is None or (change.after is not None and change.after > change.before)


def _weight(before: Grade, after: Grade) -> tuple[float, ...]:
    """Return the weight of a change: what it moves the session's scores by, then failures, then the probability."""
    scores = (
        4 * abs(after.task_completed - before.task_completed)
        + abs(after.tool_calls_efficient - before.tool_calls_efficient)
        + abs(after.response_quality - before.response_quality)
    )
    likely = abs((after.p_completed or 0.0) - (before.p_completed or 0.0))
    return (scores, abs(after.total_errors - before.total_errors), likely)
