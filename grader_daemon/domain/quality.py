"""Judgement of an external scorer on the quality of a session's answer, beside that of the rules."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Protocol, cast

import msgspec

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import Session
from grader_daemon.errors import InputError

LEAST, MOST = 1.0, 5.0
"""The scale of `response_quality`, which scorers answer on."""


class CheckOutcome(StrEnum):
    """Result of a call to a scorer.

    `asked`: the call has not ended, or its end is unknown. `no_answer`: the scorer cannot judge this session, and is
    not asked again. `unavailable`: the scorer answers for no session at the moment.
    """

    ASKED = "asked"
    ANSWERED = "answered"
    NO_ANSWER = "no_answer"
    UNAVAILABLE = "unavailable"


class QualityCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a scorer.

    Attributes:
        digest: digest of the judged file.
        quality: the scorer's answer, 1 to 5; None without an answer.
        ours: the automatic `response_quality`.
        discrepancy: difference between the two, 0 to 4.
        error: why there is no answer, in one line.
    """

    id: int
    session_id: str
    scorer: str
    checked_at: datetime
    digest: str | None
    outcome: CheckOutcome
    quality: float | None
    ours: int
    discrepancy: float | None
    error: str | None


class QualityScorer(Protocol):
    """Judge of the quality of a session's answer. Its answers are stored under its `name`, if it has one.

    ::

        class Half:
            def validate(self, session: Session, grade: Grade) -> float:
                return grade.response_quality / 2
    """

    def validate(self, session: Session, grade: Grade) -> float:
        """Return the quality of the session's answer, 1 (worst) to 5 (best).

        Raises:
            ScorerError: there is no answer about this session.
            ScorerUnavailableError: there is none about any; it is asked again later.
        """


class FunctionScorer:
    """A function as a scorer; its answers are kept under its name."""

    def __init__(self, function: Callable[[Session, Grade], float]) -> None:
        self.name = getattr(function, "__qualname__", type(function).__name__)
        self._function = function

    def validate(self, session: Session, grade: Grade) -> float:
        """See `QualityScorer`."""
        return self._function(session, grade)


def as_scorer(given: QualityScorer | Callable[[Session, Grade], float]) -> QualityScorer:
    """Return what can judge sessions as a scorer.

    Raises:
        InputError: it can not.
    """
    if callable(getattr(given, "validate", None)):
        return cast(QualityScorer, given)
    if callable(given):
        return FunctionScorer(given)
    raise InputError(
        f"{type(given).__name__} is not a scorer: give a function, or an object with validate(session, grade)"
    )


def name_of(scorer: QualityScorer) -> str:
    """Return the name under which the answers of a scorer are kept."""
    return str(getattr(scorer, "name", None) or type(scorer).__name__)
