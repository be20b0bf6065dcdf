"""Scorers of quality outside of this program, which say whether its grades are right. None is asked unless it is set.

What the two that come with it hand over is redacted by them, whoever calls them (`transcript`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import Session
from grader_daemon.errors import InputError


class QualityScorer(Protocol):
    """Judge of the quality of a session's answer. `name`, if it has one, is what its answers are kept under.

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
    raise InputError(f"{type(given).__name__} is no scorer: one has validate(session, grade), or is such a function")


def name_of(scorer: QualityScorer) -> str:
    """Return the name under which the answers of a scorer are kept."""
    return str(getattr(scorer, "name", None) or type(scorer).__name__)
