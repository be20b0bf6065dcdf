"""Steps of two sessions side by side: the calls of each, aligned, with what failed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

import msgspec

from grader_daemon.analysis.tool_calls import view_of
from grader_daemon.analysis.tool_calls.alignment import aligned, sameness
from grader_daemon.api.context import GraderContext
from grader_daemon.api.excerpts import excerpt
from grader_daemon.api.transcript import command_given
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import TOOL, Session, ToolCall
from grader_daemon.redaction import Redactor
from grader_daemon.storage.records import StoredGrade

MOST_STEPS: Final = 300
"""So many steps of each session are aligned: 20 ms of CPU."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A call: the message that makes it, the tool, and the command or arguments, redacted, on a line."""

    index: int
    tool: str | None
    words: str
    has_failed: bool


class StepPair(msgspec.Struct, frozen=True):
    """Steps in one place of two sessions; None where one of them has no such step."""

    left: Step | None
    right: Step | None


class StepStretch(msgspec.Struct, frozen=True):
    """Pairs that follow each other and are all equal, or all not."""

    pairs: tuple[StepPair, ...]
    is_equal: bool


class AlignedSteps(msgspec.Struct, frozen=True, kw_only=True):
    """Steps of two sessions in stretches; `left_out` of both were not looked at, since one has too many."""

    stretches: tuple[StepStretch, ...]
    left_out: int


def aligned_steps(context: GraderContext, left: StoredGrade, right: StoredGrade) -> AlignedSteps | None:
    """Return the steps of two sessions, aligned; None if one of the sessions cannot be read, or has no calls.

    Two steps are equal if they do the same and both failed, or both did not.
    """
    sessions = [context.session_of(stored)[0] for stored in (left, right)]
    sides = [
        [] if session is None else list(_steps(session, stored.grade, context.redactor))
        for session, stored in zip(sessions, (left, right), strict=True)
    ]
    if not all(sides):
        return None
    (steps, keys), (other_steps, other_keys) = (
        ([step for step, _ in side[:MOST_STEPS]], [key for _, key in side[:MOST_STEPS]]) for side in sides
    )
    stretches = tuple(
        StepStretch(
            tuple(
                StepPair(None if i is None else steps[i], None if j is None else other_steps[j])
                for i, j in zip_longest(each.left, each.right)
            ),
            each.is_equal,
        )
        for each in aligned(keys, other_keys)
    )
    return AlignedSteps(stretches=stretches, left_out=sum(max(0, len(side) - MOST_STEPS) for side in sides))


def _steps(session: Session, grade: Grade, redactor: Redactor) -> Iterator[tuple[Step, str]]:
    """Yield the calls of a session, each with what it has in common with a call that does the same."""
    failed = _failed_calls(session, grade)
    for index, message in enumerate(session.messages):
        for place, call in enumerate(message.tool_calls or ()):
            view = view_of(call)
            has_failed = (index, place) in failed
            words = excerpt(command_given(view) or view.path or view.text, redactor)
            step = Step(
                index=index,
                tool=call.tool and excerpt(call.tool, redactor),
                words=words,
                has_failed=has_failed,
            )
            yield step, f"{has_failed} {sameness(view)}"


def _failed_calls(session: Session, grade: Grade) -> frozenset[tuple[int, int]]:
    """Return the calls whose results failed: the message of each, and its place in it.

    A result belongs to the call with its id, or, without ids, to the next call that has none yet.
    """
    failures = {failure.index for failure in grade.failures}
    by_id: dict[str, tuple[int, int]] = {}
    waiting: list[tuple[int, int]] = []
    failed: set[tuple[int, int]] = set()
    for index, message in enumerate(session.messages):
        calls: tuple[ToolCall, ...] = message.tool_calls or ()
        if calls:
            waiting = [(index, place) for place in range(len(calls))]
            by_id |= {call.id: (index, place) for place, call in enumerate(calls) if call.id}
        if message.role == TOOL:
            answered = by_id.get(message.tool_call_id or "") or (waiting[0] if waiting else None)
            if answered in waiting:
                waiting.remove(answered)
            if index in failures and answered is not None:
                failed.add(answered)
    return frozenset(failed)
