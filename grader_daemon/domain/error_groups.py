"""Errors by their cause: groups of errors, and what was tried after them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.analysis import Category, ErrorSign, Subcategory
from grader_daemon.domain.estimate import Estimate

_MOSTLY: Final = 0.5
_FEWEST_OTHERS: Final = 5


class StepCount(msgspec.Struct, frozen=True, kw_only=True):
    """A next step after an error, and how often it worked.

    Attributes:
        tool: tool of the next call.
        command: shell command of the next call, if it is one.
        is_retry: whether the next call repeats the tool and command that failed.
        tries: how often this step was tried.
        worked: how often it worked.
        rate: `worked` divided by `tries`; no value for fewer than 5 tries.
        recovered: number of tries after which the failed call finally worked.
        recovery: `recovered` divided by `tries`; no value for fewer than 5 tries.
    """

    tool: str
    command: str | None
    is_retry: bool
    tries: int
    worked: int
    rate: Estimate
    recovered: int = 0
    recovery: Estimate = Estimate()

    @property
    def odds(self) -> tuple[float, int]:
        """Sort key of steps, the surest highest: the lower end of the rate, 0 for few tries; then the tries."""
        return self.rate.low or 0.0, self.tries

    @property
    def remedy_odds(self) -> tuple[float, int]:
        """Sort key of remedies, likewise: the lower end of the recovery, then the tries."""
        return self.recovery.low or 0.0, self.tries


def remedies(steps: Sequence[StepCount]) -> list[StepCount]:
    """Return the next steps of one error after which what had failed worked in the end, the surest first.

    Surely more often than not, and than after all other steps: a step that works by itself, as reading a file does, is
    no remedy yet. Fewer than 5 other tries are no measure.
    """
    tries, recovered = sum(step.tries for step in steps), sum(step.recovered for step in steps)
    found = []
    for step in steps:
        others = tries - step.tries
        usual = (recovered - step.recovered) / others if others >= _FEWEST_OTHERS else 0.0
        if (step.recovery.low or 0.0) >= max(_MOSTLY, usual):
            found.append(step)
    return sorted(found, key=lambda step: step.remedy_odds, reverse=True)


class StepRow(msgspec.Struct, frozen=True):
    """A next step after failures of an issue; `command` is None where there is none."""

    tool: str
    command: str | None
    tries: int
    worked: int
    recovered: int = 0


class ToolStep(msgspec.Struct, frozen=True):
    """A next step after failures of `tool`; `is_retry` says that it was the same again."""

    tool: str
    next_tool: str
    next_command: str | None
    is_retry: bool
    tries: int
    worked: int
    recovered: int = 0


class IssueRow(msgspec.Struct, frozen=True, kw_only=True):
    """An issue and its counts; `days` are those on which it occurred, in order; for `named` see `ErrorIssue`."""

    sign: ErrorSign
    failures: int
    sessions: int
    recovered: int
    days: tuple[date, ...]
    first_seen: datetime
    last_seen: datetime
    resolved_at: datetime | None
    ignored_at: datetime | None
    task_types: dict[str, int]
    latest: tuple[str, ...]
    steps: tuple[StepRow, ...]
    named: dict[str, int] = {}


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """Alternatives to a tool that failed: the steps that worked after its errors, the most reliable first."""

    tool: str
    failures: int
    steps: tuple[StepCount, ...]


class IssueState(StrEnum):
    """State of an error issue."""

    NEW = "new"
    ONGOING = "ongoing"
    RETURNED = "returned"
    RESOLVED = "resolved"
    IGNORED = "ignored"


NEWS: Final = frozenset((IssueState.NEW, IssueState.RETURNED))
"""States of errors that a person does not know yet, or knows as gone."""


class ErrorIssue(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of one cause, over all time or a span.

    Attributes:
        failures: number of failed tool calls.
        sessions: number of sessions with such an error.
        recovered: number of sessions with such an error in which a call worked after the last error, and an answer
            ended the session.
        task_types: number of sessions with such an error, by task type.
        latest: ids of the latest sessions with such an error.
        steps: next steps, the most frequent first.
        named: words in which the newest error messages differ ("numpy"), with their number of sessions, the most
            frequent first.
    """

    fingerprint: str
    tool: str | None
    command: str | None
    category: Category
    subcategory: Subcategory | None = None
    signal: str
    example: str
    state: IssueState
    first_seen: datetime
    last_seen: datetime
    failures: int
    sessions: int
    recovered: int
    task_types: dict[str, int]
    latest: tuple[str, ...]
    steps: tuple[StepCount, ...]
    named: dict[str, int] = {}
