from __future__ import annotations

from grader_daemon.domain.session_features import NO_FEATURES, Features


def test_marks_are_numbers_behind_the_measures() -> None:
    features = Features((0.5, 1.0), b"\0\1")
    assert (tuple(features), len(features)) == ((0.5, 1.0, 0, 1), 4)


def test_a_session_that_no_model_reads_has_none() -> None:
    assert not NO_FEATURES
