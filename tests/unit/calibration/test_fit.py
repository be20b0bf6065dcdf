from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader_daemon.calibration.fit import Gaussian, fit_logistic
from grader_daemon.domain.completion_model import probability
from tests.examples import about

ROWS = st.lists(st.tuples(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), st.booleans()), min_size=1, max_size=12)


def _gaussian(*means: float, variance: float = 1.0) -> Gaussian:
    return Gaussian(means=means, variances=(variance,) * len(means), in_doubt=(False,) * len(means))


def test_one_label_moves_one_weight_to_where_prior_and_label_pull_alike() -> None:
    """The weight solves w = 1 - p(w), which is 0.40106 for one session with the value 1."""
    fit = fit_logistic([[1.0]], [True], prior=_gaussian(0.0))
    assert fit.weights == pytest.approx((0.4010581,), abs=1e-6)


def test_two_labels_that_differ_only_in_the_outcome_leave_the_prior_alone() -> None:
    fit = fit_logistic([[1.0], [1.0]], [True, False], prior=_gaussian(0.0))
    assert fit.weights == pytest.approx((0.0,), abs=1e-9)


def test_the_spread_of_one_session_is_the_variance_that_the_prior_gives_it() -> None:
    fit = fit_logistic([[2.0]], [True], prior=_gaussian(0.0, variance=0.25))
    assert fit.spread == pytest.approx(1.0)


def test_labels_that_can_be_told_apart_leave_weights_finite() -> None:
    rows = [[-1.0, 1.0], [-2.0, 1.0], [1.0, 1.0], [2.0, 1.0]]
    fit = fit_logistic(rows, [False, False, True, True], prior=_gaussian(0.0, 0.0, variance=10_000.0))
    assert 1 < fit.weights[0] < 100
    assert fit.weights[1] == pytest.approx(0, abs=1e-6)


def test_a_prior_that_is_sure_and_wrong_is_corrected_step_by_step() -> None:
    fit = fit_logistic([[1.0]] * 50, [False] * 50, prior=_gaussian(25.0, variance=100.0))
    assert probability(fit.weights[0]) < 0.1


@settings(max_examples=about(50))
@given(ROWS)
def test_at_the_weights_labels_and_prior_pull_alike(labels: list[tuple[tuple[float, float], bool]]) -> None:
    prior = Gaussian(means=(0.5, -0.5), variances=(0.5, 2.0), in_doubt=(False, False))
    fit = fit_logistic([row for row, _ in labels], [outcome for _, outcome in labels], prior=prior)
    for place in range(2):
        pulled = sum(
            row[place] * (outcome - probability(sum(map(math.prod, zip(row, fit.weights, strict=True)))))
            for row, outcome in labels
        )
        kept = (fit.weights[place] - prior.means[place]) / prior.variances[place]
        assert pulled == pytest.approx(kept, abs=1e-4)


DOUBTFUL = Gaussian(means=(0.0, 0.0), variances=(1.0, 1.0), in_doubt=(False, True), factors=(0.1, 10.0))


@pytest.mark.parametrize(
    ("outcomes", "factor"),
    [
        pytest.param([True, False] * 10, 10.0, id="it-tells-the-outcome"),
        pytest.param([True, True, False, False] * 5, 0.1, id="it-tells-nothing"),
    ],
)
def test_how_much_a_weight_may_vary_is_told_by_the_labels(outcomes: list[bool], factor: float) -> None:
    rows = [[1.0, 1.0], [1.0, -1.0]] * 10
    known = Gaussian(means=DOUBTFUL.means, variances=(1.0, factor), in_doubt=(False, False))
    fit, wanted = (fit_logistic(rows, outcomes, prior=prior) for prior in (DOUBTFUL, known))
    assert fit.weights == pytest.approx(wanted.weights, abs=1e-6)
    assert fit.spread == pytest.approx(wanted.spread, rel=1e-6)
