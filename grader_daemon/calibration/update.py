"""A prior and a person's own sessions, labelled or not, to the model for that person.

Without labels only the level can be learned: an ordinary session of their own gets the probability of an ordinary one
elsewhere, however many errors are ordinary there. With labels, first the base rate is learned, from the labels and a
little from the prior; then the weights, the most likely ones around those of the prior. Features are scaled by what is
ordinary in the person's own sessions, labelled or not. Few labels leave weights uncertain, and log-odds that are
uncertain are less far from even than they seem: all of them are drawn back by the same factor (MacKay, Neural
Computation 4, 1992, with a quarter of the variance: more of it is in the prior's variances, which are wider than labels
of one place would make them). How much words may say, the labels tell as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from grader_daemon.calibration.fit import Gaussian, fit_logistic
from grader_daemon.calibration.home import at_home
from grader_daemon.calibration.prior import Prior, is_free, unscaled
from grader_daemon.calibration.samples import Sample, Scaling
from grader_daemon.domain.completion_model import CompletionModel

MOST_LABELS = 400
"""So many of them are learned from, the last ones: the time that takes grows with their cube, what it gains hardly."""

_BASE_RATE_LABELS = 4.0
"""So many labels weigh as much as the base rate of the prior."""

_INTERCEPT_VARIANCE = 100.0
_SPREAD_COUNTED = 0.25
_WORD_FACTORS = (0.3, 3.0)
"""How much more words may say in one place than in another; wider apart or more of them gain nothing."""


def update(
    prior: Prior, labelled: Sequence[Sample], *, history: Sequence[tuple[float, ...]], version: str
) -> CompletionModel:
    """Learn from a person's labels; without any, what is ordinary among their sessions.

    Args:
        prior: where it starts.
        labelled: sessions with a person's word, the newest last.
        history: the features of their finished sessions, labelled or not.
        version: names what comes of it.
    """
    learned = labelled[-MOST_LABELS:]
    if not learned:
        return levelled(prior, history, version=version)
    seen = history or [sample.features for sample in learned]
    home = at_home(prior, seen)
    rate = base_rate(prior, learned)
    start = Gaussian(
        means=(*home.weights, math.log(rate / (1 - rate))),
        variances=(*_variances(prior, home.scaling), _INTERCEPT_VARIANCE),
        in_doubt=(*map(is_free, prior.names), False),
        factors=_WORD_FACTORS,
    )
    rows = [[*home.scaling.apply(sample.features), 1.0] for sample in learned]
    fit = fit_logistic(rows, [sample.completed for sample in learned], prior=start)
    drawn_back = 1 / math.sqrt(1 + math.pi / 8 * _SPREAD_COUNTED * fit.spread)
    *weights, intercept = [weight * drawn_back for weight in fit.weights]
    model = unscaled(home, home.scaling, weights, intercept=intercept, threshold=0.5, version=version)
    return msgspec.structs.replace(model, threshold=_threshold(model, seen, rate))


def levelled(prior: Prior, history: Sequence[tuple[float, ...]], *, version: str) -> CompletionModel:
    """Return the prior's model among a person's finished sessions; as it is where they are few."""
    home = at_home(prior, history)
    return home.model if home is prior else msgspec.structs.replace(home.model, version=version)


def base_rate(prior: Prior, labelled: Sequence[Sample]) -> float:
    """Return how many tasks are completed: as the labels say, and as the prior does where there are few. 0 to 1."""
    completed = sum([sample.completed for sample in labelled])
    return (completed + _BASE_RATE_LABELS * prior.base_rate) / (len(labelled) + _BASE_RATE_LABELS)


def _threshold(model: CompletionModel, seen: Sequence[tuple[float, ...]], rate: float) -> float:
    """Return the probability from which on as many of the sessions count as completed as the base rate says."""
    likely = sorted([model.predict(features) or 0.0 for features in seen])
    return likely[min(len(likely) - 1, int((1 - rate) * len(likely)))]


def _variances(prior: Prior, scaling: Scaling) -> list[float]:
    """Return the variances of weights for scaled features."""
    return [
        variance * scale * scale if is_free(name) else variance
        for name, variance, scale in zip(prior.names, prior.variances, scaling.scales, strict=True)
    ]
