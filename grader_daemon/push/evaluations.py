"""Grades as evaluations, the form in which other programs take scores: a name, a number, a word, an explanation.

All words are ours: nothing of what a session says is in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.exported import PassedOver
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.verdict import Outcome
from grader_daemon.grading import CATALOG
from grader_daemon.reports.verdicts import verdict_words


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One score of a session: completion is 1 or 0, None where the verdict is unsure; the others are 1 to 5."""

    name: str
    value: float | None
    label: str | None = None
    explanation: str


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """A grade with its evaluations, as of a number in the change feed."""

    grade: Grade
    change: int
    evaluations: tuple[Evaluation, ...]


class ScoreSink(Protocol):
    """Receiver of evaluations."""

    def send(self, batch: Iterable[Evaluated]) -> PassedOver:
        """Hand over evaluations; what it says of those that it took not, or not whole, comes back.

        Raises:
            DeliveryError: it did not take them now, and may later.
            CallError: it refused them, and will again.
        """

    def knows(self, session_id: str) -> bool | None:
        """Return whether it has a session under this id; None where it cannot be asked. Raises like `send`."""


def evaluations(grade: Grade, trust: Trust) -> tuple[Evaluation, ...]:
    """Return what can be said of a session; nothing of one that is not finished, or shows nothing to judge."""
    if grade.state is SessionState.OPEN:
        return ()
    made = []
    if grade.completed is not None:
        made.append(
            Evaluation(
                name="task_completed",
                value=None if grade.outcome is Outcome.UNSURE else float(grade.completed),
                label=grade.outcome,
                explanation=verdict_words(grade, trust),
            )
        )
    for name, value in (("response_quality", grade.quality), ("tool_calls_efficient", grade.efficiency)):
        if value is not None:
            made.append(Evaluation(name=name, value=float(value), explanation=_because(grade, name)))
    return tuple(made)


def origin(grade: Grade, evaluation: Evaluation) -> dict[str, str | float]:
    """Return the kind of work and what made an evaluation, of completion with its probability: what is known of it."""
    is_verdict = evaluation.label is not None
    named = {
        "task_type": grade.task_type,
        "verdict_by": grade.verdict_by if is_verdict else None,
        "p_completed": grade.p_completed if is_verdict else None,
        "rules_version": grade.rules_version,
    }
    return {name: value for name, value in named.items() if value is not None}


def _because(grade: Grade, score: str) -> str:
    """Return the sentences of the rules that spoke, each once."""
    rules = dict.fromkeys(reason.rule for reason in grade.reasons if reason.score == score)
    return "; ".join(CATALOG[rule] for rule in rules if rule in CATALOG)
