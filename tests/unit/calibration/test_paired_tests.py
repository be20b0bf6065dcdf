from __future__ import annotations

import pytest

from grader_daemon.calibration.paired_tests import brier_gain, matthews_gain, ranking_gain
from grader_daemon.calibration.samples import Sample

OUTCOMES = (True, False) * 10
LABELLED = [Sample(features=(), completed=each, task=str(number)) for number, each in enumerate(OUTCOMES)]
RIGHT = [0.9 if each else 0.1 for each in OUTCOMES]
EVEN = [0.5] * len(OUTCOMES)
ALL = [range(len(OUTCOMES))]


def test_what_is_right_gains_over_a_guess() -> None:
    assert brier_gain(LABELLED, RIGHT, EVEN) == pytest.approx((0.24, 0.0))
    assert ranking_gain(LABELLED, RIGHT, EVEN, ALL) == pytest.approx((0.5, 0.0))
    assert matthews_gain(LABELLED, OUTCOMES, [True] * len(OUTCOMES))[0] == 1.0


def test_a_judge_does_not_beat_itself() -> None:
    assert brier_gain(LABELLED, RIGHT, RIGHT) == (0.0, 0.0)
    assert ranking_gain(LABELLED, RIGHT, RIGHT, ALL) == (0.0, 0.0)
    assert matthews_gain(LABELLED, OUTCOMES, OUTCOMES) == (0.0, 0.0)


def test_a_task_that_was_done_many_times_is_one_piece_of_evidence() -> None:
    once = [0.9, 0.6, 0.2, 0.5] * 5
    _, alone = brier_gain(LABELLED, once, EVEN)
    twice = [each for each in LABELLED for _ in range(2)]
    _, together = brier_gain(twice, [p for p in once for _ in range(2)], EVEN * 2)
    assert together == pytest.approx(alone)


def test_sessions_are_ranked_against_those_of_the_same_part_only() -> None:
    lower = [p / 10 if index >= 10 else p for index, p in enumerate(RIGHT)]
    assert ranking_gain(LABELLED, lower, RIGHT, [range(10), range(10, 20)]) == (0.0, 0.0)
    assert ranking_gain(LABELLED, lower, RIGHT, ALL)[0] < 0


def test_without_both_outcomes_there_is_no_ranking() -> None:
    assert ranking_gain(LABELLED[:1], [0.9], [0.1], [[0]]) == (0.0, 0.0)
