"""Learn a prior from labelled sessions of several places.

What tells completed sessions from failed ones differs more between places than within one, and a few places teach
little about the next: weights fitted freely to some of them do worse in the next than correlations with the outcome,
measured within each place and averaged over families of places, in a ridge regression on features as alike as they are
there. Directions that reason expects count as if they had been seen in some places more (Dawes, The robust beauty of
improper linear models, American Psychologist 34, 1979). How many, and how strong the ridge is, is decided by what
ranks sessions best in families left out; what these say of slope and threshold is used as well. So whoever tests a
prior on a family that it was not trained on tests these choices, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import mul
from statistics import fmean
from typing import Final

import msgspec

from grader_daemon.calibration.agreement import matthews, ranking
from grader_daemon.calibration.home import centred, self_taught
from grader_daemon.calibration.prior import Prior, is_free
from grader_daemon.calibration.samples import Place, Sample, places, scaling_of
from grader_daemon.domain.algebra import Matrix, cholesky, dot, solve
from grader_daemon.domain.completion_model import probability

_EXPECTED: Final = 0.1
"""The correlation with completion of a feature whose direction is 1; of one with another direction so many times it."""

_PLACES_EXPECTED: Final = (2.0, 4.0, 8.0, 16.0)
"""Numbers of places that the directions may be worth."""

_RIDGES: Final = (1.0, 2.0, 5.0, 10.0)
"""Amounts that may be added to the variance 1 of every feature."""

_SELF_TAUGHT: Final = (0.0, 0.25, 0.5)
"""Shares by which weights may lean towards what goes with their own scores in a place; beyond a half, homes where work
of several kinds is done lose.
"""

_FEWEST_FAMILIES: Final = 3
"""Fewest families; with fewer, the middle of both is taken."""

_VARIANCE: Final = 1 / 80
"""Variance of a weight around the prior's, in another place. The measures are flat between 1/40 and 1/160."""

_FREE_VARIANCE: Final = 0.1
"""Variance of the weight of a feature that no other place can say anything of, for one unit of it: a word that half of
the sessions have says more than one that few have.
"""

_FLATNESS: Final = 1e-4
"""Penalty that keeps the slope from growing without end where the scores separate."""

_FARTHEST_LEVEL: Final = 100.0
_NEWTON_STEPS: Final = 15
_STEPS: Final = 50
_PRECISION: Final = 1e-9
_SHARES: Final = 40


class _Seen(msgspec.Struct, frozen=True):
    """A place in numbers: features as far from what is ordinary there as is usual, and how they go with the outcome."""

    family: str
    say: float
    rate: float
    rows: Matrix
    outcomes: list[bool]
    correlations: list[float]
    alike: Matrix


class _Constants(msgspec.Struct, frozen=True):
    """Constants: the `places` the directions are worth, what is added to the variance 1 of features, and see `home`."""

    places: float
    ridge: float
    self_taught: float


class _Scores(msgspec.Struct, frozen=True):
    """Scores of the sessions of a place, by weights that need not have seen it."""

    say: float
    outcomes: list[bool]
    values: list[float]


def train_prior(
    samples: Sequence[Sample], directions: Mapping[str, float], *, version: str, features_version: int
) -> Prior:
    """Learn from labelled sessions; a source in which all were completed, or none, teaches nothing.

    Args:
        samples: from at least one source with both outcomes.
        directions: the features by their names, in their order; 1 where more of it should speak for completion, -1
            where against it, 0 where reason expects nothing.
        version: names what comes of it.
        features_version: of the features.
    """
    found = places(samples)
    scaling = scaling_of(found)
    known = [index for index, name in enumerate(directions) if not is_free(name)]
    expected = [direction for name, direction in directions.items() if not is_free(name)]
    seen = [
        _seen(place, scaling.adapted([sample.features for sample in place.samples]).apply, known) for place in found
    ]
    constants, scores = _chosen(seen, expected)
    slope = _slope(scores)
    base_rate = sum([place.say * place.rate for place in seen])
    intercept = _level(scores, slope, base_rate)
    weights = [0.0] * len(directions)
    for index, weight in zip(known, _weights(seen, expected, constants), strict=True):
        weights[index] = slope * weight
    return Prior(
        version=version,
        features_version=features_version,
        names=tuple(directions),
        scaling=scaling,
        weights=tuple(weights),
        variances=tuple([_FREE_VARIANCE if is_free(name) else _VARIANCE for name in directions]),
        intercept=intercept,
        base_rate=base_rate,
        threshold=_threshold(scores, slope, intercept),
        self_taught=constants.self_taught,
    )


def _seen(place: Place, scaled: Callable[[tuple[float, ...]], list[float]], known: Sequence[int]) -> _Seen:
    outcomes = [sample.completed for sample in place.samples]
    rows = [[row[index] for index in known] for row in [scaled(sample.features) for sample in place.samples]]
    columns = [centred(column) for column in zip(*rows, strict=True)]
    result = centred(list(map(float, outcomes)))
    size = math.sqrt(dot(result, result))
    lengths = [math.sqrt(dot(column, column)) for column in columns]
    return _Seen(
        family=place.family,
        say=place.say,
        rate=place.rate,
        rows=rows,
        outcomes=outcomes,
        correlations=[
            dot(column, result) / (length * size) if length > _PRECISION else 0.0
            for column, length in zip(columns, lengths, strict=True)
        ],
        alike=[
            [dot(column, other) / len(rows) for other in columns[: index + 1]] for index, column in enumerate(columns)
        ],
    )


def _chosen(seen: Sequence[_Seen], expected: Sequence[float]) -> tuple[_Constants, list[_Scores]]:
    """Return the constants that rank best in families left out, and the scores there; with few families, in all."""
    if len({place.family for place in seen}) < _FEWEST_FAMILIES:
        middle = _Constants(*[tried[len(tried) // 2] for tried in (_PLACES_EXPECTED, _RIDGES, _SELF_TAUGHT)])
        return middle, _scores(seen, _weights(seen, expected, middle), middle.self_taught)
    tried = _left_out(seen, expected)

    def worth(constants: _Constants) -> float:
        return sum([each.say * (ranking(each.outcomes, each.values) or 0.0) for each in tried[constants]])

    best = max(tried, key=worth)
    return best, tried[best]


def _left_out(seen: Sequence[_Seen], expected: Sequence[float]) -> dict[_Constants, list[_Scores]]:
    """Return the scores of every place under all constants, by weights that have seen no place of its family."""
    tried: dict[_Constants, list[_Scores]] = {}
    for family in sorted({place.family for place in seen}):
        others = [place for place in seen if place.family != family]
        tested = [place for place in seen if place.family == family]
        for ridge in _RIDGES:
            lower = _triangle(others, ridge)
            for places_expected in _PLACES_EXPECTED:
                weights = solve(lower, _expected_or_seen(others, expected, places_expected))
                for share in _SELF_TAUGHT:
                    scores = _scores(tested, weights, share)
                    tried.setdefault(_Constants(places_expected, ridge, share), []).extend(scores)
    return tried


def _weights(seen: Sequence[_Seen], expected: Sequence[float], constants: _Constants) -> list[float]:
    return solve(_triangle(seen, constants.ridge), _expected_or_seen(seen, expected, constants.places))


def _triangle(seen: Sequence[_Seen], ridge: float) -> Matrix:
    """Return the Cholesky triangle of how alike features are, in the mean of the places, and the ridge."""
    total = sum([place.say for place in seen])
    alike = [
        [sum(map(mul, cells, [place.say / total for place in seen])) for cells in zip(*rows, strict=True)]
        for rows in zip(*[place.alike for place in seen], strict=True)
    ]
    for row in alike:
        row[-1] += ridge
    return cholesky(alike)


def _expected_or_seen(seen: Sequence[_Seen], expected: Sequence[float], places_expected: float) -> list[float]:
    """Return the correlation of each feature with completion: the mean of what was seen and what reason expects."""
    total, count = sum([place.say for place in seen]), len({place.family for place in seen})
    means = [
        sum(map(mul, column, [place.say / total for place in seen]))
        for column in zip(*[place.correlations for place in seen], strict=True)
    ]
    return [
        (places_expected * _EXPECTED * direction + count * mean) / (places_expected + count)
        for direction, mean in zip(expected, means, strict=True)
    ]


def _scores(seen: Sequence[_Seen], weights: Sequence[float], share: float) -> list[_Scores]:
    found = []
    for place in seen:
        there = self_taught(weights, place.rows, share)
        found.append(_Scores(place.say, place.outcomes, [dot(there, row) for row in place.rows]))
    return found


def _slope(scores: Sequence[_Scores]) -> float:
    """Fit one slope and one intercept to all places, each with its say, by Newton's method.

    With an intercept for each the slope would be greater; but the next place has none that anyone knew. Scores that
    rank worse than chance tell nothing: the slope is 0 at least.
    """
    slope, intercept = 0.0, 0.0
    for _ in range(_NEWTON_STEPS):
        level, pull, weight, lean, bend = 0.0, -_FLATNESS * slope, 0.0, 0.0, _FLATNESS
        for each in scores:
            share = each.say / len(each.values)
            likely = [probability(intercept + slope * score) for score in each.values]
            bends = [share * p * (1 - p) for p in likely]
            pulls = [share * (result - p) for result, p in zip(each.outcomes, likely, strict=True)]
            level += sum(pulls)
            pull += dot(pulls, each.values)
            weight += sum(bends)
            lean += dot(bends, each.values)
            bend += dot(bends, list(map(mul, each.values, each.values)))
        size = weight * bend - lean * lean
        slope += (weight * pull - lean * level) / size
        intercept += (bend * level - lean * pull) / size
    return max(slope, 0.0)


def _level(scores: Sequence[_Scores], slope: float, rate: float) -> float:
    """Return the intercept with which the mean probability, of the means of the places, is `rate`; by bisection."""
    low, high = -_FARTHEST_LEVEL, _FARTHEST_LEVEL
    for _ in range(_STEPS):
        middle = (low + high) / 2
        likely = sum([each.say * fmean(_likely(each, slope, middle)) for each in scores])
        low, high = (middle, high) if likely < rate else (low, middle)
    return (low + high) / 2


def _threshold(scores: Sequence[_Scores], slope: float, intercept: float) -> float:
    """Return the probability from which on verdicts agree best with the outcomes, in the mean of the places."""
    likely = [_likely(each, slope, intercept) for each in scores]
    pooled = sorted([p for each in likely for p in each])
    candidates = [pooled[len(pooled) * share // _SHARES] for share in range(1, _SHARES)]

    def worth(threshold: float) -> float:
        both = zip(scores, likely, strict=True)
        return sum([each.say * matthews(each.outcomes, [p >= threshold for p in those]) for each, those in both])

    return max(candidates, key=worth)


def _likely(scores: _Scores, slope: float, intercept: float) -> list[float]:
    return [probability(intercept + slope * value) for value in scores.values]
