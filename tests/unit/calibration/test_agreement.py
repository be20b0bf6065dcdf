from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.calibration.agreement import (
    bins,
    calibration_error,
    matthews,
    ranking,
    score_probabilities,
    score_verdicts,
    skill,
)

PAIRS = st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=40)
OUTCOMES = [True] * 40 + [False] * 60
VERDICTS = [True] * 30 + [False] * 10 + [True] * 20 + [False] * 40
"""Thirty right of forty completed, forty right of sixty failed."""


def test_kappa_and_matthews_of_a_table_worked_by_hand() -> None:
    found = score_verdicts(OUTCOMES, VERDICTS)
    assert found.kappa.value == pytest.approx(0.4)
    assert found.matthews.value == pytest.approx((30 * 40 - 20 * 10) / (40 * 60 * 50 * 50) ** 0.5)


def test_the_interval_of_kappa_is_that_of_the_large_sample_formula() -> None:
    """Fleiss, Cohen and Everitt, 1969, give a standard error of 0.0894 for that table."""
    kappa = score_verdicts(OUTCOMES, VERDICTS).kappa
    assert kappa.low == pytest.approx(0.4 - 1.96 * 0.0894, abs=0.03)
    assert kappa.high == pytest.approx(0.4 + 1.96 * 0.0894, abs=0.03)


@pytest.mark.parametrize(
    ("outcomes", "verdicts", "expected"),
    [
        pytest.param([True, False], [True, False], 1.0, id="perfect"),
        pytest.param([True, False], [False, True], -1.0, id="the-opposite"),
        pytest.param([True, False], [True, True], 0.0, id="always-the-same"),
        pytest.param([True, True], [True, True], 0.0, id="nothing-to-tell-apart"),
    ],
)
def test_agreement_at_its_ends(outcomes: list[bool], verdicts: list[bool], expected: float) -> None:
    assert matthews(outcomes, verdicts) == expected
    found = score_verdicts(outcomes, verdicts)
    for estimate in (found.kappa, found.matthews):
        assert estimate.value == expected
        assert estimate.low is not None
        assert estimate.high is not None
        assert -1 <= estimate.low <= expected <= estimate.high <= 1


def test_agreement_of_nothing_is_unknown() -> None:
    assert score_verdicts([], []).matthews.value is None


def test_a_constant_has_no_skill_and_a_perfect_probability_all_of_it() -> None:
    assert skill([True, False, False, False], [0.25] * 4) == pytest.approx(0)
    assert skill([True, False], [1.0, 0.0]) == 1
    assert skill([True, True], [1.0, 1.0]) is None


def test_the_calibration_error_weighs_tenths_by_their_sessions() -> None:
    outcomes, likely = [True, True, True, False], [0.95, 0.95, 0.55, 0.55]
    assert calibration_error(outcomes, likely) == pytest.approx((0.1 + 0.1) / 4)


def test_the_diagram_has_the_tenths_in_which_there_are_sessions() -> None:
    found = bins([True, False, True], [0.31, 0.39, 1.0])
    assert [(each.low, each.predicted, each.completed.value) for each in found] == [(0.3, 0.35, 0.5), (0.9, 1.0, 1.0)]


@pytest.mark.parametrize(
    ("likely", "expected"),
    [
        pytest.param([0.1, 0.4, 0.35, 0.8], 0.75, id="one-pair-of-four-is-wrong"),
        pytest.param([0.5, 0.5, 0.5, 0.5], 0.5, id="equal-ones-count-half"),
        pytest.param([0.1, 0.2, 0.3, 0.4], 1.0, id="all-right"),
    ],
)
def test_the_area_under_the_curve(likely: list[float], expected: float) -> None:
    assert ranking([False, False, True, True], likely) == pytest.approx(expected)


def test_the_interval_of_the_area_is_that_of_hanley_and_mcneil() -> None:
    """Their standard error for an area of 0.75 with 2 and 2 sessions is 0.2763."""
    found = score_probabilities([False, False, True, True], [0.1, 0.4, 0.35, 0.8]).ranking
    assert found.low == pytest.approx(0.75 - 1.96 * 0.2763, abs=1e-3)
    assert found.high == 1.0


def test_one_session_of_a_kind_gives_no_interval() -> None:
    found = score_probabilities([True, False, False], [0.9, 0.1, 0.2]).ranking
    assert (found.value, found.low) == (1.0, None)
    assert score_probabilities([True], [0.9]).ranking.value is None


@given(PAIRS)
def test_every_measure_lies_in_its_interval_and_on_its_scale(pairs: list[tuple[bool, float]]) -> None:
    found = score_probabilities([outcome for outcome, _ in pairs], [p for _, p in pairs])
    for estimate in (found.brier, found.error):
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is not None
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert sum(each.completed.sample for each in found.bins) == len(pairs)


def test_the_same_labels_give_the_same_interval() -> None:
    likely = [0.1, 0.4, 0.35, 0.8] * 5
    assert score_probabilities([False, False, True, True] * 5, likely) == score_probabilities(
        [False, False, True, True] * 5, likely
    )
