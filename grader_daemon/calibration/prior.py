"""A prior for a session before its user said anything, learned from labelled sessions of other places.

How it is learned is in `prior_training`; what a place's own sessions and labels make of it in `update`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grader_daemon.calibration.samples import Scaling
from grader_daemon.domain.algebra import dot
from grader_daemon.domain.completion_model import AT_ITS_WORD, CompletionModel
from grader_daemon.domain.verdict import VerdictBy

FREE = "hash:"
"""Features whose names begin so are words; see `is_free`."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Origin of a prior.

    Attributes:
        data: the training data with its licences.
        sessions: number of sessions from each source.
        made_on: day of the training.
        code_version: version of the code that trained it.
    """

    data: str
    sessions: dict[str, int]
    made_on: str
    code_version: str


class Validity(msgspec.Struct, frozen=True, kw_only=True):
    """Validity of a prior on data it was not trained on: the mean over sources, each left out in turn.

    Attributes:
        sources: number of sources.
        ranking: area under the curve of the probability; None if there is only one source.
        model_matthews: Matthews correlation of the model's verdicts; None if there is only one source.
        rules_matthews: Matthews correlation of the rules' verdicts; None if there is only one source.
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

    `intercept` is the log-odds of an ordinary session; `base_rate` how many tasks are completed, the mean of families
    of sources; `threshold` holds where the sessions of a place are as they ordinarily are in that place. `doubtful` are
    the probabilities between which a verdict is little better than a guess in a place that was not trained on, see
    `doubt`. `self_taught` is how much the prior learns from its own scores in a person's sessions, see `home`.
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
    self_taught: float = 0.0
    doubtful: tuple[float, float] = AT_ITS_WORD

    @property
    def measured(self) -> int:
        """Number of features that mean the same in every place; the `FREE` ones come after them."""
        return sum([not is_free(name) for name in self.names])

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
    """Return whether it is one of the words, whose meaning only each user's own labels can tell."""
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
        doubtful=prior.doubtful,
    )
