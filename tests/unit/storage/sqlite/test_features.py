from __future__ import annotations

from hypothesis import given

from grader_daemon.domain.session_features import NO_FEATURES, Features
from grader_daemon.storage.sqlite.features import from_features, to_features
from tests import strategies


@given(strategies.features)
def test_features_come_back_as_they_were(features: Features) -> None:
    assert to_features(from_features(features)) == features


def test_a_mark_takes_a_bit() -> None:
    measures, count = (0.5, 1.0), 800
    assert len(from_features(Features(measures, b"\1" * count))) < len(from_features(Features(measures))) + count // 5


def test_a_row_without_features_has_none() -> None:
    assert to_features(None) == to_features("") == NO_FEATURES
