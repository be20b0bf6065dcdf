"""Error issues: where one stands, and what helped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise

from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.error_groups import (
    Alternative,
    ErrorIssue,
    IssueRow,
    IssueState,
    StepCount,
    StepRow,
    ToolStep,
)
from grader_daemon.domain.estimate import proportion

FEWEST_TRIES = 5
"""Fewest cases from which it is told what helped."""
_MOST_STEPS = 8
_NEW = timedelta(days=7)
_QUIET = timedelta(days=14)


def to_issue(row: IssueRow, now: datetime, *, today: date) -> ErrorIssue:
    """Return where an issue stands at `now`, which is the day `today` where the person lives."""
    sign = row.sign
    return ErrorIssue(
        fingerprint=sign.fingerprint,
        tool=sign.tool,
        command=sign.command,
        category=sign.category,
        subcategory=sign.subcategory,
        signal=sign.signal,
        example=sign.example,
        state=_state(row, now, today),
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        failures=row.failures,
        sessions=row.sessions,
        recovered=row.recovered,
        task_types=row.task_types,
        latest=row.latest,
        steps=steps_of(row),
        named=row.named,
    )


def quiet_before_news(today: date) -> Span:
    """Return days on which nothing occurred that is new or back on the day `today`, but for what a person resolved."""
    return Span(today - _QUIET + timedelta(days=1), today - _NEW)


def steps_of(row: IssueRow) -> tuple[StepCount, ...]:
    """Count what was tried after the failures of an issue, the most frequent first."""
    return tuple(_step(step, row.sign) for step in row.steps)


def alternatives(steps: Iterable[ToolStep], *, failures: Mapping[str, int]) -> tuple[Alternative, ...]:
    """Gather, for each tool that failed, what was tried next; tools with the most failures first.

    Only steps with at least `FEWEST_TRIES` tries are told: of each tool the most tried ones, the surest first.
    """
    gathered: dict[str, list[ToolStep]] = {}
    for step in steps:
        if step.tries >= FEWEST_TRIES:
            gathered.setdefault(step.tool, []).append(step)
    found = [
        Alternative(tool=tool, failures=failures.get(tool, 0), steps=surest_first(_by_tries(tried)[:_MOST_STEPS]))
        for tool, tried in gathered.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.failures, each.tool)))


def surest_first(steps: Iterable[ToolStep]) -> tuple[StepCount, ...]:
    """Count what was tried next after failures, by the lower end of how often it worked, the highest first."""
    counted = [
        _count(StepRow(s.next_tool, s.next_command, s.tries, s.worked, s.recovered), is_retry=s.is_retry)
        for s in _by_tries(steps)
    ]
    return tuple(sorted(counted, key=lambda step: step.odds, reverse=True))


def _by_tries(steps: Iterable[ToolStep]) -> list[ToolStep]:
    return sorted(steps, key=lambda s: (-s.tries, s.next_tool, s.next_command or "", s.is_retry))


def _step(step: StepRow, sign: ErrorSign) -> StepCount:
    return _count(step, is_retry=(step.tool, step.command) == (sign.tool, sign.command))


def _count(step: StepRow, *, is_retry: bool) -> StepCount:
    return StepCount(
        tool=step.tool,
        command=step.command,
        is_retry=is_retry,
        tries=step.tries,
        worked=step.worked,
        rate=proportion(step.worked, step.tries, fewest=FEWEST_TRIES),
        recovered=step.recovered,
        recovery=proportion(step.recovered, step.tries, fewest=FEWEST_TRIES),
    )


def _state(row: IssueRow, now: datetime, today: date) -> IssueState:
    """Return its state. A person's word stands above what the days show, until the issue comes back."""
    if row.ignored_at is not None and row.ignored_at <= now:
        return IssueState.IGNORED
    resolved = row.resolved_at is not None and row.resolved_at <= now
    if resolved and row.resolved_at is not None and row.last_seen <= row.resolved_at:
        return IssueState.RESOLVED
    if today - row.days[-1] >= _QUIET:
        return IssueState.RESOLVED
    returned = _last_return(row.days)
    if resolved or (returned is not None and today - returned < _NEW):
        return IssueState.RETURNED
    return IssueState.NEW if today - row.days[0] < _NEW else IssueState.ONGOING


def _last_return(days: Sequence[date]) -> date | None:
    """Return the last day on which the issue came back after a quiet time."""
    returns = [after for before, after in pairwise(days) if after - before >= _QUIET]
    return returns[-1] if returns else None
