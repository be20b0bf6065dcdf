"""Worlds of the closed benchmark of routing: how well each model does each type of task, and how outcomes are seen."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping
from typing import Final, NamedTuple

DAYS: Final = 90
CHANGE: Final = 40
"""The day on which a world changes, if it does."""
MODELS: Final = tuple(f"model-{letter}" for letter in "abcde")
NEW: Final = "model-new"
TYPES: Final = ("coding", "debugging", "research", "writing")
_SPREAD, _SPREAD_AT_TYPE = 0.6, 0.3
"""Standard deviations on the logit scale: of a model from the middle, and of a model at a type from that."""
_NEWS: Final = 0.35
"""Points by which a model falls or rises, or by which a new one is better than the best, as far as that can be."""
_LOWEST, _HIGHEST = 0.05, 0.95
_DEAR: Final = 2
"""Models that cost more than the limit, where prices differ."""
CENT, DOLLARS, LIMIT = 0.01, 5.0, 1.0

WORLDS: Final = ("rest", "fall", "rise", "new", "prices")
SEEN: Final[Mapping[str, tuple[float, float]]] = {
    "exact": (0.0, 1.0),
    "noisy": (0.2, 0.8),
    "facts": (0.025, 0.18),
}
"""How often a task is seen as failed that was done, and one that failed.

`exact` is a label of each; `noisy` a reward that is wrong in one of five; `facts` are bad endings, as often as they are
in docs/insight.md.
"""


class World(NamedTuple):
    """Probabilities of completion by type and model, before the change and after it, and what a task costs."""

    before: dict[tuple[str, str], float]
    after: dict[tuple[str, str], float]
    usd: dict[str, float]
    limit: float | None

    def rates(self, day: int) -> dict[tuple[str, str], float]:
        """Return the probabilities of a day."""
        return self.before if day < CHANGE else self.after

    def models(self, day: int) -> tuple[str, ...]:
        """Return the models that can be asked on a day."""
        return (*MODELS, NEW) if day >= CHANGE and NEW in self.usd else MODELS

    def allowed(self, day: int) -> tuple[str, ...]:
        """Return those of them that keep the limit of cost."""
        return tuple(model for model in self.models(day) if self.limit is None or self.usd[model] < self.limit)

    def best(self, day: int, task_type: str) -> float:
        """Return the probability of the best model that may be asked."""
        return max(self.rates(day)[task_type, model] for model in self.allowed(day))


def world(name: str, chance: random.Random) -> World:
    """Draw a world of a kind."""
    before = _rates(chance)
    after, usd = dict(before), dict.fromkeys(MODELS, CENT)
    by_worth = sorted(MODELS, key=lambda model: _mean(before, model))
    if name == "fall":
        after |= _moved(before, by_worth[-1], -_NEWS)
    elif name == "rise":
        after |= _moved(before, by_worth[0], _NEWS + _mean(before, by_worth[-1]) - _mean(before, by_worth[0]))
    elif name == "new":
        usd[NEW] = CENT
        best = _moved(before, by_worth[-1], _NEWS / 2)
        after |= {(task_type, NEW): rate for (task_type, _), rate in best.items()}
    elif name == "prices":
        usd |= dict.fromkeys(chance.sample(MODELS, _DEAR), DOLLARS)
    return World(before, after, usd, LIMIT if name == "prices" else None)


def _rates(chance: random.Random) -> dict[tuple[str, str], float]:
    off = {model: chance.gauss(0, _SPREAD) for model in MODELS}
    return {
        (task_type, model): 1 / (1 + math.exp(-off[model] - chance.gauss(0, _SPREAD_AT_TYPE)))
        for task_type in TYPES
        for model in MODELS
    }


def _mean(rates: Mapping[tuple[str, str], float], model: str) -> float:
    return statistics.fmean(rates[task_type, model] for task_type in TYPES)


def _moved(rates: Mapping[tuple[str, str], float], model: str, by: float) -> dict[tuple[str, str], float]:
    """Return the probabilities of one model, moved."""
    return {(task_type, model): min(_HIGHEST, max(_LOWEST, rates[task_type, model] + by)) for task_type in TYPES}
