"""How likely a session completed its task: a logistic model over the features of its analysis."""

from __future__ import annotations

import math

import msgspec


class CompletionModel(msgspec.Struct, frozen=True, kw_only=True):
    """A linear model of the log-odds of completion.

    `weights` belong to `names`, each for the feature less its `mean` and divided by its `scale`. A session counts as
    completed from a probability of `threshold` on. `version` names the model, `features_version` what it reads.
    """

    version: str
    features_version: int
    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    threshold: float

    def predict(self, features: tuple[float, ...]) -> float | None:
        """Give the probability of completion, 0 to 1; None for a session without features of this version."""
        if len(features) != len(self.names):
            return None
        terms = zip(features, self.means, self.scales, self.weights, strict=True)
        odds = self.intercept + math.fsum([weight * (value - mean) / scale for value, mean, scale, weight in terms])
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
