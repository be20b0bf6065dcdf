from __future__ import annotations

import math

import pytest

from tests.strategies import model

ONE = model(names=("errors",), means=(1.0,), scales=(2.0,), weights=(-0.5,), intercept=0.25)


@pytest.mark.parametrize(
    ("value", "odds"),
    [
        pytest.param(1.0, 0.25, id="at-the-mean-only-the-intercept-counts"),
        pytest.param(3.0, -0.25, id="one-scale-above-the-mean"),
        pytest.param(1e9, -30.0, id="beyond-all-doubt"),
    ],
)
def test_log_odds_are_linear_in_standardised_features(value: float, odds: float) -> None:
    assert ONE.predict((value,)) == pytest.approx(1 / (1 + math.exp(-odds)))


def test_a_session_without_its_features_has_no_probability() -> None:
    assert ONE.predict(()) is None
