"""What is thought of a session before its user said anything: a prior, learned from labelled sessions of other places.

What tells completed sessions from failed ones differs more between places than within one, and a few places teach
little about the next: weights fitted to five of them do worse in the sixth than equal weights in the directions that
reason expects (Dawes, The robust beauty of improper linear models, American Psychologist 34, 1979). So a prior begins
with these directions, as if they had been seen in so many places as `PLACES_EXPECTED`, and every source of labelled
sessions then counts as one more. From the sources it learns which features say the same, how much all of them together
are worth, how often tasks are completed, and from which probability on a session should count as completed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul

import msgspec

from grader_daemon.calibration.agreement import matthews
from grader_daemon.calibration.algebra import Matrix, cholesky, dot, solve
from grader_daemon.calibration.samples import Sample, Scaling, by_source, scaling_of
from grader_daemon.domain.completion_model import AT_ITS_WORD, CUT_OFF, CompletionModel, probability
from grader_daemon.domain.verdict import VerdictBy

PLACES_EXPECTED = 20.0
"""So many sources weigh as much as what reason expects; with fewer, the next place is ranked worse."""

_EXPECTED_CORRELATION = 0.1
"""With completion, of a feature whose direction is 1 or -1."""

_RIDGE = 5.0
"""Added to the variance 1 of every feature; the measures are flat between 3 and 10."""

_VARIANCE = 1 / 80
"""Of a weight around the prior's, in another place. The measures are flat between 1/40 and 1/160."""

_FREE_VARIANCE = 0.1
"""Of the weight of a feature that no other place can say anything of, `FREE`, for one unit of it: a word that half of
the sessions have says more than one that few have."""

FREE = "hash:"
"""Features whose names begin so are words; see `is_free`."""

_FLATNESS = 1e-4
"""Keeps the slope from growing without end where the scores separate."""

_AS_OFTEN_NOT = 50
"""Sessions that were cut off, one of them completed: what is thought of them before any was seen."""

_FARTHEST_LEVEL = 100.0
_NEWTON_STEPS = 15
_STEPS = 50
_PRECISION = 1e-9
_SHARES = 40


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where a prior comes from: the data with its licences, how many sessions of which sources, when, by which code."""

    data: str
    sessions: dict[str, int]
    made_on: str
    code_version: str


class Validity(msgspec.Struct, frozen=True, kw_only=True):
    """What a prior was worth where it had not been trained: the mean over sources, each left out in turn.

    Matthews correlations are those of the verdicts; `ranking` is the area under the curve of the probability. None
    where there is one source only.
    """

    sources: int
    ranking: float | None
    model_matthews: float | None
    rules_matthews: float | None

    @property
    def better(self) -> VerdictBy:
        """Return whose verdict was better there; the rules' unless the model's was."""
        if self.model_matthews is None or self.rules_matthews is None:
            return VerdictBy.RULES
        return VerdictBy.MODEL if self.model_matthews > self.rules_matthews else VerdictBy.RULES


class Prior(msgspec.Struct, frozen=True, kw_only=True):
    """Weights for scaled features, each with the variance that it has from place to place; `FREE` ones are not scaled.

    `intercept` is the log-odds of an ordinary session; `base_rate` how many tasks are completed, the mean of sources;
    `threshold` holds where the sessions of a place are as they ordinarily are in that place. `doubtful` are the
    probabilities between which a verdict is little better than a guess in a place that was not trained on, see `doubt`.
    None of this is about sessions that were cut off, of which the part `completed_when_cut_off` is completed.
    """

    version: str
    features_version: int
    names: tuple[str, ...]
    scaling: Scaling
    weights: tuple[float, ...]
    variances: tuple[float, ...]
    intercept: float
    base_rate: float
    threshold: float
    completed_when_cut_off: float
    doubtful: tuple[float, float] = AT_ITS_WORD

    @property
    def cut_off_at(self) -> int | None:
        """The place of the feature `CUT_OFF`; None for a prior that does not know it."""
        return self.names.index(CUT_OFF) if CUT_OFF in self.names else None

    def is_cut_off(self, features: Sequence[float]) -> bool:
        """Whether these are the features of a session that was stopped before its work was done."""
        at = self.cut_off_at
        return at is not None and bool(features[at])

    @property
    def model(self) -> CompletionModel:
        """The model for those who labelled nothing."""
        return unscaled(
            self, self.scaling, self.weights, intercept=self.intercept, threshold=self.threshold, version=self.version
        )


class ShippedPrior(msgspec.Struct, frozen=True, kw_only=True):
    """A prior as it stands in its file."""

    prior: Prior
    provenance: Provenance
    validity: Validity


def is_free(feature: str) -> bool:
    """Is it one of the words, of which only each user's own labels can tell what they mean?"""
    return feature.startswith(FREE)


def unscaled(
    prior: Prior, scaling: Scaling, weights: Sequence[float], *, intercept: float, threshold: float, version: str
) -> CompletionModel:
    """Return the model that reads features as they are."""
    plain = tuple([weight / scale for weight, scale in zip(weights, scaling.scales, strict=True)])
    return CompletionModel(
        version=version,
        features_version=prior.features_version,
        names=prior.names,
        means=scaling.means,
        weights=plain,
        intercept=intercept - dot(plain, scaling.means),
        threshold=threshold,
        completed_when_cut_off=prior.completed_when_cut_off,
        cut_off_at=prior.cut_off_at,
        doubtful=prior.doubtful,
    )


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
    at = list(directions).index(CUT_OFF) if CUT_OFF in directions else None
    cut_off = [sample for sample in samples if at is not None and sample.features[at]]
    whole = [sample for sample in samples if at is None or not sample.features[at]]
    sources = [each for each in by_source(whole).values() if 0 < _rate(each) < 1]
    scaling = scaling_of(sources)
    known = [index for index, name in enumerate(directions) if not is_free(name)]
    scaled = [[_pick(scaling.apply(sample.features), known) for sample in each] for each in sources]
    outcomes = [[sample.completed for sample in each] for each in sources]
    expected = _pick(list(directions.values()), known)
    raw = _robust_weights(scaled, outcomes, expected)
    scores = [[dot(raw, row) for row in rows] for rows in scaled]
    slope = _slope(scores, outcomes)
    odds = [[slope * score for score in each] for each in scores]
    centred = [_centred(each) for each in odds]
    base_rate = sum(map(_rate, sources)) / len(sources)
    intercept = _level(odds, base_rate)
    weights = [0.0] * len(directions)
    for index, weight in zip(known, raw, strict=True):
        weights[index] = slope * weight
    likely = [[probability(intercept + value) for value in each] for each in centred]
    return Prior(
        version=version,
        features_version=features_version,
        names=tuple(directions),
        scaling=scaling,
        weights=tuple(weights),
        variances=tuple([_FREE_VARIANCE if is_free(name) else _VARIANCE for name in directions]),
        intercept=intercept,
        base_rate=base_rate,
        threshold=_threshold(likely, outcomes),
        completed_when_cut_off=(sum([sample.completed for sample in cut_off]) + 1) / (len(cut_off) + _AS_OFTEN_NOT),
    )


def _robust_weights(scaled: list[Matrix], outcomes: list[list[bool]], expected: list[float]) -> list[float]:
    """Return the ridge weights of the expected and the seen correlations, for features as alike as in the sources."""
    width = len(expected)
    alike: Matrix = [[0.0] * width for _ in range(width)]
    seen = [PLACES_EXPECTED * _EXPECTED_CORRELATION * direction for direction in expected]
    for rows, results in zip(scaled, outcomes, strict=True):
        columns = [_centred(column) for column in zip(*rows, strict=True)]
        result = _centred([float(outcome) for outcome in results])
        size = math.sqrt(dot(result, result))
        for index, column in enumerate(columns):
            norm = math.sqrt(dot(column, column))
            seen[index] += dot(column, result) / (norm * size) if norm > _PRECISION else 0.0
            for other in range(index + 1):
                alike[index][other] += dot(column, columns[other]) / len(rows) / len(scaled)
    for index, row in enumerate(alike):
        row[index] += _RIDGE
    return solve(cholesky(alike), [value / (PLACES_EXPECTED + len(scaled)) for value in seen])


def _slope(scores: list[list[float]], outcomes: list[list[bool]]) -> float:
    """Fit one slope and one intercept to all sources, each with as much say as any other, by Newton's method.

    With an intercept for each the slope would be greater; but the next place has none that anyone knew.
    """
    slope, intercept = 0.0, 0.0
    for _ in range(_NEWTON_STEPS):
        level, pull, weight, lean, bend = 0.0, -_FLATNESS * slope, 0.0, 0.0, _FLATNESS
        for each, results in zip(scores, outcomes, strict=True):
            likely = [probability(intercept + slope * score) for score in each]
            bends = [p * (1 - p) / len(each) for p in likely]
            pulls = [(result - p) / len(each) for result, p in zip(results, likely, strict=True)]
            level += sum(pulls)
            pull += dot(pulls, each)
            weight += sum(bends)
            lean += dot(bends, each)
            bend += dot(bends, list(map(mul, each, each)))
        size = weight * bend - lean * lean
        slope += (weight * pull - lean * level) / size
        intercept += (bend * level - lean * pull) / size
    return slope


def _level(odds: list[list[float]], rate: float) -> float:
    """Return the intercept with which the mean probability, of the means of the sources, is `rate`; by bisection."""
    low, high = -_FARTHEST_LEVEL, _FARTHEST_LEVEL
    for _ in range(_STEPS):
        middle = (low + high) / 2
        means = [sum([probability(middle + value) for value in each]) / len(each) for each in odds]
        low, high = (middle, high) if sum(means) / len(means) < rate else (low, middle)
    return (low + high) / 2


def _threshold(likely: list[list[float]], outcomes: list[list[bool]]) -> float:
    """Return the probability from which on verdicts agree best with the outcomes, in the mean of the sources."""
    pooled = sorted([p for each in likely for p in each])
    candidates = [pooled[len(pooled) * share // _SHARES] for share in range(1, _SHARES)]

    def worth(threshold: float) -> float:
        both = zip(likely, outcomes, strict=True)
        return sum([matthews(results, [p >= threshold for p in each]) for each, results in both])

    return max(candidates, key=worth)


def _rate(samples: Sequence[Sample]) -> float:
    return sum([sample.completed for sample in samples]) / len(samples)


def _pick(values: Sequence[float], indexes: Sequence[int]) -> list[float]:
    return [values[index] for index in indexes]


def _centred(column: Sequence[float]) -> list[float]:
    mean = sum(column) / len(column)
    return [value - mean for value in column]
