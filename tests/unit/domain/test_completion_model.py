from __future__ import annotations

import math

import pytest

from grader_daemon.domain.completion_model import log_odds, probability
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


def test_contributions_are_what_moves_the_odds_away_from_an_ordinary_session() -> None:
    assert ONE.contributions((3.0,)) == {"errors": -0.5}


@pytest.mark.parametrize("odds", [-30.0, -1.5, 0.0, 2.0])
def test_log_odds_are_those_of_the_probability(odds: float) -> None:
    assert log_odds(probability(odds)) == pytest.approx(odds)


@pytest.mark.parametrize(("likely", "odds"), [(0.0, -30.0), (1.0, 30.0)])
def test_what_is_certain_has_the_farthest_log_odds(likely: float, odds: float) -> None:
    assert log_odds(likely) == odds
