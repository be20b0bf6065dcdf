"""Labelled sessions for tests of calibration."""

from __future__ import annotations

import random

import msgspec

from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.prior_training import train_prior
from grader_daemon.calibration.samples import Sample
from grader_daemon.domain.completion_model import probability

DIRECTIONS = {"errors_late": -1.0, "grounded": 1.0, "length": 0.0, "hash:word": 0.0}
"""Features of the examples: two with a meaning, one without, and a word."""


def sample(*features: float, completed: bool = True, **changes: object) -> Sample:
    """A labelled session, a task of its own but for `changes`."""
    made = Sample(features=features, completed=completed, task=f"{features}{completed}")
    return msgspec.structs.replace(made, **changes)


def samples(
    count: int,
    *,
    source: str = "here",
    weights: tuple[float, ...] = (-1.5, 1.5, 0.0, 0.0),
    intercept: float = 0.0,
    tasks: int | None = None,
    seed: int = 7,
) -> list[Sample]:
    """Sessions of which `weights` say how likely they were completed; features lie between 0 and 2."""
    chance = random.Random(f"{source} {seed}")
    made = []
    for number in range(count):
        features = tuple(chance.random() * 2 for _ in weights)
        odds = intercept + sum(weight * (value - 1) for weight, value in zip(weights, features, strict=True))
        completed = chance.random() < probability(2 * odds)
        by_rules = completed if chance.random() < 0.6 else chance.random() < 0.5
        task = f"{source} {number % tasks if tasks else number}"
        made.append(Sample(features=features, completed=completed, task=task, source=source, by_rules=by_rules))
    return made


def prior(*sources: str, count: int = 200) -> Prior:
    """A prior trained on samples of these sources."""
    labelled = [made for source in sources or ("there", "elsewhere") for made in samples(count, source=source)]
    return train_prior(labelled, DIRECTIONS, version="p1", features_version=1)
