from __future__ import annotations

import pytest

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.quality import as_scorer, name_of
from grader_daemon.domain.session import Session
from grader_daemon.errors import InputError
from tests.strategies import grade, session


class Half:
    def validate(self, session: Session, grade: Grade) -> float:  # noqa: ARG002  as it is asked
        return grade.response_quality / 2


def twice(session: Session, grade: Grade) -> float:  # noqa: ARG001  as it is asked
    return grade.response_quality * 2


def test_a_scorer_is_an_object_or_a_function_known_by_its_name() -> None:
    judged = grade(response_quality=2)
    assert [
        (name_of(scorer), scorer.validate(session(), judged)) for scorer in (as_scorer(Half()), as_scorer(twice))
    ] == [("Half", 1.0), ("twice", 4.0)]


def test_anything_else_is_no_scorer() -> None:
    with pytest.raises(InputError, match="int is not a scorer"):
        as_scorer(3)  # type: ignore[arg-type]
