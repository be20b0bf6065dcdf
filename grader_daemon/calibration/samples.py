"""Labelled sessions, and what their features are like where they come from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import mul

import msgspec

from grader_daemon.domain.algebra import Vector

FEWEST_SESSIONS = 10
"""Fewest sessions of one's own that show what is ordinary among them; with more it is hardly better known."""

_OWN_SESSIONS_TRUSTED = 50
"""Number of one's own sessions that weigh as much as all of the prior's, when it comes to how far features go."""

_FARTHEST = 4.0
"""Farthest that a session lies from the mean, in scales."""

_MARKS = frozenset({0, 1})


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled session.

    Sessions of one `task` are never on both sides of a test, nor are sources of one `family`: a harness or a benchmark;
    without one a source is its own. `by_rules` is what the rules say of the session.
    """

    features: tuple[float, ...]
    completed: bool
    task: str
    source: str = ""
    family: str = ""
    by_rules: bool = False


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """Means of features in an ordinary session, and how far they go from there. Scales are above 0."""

    means: tuple[float, ...]
    scales: tuple[float, ...]

    def apply(self, features: Vector) -> list[float]:
        """Return how many scales each feature lies from its mean."""
        return [(value - mean) / scale for value, mean, scale in zip(features, self.means, self.scales, strict=True)]

    def first(self, count: int) -> Scaling:
        """Return the scaling of the first `count` features alone."""
        return Scaling(means=self.means[:count], scales=self.scales[:count])

    def adapted(self, history: Sequence[Vector]) -> Scaling:
        """Return what is ordinary in `history`, sessions of one's own, if they are enough to tell.

        The mean is theirs; the scale is drawn towards these scales where they are few.
        """
        own = len(history)
        if own < FEWEST_SESSIONS:
            return self
        means, scales = [], []
        for column, scale in zip(zip(*history, strict=True), self.scales, strict=True):
            mean, variance = _moments(column)
            spread = (own * variance + _OWN_SESSIONS_TRUSTED * scale * scale) / (own + _OWN_SESSIONS_TRUSTED)
            means.append(mean)
            scales.append(max(math.sqrt(spread), _farthest(column, mean) / _FARTHEST))
        return Scaling(means=tuple(means), scales=tuple(scales))


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions of one source with its say, 0 to 1, in what all places teach: families have equal ones."""

    family: str
    samples: Sequence[Sample]
    say: float

    @property
    def rate(self) -> float:
        """Share of its tasks that were completed, 0 to 1."""
        return sum([sample.completed for sample in self.samples]) / len(self.samples)


def places(samples: Iterable[Sample]) -> list[Place]:
    """Return the sources in which there are both outcomes, by family and name; sources that share tasks are relatives.

    The says of all of them together are 1.
    """
    found = [
        (family, each)
        for family, sources in families(samples).items()
        for each in sources.values()
        if 0 < sum([sample.completed for sample in each]) < len(each)
    ]
    size = Counter(family for family, _ in found)
    return [Place(family=family, samples=each, say=1 / len(size) / size[family]) for family, each in found]


def families(samples: Iterable[Sample]) -> dict[str, dict[str, list[Sample]]]:
    """Sort samples by family and source; families that share tasks are one, with the name of the first."""
    merged: list[tuple[set[str], dict[str, list[Sample]]]] = []
    for source, each in by_source(samples).items():
        marks = {f"task {sample.task}" for sample in each} | {f"family {sample.family or source}" for sample in each}
        related = [family for family in merged if not family[0].isdisjoint(marks)]
        merged = [family for family in merged if family not in related]
        sources = {name: those for _, members in related for name, those in members.items()}
        merged.append((marks.union(*[known for known, _ in related]), sources | {source: each}))
    named = {next(iter(sources.values()))[0].family or next(iter(sources)): sources for _, sources in merged}
    return dict(sorted(named.items()))


def scaling_of(found: Sequence[Place]) -> Scaling:
    """Return the scaling of labelled sessions; each place counts as much as its say.

    The scale is the standard deviation, or a quarter of the greatest distance where that is more: what is rare has no
    more than four times the say of what is common.
    """
    columns = [list(zip(*[sample.features for sample in place.samples], strict=True)) for place in found]
    says = [place.say for place in found]
    means, scales = [], []
    for parts in zip(*columns, strict=True):
        moments = [_moments(part) for part in parts]
        mean = sum([say * own for say, (own, _) in zip(says, moments, strict=True)])
        variance = sum([say * (spread + (own - mean) ** 2) for say, (own, spread) in zip(says, moments, strict=True)])
        farthest = max(_farthest(part, mean) for part in parts)
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
    """Return mean and variance; of marks, which most features are, the first tells the second."""
    mean = sum(column) / len(column)
    if _MARKS.issuperset(column):
        return mean, mean * (1 - mean)
    centred = [value - mean for value in column]
    return mean, sum(map(mul, centred, centred)) / len(column)


def _farthest(column: Sequence[float], mean: float) -> float:
    return max(max(column) - mean, mean - min(column))
