"""The probability that a session completed its task: a logistic model over the features of its analysis."""

from __future__ import annotations

import math
from functools import cached_property
from operator import mul
from typing import Final

import msgspec

from grader_daemon.domain.session_features import Features

AT_ITS_WORD: Final = (0.4, 0.6)
"""The probabilities at which two in five, and three in five, sessions are completed, if it is right."""

_SUREST = 30.0


def probability(odds: float) -> float:
    """Return the probability of these log-odds, never quite 0 or 1."""
    return 1 / (1 + math.exp(-max(-_SUREST, min(_SUREST, odds))))


def log_odds(likely: float) -> float:
    """Return the log-odds of a probability, as far from even as `probability` goes at most."""
    if not 0 < likely < 1:
        return math.copysign(_SUREST, likely - 0.5)
    return math.log(likely / (1 - likely))


class CompletionModel(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A linear model of the log-odds of completion.

    `weights` belong to `names`, each for one unit of its feature, and `intercept` is where all of them are 0; `means`
    are what the features are in an ordinary session. A session counts as completed from a probability of `threshold`
    on. `doubtful` are the probabilities at which two in five, and three in five, sessions were completed where that
    was looked at: those of the prior elsewhere, until labels of a home say it of their own sessions. `version` names
    the model, `features_version` what it reads.
    """

    version: str
    features_version: int
    names: tuple[str, ...]
    means: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    threshold: float
    doubtful: tuple[float, float] = AT_ITS_WORD

    def is_unsure(self, likely: float) -> bool:
        """Return whether a verdict at this probability would be wrong more than two times in five."""
        low, high = self.doubtful
        return min(low, self.threshold) <= likely < max(high, self.threshold)

    def predict(self, features: tuple[float, ...] | Features) -> float | None:
        """Return the probability of completion, 0 to 1; None for a session without features of this version."""
        if len(features) != len(self.weights):
            return None
        return probability(self.intercept + sum(map(mul, self._heavy, features)))

    @cached_property
    def _heavy(self) -> tuple[float, ...]:
        """The weights up to the last one that is not 0: most features come last and weigh nothing before labels do."""
        count = next((index for index in range(len(self.weights), 0, -1) if self.weights[index - 1]), 0)
        return self.weights[:count]

    def contributions(self, features: tuple[float, ...] | Features) -> dict[str, float]:
        """Return by how much each feature moves the log-odds away from those of an ordinary session."""
        named = zip(self.names, features, self.means, self.weights, strict=True)
        return {name: weight * (value - mean) for name, value, mean, weight in named}
