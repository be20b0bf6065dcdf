from __future__ import annotations

import random

import msgspec
import pytest

from grader_daemon.calibration.agreement import ranking
from grader_daemon.calibration.home import at_home, self_taught
from grader_daemon.calibration.prior import Prior, is_free
from grader_daemon.domain.algebra import dot
from tests.calibration_examples import prior, samples

PRIOR = msgspec.structs.replace(prior(), self_taught=0.5)
CHANCE = random.Random(3)
ROWS = [[first, first + CHANCE.gauss(0, 0.3), CHANCE.gauss(0, 1)] for first in [CHANCE.gauss(0, 1) for _ in range(200)]]
"""Sessions in which the second feature goes with the first, and the third with none."""


@pytest.mark.parametrize("count", [0, 9])
def test_a_few_sessions_change_nothing(count: int) -> None:
    assert at_home(PRIOR, [each.features for each in samples(count)]) is PRIOR


def test_what_goes_with_the_score_at_home_speaks_for_completion_too() -> None:
    first, second, third = self_taught((1.0, 0.0, 0.0), ROWS, 0.5)
    assert first > second > 0.15
    assert abs(third) < second / 4


def test_scores_spread_as_far_as_before() -> None:
    weights = self_taught((1.0, 0.0, 0.0), ROWS, 0.5)
    scores = [dot(weights, row) for row in ROWS]
    before = [row[0] for row in ROWS]
    assert _variance(scores) == pytest.approx(_variance(before))


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        pytest.param(ROWS, 0.0, id="no-share"),
        pytest.param([[1.0, 2.0, 3.0]] * 20, 0.5, id="sessions-that-are-all-alike"),
    ],
)
def test_weights_stay_without_anything_to_learn(rows: list[list[float]], share: float) -> None:
    assert self_taught((1.0, 0.5, 0.0), rows, share) == [1.0, 0.5, 0.0]


def test_words_stay_without_weight() -> None:
    assert _home(PRIOR).weights[-1] == 0


def test_words_are_told_from_measures_once_however_many_sessions_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(name: str) -> bool:
        asked.append(name)
        return is_free(name)

    monkeypatch.setattr("grader_daemon.calibration.prior.is_free", noted)
    _home(PRIOR)
    assert len(asked) == len(PRIOR.names)


def test_a_prior_that_knows_one_feature_finds_another_that_goes_with_it() -> None:
    labelled = samples(300, weights=(-1.5, 1.5, 0.0, 0.0))
    twins = [
        msgspec.structs.replace(each, features=(each.features[0], each.features[1], 2 - each.features[0], 0.0))
        for each in labelled
    ]
    known = msgspec.structs.replace(PRIOR, weights=(-0.5, 0.0, 0.0, 0.0))
    home = at_home(known, [each.features for each in twins])
    assert home.weights[2] > 0.05
    likely = [home.model.predict(each.features) or 0.0 for each in twins]
    assert (ranking([each.completed for each in twins], likely) or 0) > 0.65


def _home(made: Prior) -> Prior:
    return at_home(made, [each.features for each in samples(100)])


def _variance(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)
