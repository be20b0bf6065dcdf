from __future__ import annotations

import math

import pytest

from grader_daemon.domain.completion_model import CUT_OFF
from tests.strategies import model

ONE = model(names=("errors",), means=(1.0,), weights=(-0.25,), intercept=0.5)


@pytest.mark.parametrize(
    ("value", "odds"),
    [
        pytest.param(0.0, 0.5, id="at-zero-only-the-intercept-counts"),
        pytest.param(3.0, -0.25, id="three-units-on"),
        pytest.param(1e9, -30.0, id="beyond-all-doubt"),
    ],
)
def test_log_odds_are_linear_in_features(value: float, odds: float) -> None:
    assert ONE.predict((value,)) == pytest.approx(1 / (1 + math.exp(-odds)))


@pytest.mark.parametrize("features", [pytest.param((), id="none"), pytest.param((1.0, 2.0), id="of-another-version")])
def test_a_session_without_its_features_has_no_probability(features: tuple[float, ...]) -> None:
    assert ONE.predict(features) is None


@pytest.mark.parametrize(
    ("cut_off", "likely"), [pytest.param(1.0, 0.02, id="cut-off"), pytest.param(0.0, 0.5, id="not-cut-off")]
)
def test_a_session_that_was_cut_off_is_judged_by_that_alone(cut_off: float, likely: float) -> None:
    judged = model(names=(CUT_OFF,), means=(0.0,), weights=(9.0,), completed_when_cut_off=0.02, cut_off_at=0)
    assert judged.predict((cut_off,)) == likely
    assert judged.contributions((cut_off,)) == {CUT_OFF: pytest.approx(math.log(0.02 / 0.98) if cut_off else 0.0)}


def test_contributions_are_what_moves_the_odds_away_from_an_ordinary_session() -> None:
    assert ONE.contributions((3.0,)) == {"errors": -0.5}
