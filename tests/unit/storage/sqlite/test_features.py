from __future__ import annotations

from hypothesis import given

from grader_daemon.domain.completion_model import MARKS
from grader_daemon.storage.sqlite.features import from_features, to_features
from tests import strategies


@given(strategies.features)
def test_features_come_back_as_they_were(features: tuple[float, ...]) -> None:
    assert to_features(from_features(features)) == features


def test_a_mark_takes_a_bit() -> None:
    measures = (0.5, 1.0)
    assert len(from_features((*measures, *[1] * MARKS))) < len(from_features(measures)) + MARKS // 5


def test_marks_may_be_whole_numbers_or_not() -> None:
    marks = (1, 0) * (MARKS // 2)
    assert from_features(marks) == from_features(tuple(map(float, marks)))


def test_a_row_without_features_has_none() -> None:
    assert to_features(None) == to_features("") == ()
