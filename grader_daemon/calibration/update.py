"""A prior and a person's own sessions, labelled or not, to the model for that person.

Without labels, the prior is put among their sessions, see `home`. Labels teach one of two things. Level and slope are
two numbers: how many tasks are completed here, and how much the prior's score tells; what counts as done stays. The
weights are the most likely ones around those of the prior. Few labels leave them uncertain, and log-odds that are
uncertain are less far from even than they seem: all of them are drawn back by the same factor (MacKay, Neural
Computation 4, 1992, with a quarter of the variance: more of it is in the prior's variances, which are wider than labels
of one place would make them). How much words may say, the labels tell as well. What is used is the mean of these
weights and of those of level and slope, which errs less often than the weights alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from statistics import fmean

import msgspec

from grader_daemon.calibration.fit import Gaussian, fit_logistic
from grader_daemon.calibration.home import at_home
from grader_daemon.calibration.prior import Prior, is_free, unscaled
from grader_daemon.calibration.samples import Sample, Scaling
from grader_daemon.domain.algebra import dot
from grader_daemon.domain.completion_model import CompletionModel, log_odds, probability

MOST_LABELS = 400
"""Most labels that are learned from, the last ones: the time that takes grows with their cube, what it gains hardly."""

_BASE_RATE_LABELS = 4.0
"""Number of labels that weigh as much as the base rate of the prior."""

_INTERCEPT_VARIANCE = 100.0
_LEVEL_VARIANCE = 2.0
"""Variance of the log-odds of an ordinary session, from place to place; that of rates of completion is about 1."""

_SLOPE_VARIANCE = 0.25
_LEAST_SLOPE = 0.1
"""Labels that turn the prior's score round have to show that by the weights."""

_LEAST_SHARE = 0.1
"""Least share of the sessions that counts as done, and as not done."""

_SPREAD_COUNTED = 0.25
_WORD_FACTORS = (0.3, 3.0)
"""Factors by which words may say more in one place than in another; wider apart or more of them gain nothing."""


def levelled(prior: Prior, history: Sequence[tuple[float, ...]], *, version: str) -> CompletionModel:
    """Return the prior's model among a person's finished sessions; as it is where they are few."""
    home = at_home(prior, history)
    return home.model if home is prior else msgspec.structs.replace(home.model, version=version)


def relevelled(home: Prior, labelled: Sequence[Sample]) -> Prior:
    """Return the prior with the level and slope that labels say, and the same verdicts.

    `home` is the prior among the person's sessions.
    """
    learned = labelled[-MOST_LABELS:]
    slope, level = fit_logistic(
        [[dot(home.weights, home.scaling.apply(sample.features)), 1.0] for sample in learned],
        [sample.completed for sample in learned],
        prior=Gaussian(
            means=(1.0, home.intercept), variances=(_SLOPE_VARIANCE, _LEVEL_VARIANCE), in_doubt=(False, False)
        ),
    ).weights
    slope = max(slope, _LEAST_SLOPE)
    return msgspec.structs.replace(
        home,
        weights=tuple([slope * weight for weight in home.weights]),
        intercept=level,
        threshold=probability(level + slope * (log_odds(home.threshold) - home.intercept)),
    )


def reweighted(home: Prior, labelled: Sequence[Sample], seen: Sequence[tuple[float, ...]]) -> CompletionModel:
    """Return the model with weights that labels say.

    Args:
        home: the prior among the person's sessions.
        labelled: at least one session.
        seen: the features of the person's sessions, at least one.
    """
    learned = labelled[-MOST_LABELS:]
    rate = base_rate(home, learned)
    start = Gaussian(
        means=(*home.weights, log_odds(rate)),
        variances=(*_variances(home, home.scaling), _INTERCEPT_VARIANCE),
        in_doubt=(*map(is_free, home.names), False),
        factors=_WORD_FACTORS,
    )
    rows = [[*home.scaling.apply(sample.features), 1.0] for sample in learned]
    fit = fit_logistic(rows, [sample.completed for sample in learned], prior=start)
    drawn_back = 1 / math.sqrt(1 + math.pi / 8 * _SPREAD_COUNTED * fit.spread)
    plain = relevelled(home, learned)
    *weights, intercept = [
        (drawn_back * fitted + simple) / 2
        for fitted, simple in zip(fit.weights, (*plain.weights, plain.intercept), strict=True)
    ]
    model = unscaled(home, home.scaling, weights, intercept=intercept, threshold=0.5, version="")
    return msgspec.structs.replace(model, threshold=_threshold(model, home.model, seen))


def base_rate(prior: Prior, labelled: Sequence[Sample]) -> float:
    """Return how many tasks are completed: as the labels say, and as the prior does where there are few. 0 to 1."""
    completed = sum([sample.completed for sample in labelled])
    return (completed + _BASE_RATE_LABELS * prior.base_rate) / (len(labelled) + _BASE_RATE_LABELS)


def _threshold(model: CompletionModel, before: CompletionModel, seen: Sequence[tuple[float, ...]]) -> float:
    """Return the probability halfway, in log-odds, between two, for neither is sure.

    From one on the expected agreement of verdicts is best; from the other on as many sessions are done as `before`.
    """
    likely = sorted([model.predict(features) or 0.0 for features in seen], reverse=True)
    done = sum([(before.predict(features) or 0.0) >= before.threshold for features in seen])
    as_many = likely[min(max(done, 1), len(likely)) - 1]
    return probability(fmean([log_odds(_best_agreement(likely)), log_odds(as_many)]))


def _best_agreement(likely: Sequence[float]) -> float:
    """Return from which of these probabilities on, falling ones, verdicts have the best expected Matthews correlation.

    It is that of the expected numbers of sessions: with `k` of `n` done and `hits` of `completed` among them it is
    (n hits - k completed) / sqrt(k (n - k) completed (n - completed)), of which the last two are the same for all.
    """
    sessions, completed = len(likely), sum(likely)
    fewest = max(1, math.ceil(_LEAST_SHARE * sessions))
    best, threshold = -math.inf, likely[0]
    for done, hits in enumerate(accumulate(likely), start=1):
        if fewest <= done <= sessions - fewest:
            worth = (sessions * hits - done * completed) / math.sqrt(done * (sessions - done))
            if worth > best:
                best, threshold = worth, (likely[done - 1] + likely[done]) / 2
    return threshold


def _variances(prior: Prior, scaling: Scaling) -> list[float]:
    """Return the variances of weights for scaled features."""
    return [
        variance * scale * scale if is_free(name) else variance
        for name, variance, scale in zip(prior.names, prior.variances, scaling.scales, strict=True)
    ]
