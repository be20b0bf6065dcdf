"""Labelled sessions, and what their features are like where they come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul

import msgspec

from grader_daemon.calibration.algebra import Vector

OWN_SESSIONS_TRUSTED = 100
"""So many sessions of one's own weigh as much as all that a prior has seen, when it comes to what is ordinary."""

_FARTHEST = 4.0
"""No session that was trained on lies more scales than that from the mean."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled session.

    Sessions of one `task` are never on both sides of a test. `by_rules` is what the rules say of it.
    """

    features: tuple[float, ...]
    completed: bool
    task: str
    source: str = ""
    by_rules: bool = False


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """What features are in an ordinary session, and how far they go from there. Scales are above 0."""

    means: tuple[float, ...]
    scales: tuple[float, ...]

    def apply(self, features: Vector) -> list[float]:
        """Return how many scales each feature lies from its mean."""
        return [(value - mean) / scale for value, mean, scale in zip(features, self.means, self.scales, strict=True)]

    def adapted(self, history: Sequence[Vector]) -> Scaling:
        """Move towards what is ordinary in `history`, sessions of one's own; the more of them, the farther."""
        if not history:
            return self
        share = len(history) / (len(history) + OWN_SESSIONS_TRUSTED)
        means, scales = [], []
        for column, mean, scale in zip(zip(*history, strict=True), self.means, self.scales, strict=True):
            own, variance = _moments(column)
            means.append(share * own + (1 - share) * mean)
            scales.append(math.sqrt(share * variance + (1 - share) * scale * scale))
        return Scaling(means=tuple(means), scales=tuple(scales))


def scaling_of(sources: Iterable[Sequence[Sample]]) -> Scaling:
    """Return the scaling of labelled sessions; each source counts as much as any other.

    The scale is the standard deviation, or a quarter of the greatest distance where that is more: what is rare has no
    more than four times the say of what is common.
    """
    columns = [list(zip(*[sample.features for sample in samples], strict=True)) for samples in sources]
    means, scales = [], []
    for parts in zip(*columns, strict=True):
        moments = [_moments(part) for part in parts]
        mean = sum([own for own, _ in moments]) / len(moments)
        variance = sum([spread + (own - mean) ** 2 for own, spread in moments]) / len(moments)
        farthest = max(max(max(part) - mean, mean - min(part)) for part in parts)
        means.append(mean)
        scales.append(max(math.sqrt(variance), farthest / _FARTHEST) or 1.0)
    return Scaling(means=tuple(means), scales=tuple(scales))


def by_source(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Sort samples by where they come from, in the order of their names."""
    sorted_: dict[str, list[Sample]] = {}
    for sample in samples:
        sorted_.setdefault(sample.source, []).append(sample)
    return dict(sorted(sorted_.items()))


def _moments(column: Sequence[float]) -> tuple[float, float]:
    """Return mean and variance."""
    mean = sum(column) / len(column)
    centred = [value - mean for value in column]
    return mean, sum(map(mul, centred, centred)) / len(column)
