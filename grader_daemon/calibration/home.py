"""A prior among a person's own sessions, before any of them is labelled.

Features are measured from what is ordinary there, see `Scaling.adapted`. And features that go with the prior's score in
these sessions speak for completion there, too: the prior teaches itself (Scudder, IEEE Transactions on Information
Theory 11, 1965).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

import msgspec

from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.samples import FEWEST_SESSIONS
from grader_daemon.domain.algebra import Vector, dot

_FEW = 20.0
"""Number of sessions at which half of a correlation is believed; where there are thirty the measures are flat."""

_PRECISION = 1e-9


def at_home(prior: Prior, history: Sequence[tuple[float, ...]]) -> Prior:
    """Return the prior for a person whose finished sessions have the features `history`; itself where they are few."""
    if len(history) < FEWEST_SESSIONS:
        return prior
    measured, scaling = prior.measured, prior.scaling.adapted(history)
    of_measured = scaling.first(measured)
    rows = [of_measured.apply(features[:measured]) for features in history]
    weights = self_taught(prior.weights[:measured], rows, prior.self_taught)
    return msgspec.structs.replace(prior, scaling=scaling, weights=(*weights, *prior.weights[measured:]))


def self_taught(weights: Vector, rows: Sequence[Vector], share: float) -> list[float]:
    """Return weights that lean towards what goes with their own score.

    Args:
        weights: one for each feature.
        rows: sessions of one place: how far each feature lies from what is ordinary there.
        share: how much these correlations weigh beside the weights, by the lengths of both, if the sessions are many;
            0 changes nothing.

    Returns:
        Weights with which the scores of these sessions spread as far as before.
    """
    scores = centred([dot(weights, row) for row in rows])
    spread = math.sqrt(dot(scores, scores))
    if not share or spread < _PRECISION:
        return list(weights)
    with_score = [_correlation(centred(column), scores, spread) for column in zip(*rows, strict=True)]
    believed = share * len(rows) / (len(rows) + _FEW)
    say = believed * math.hypot(*weights) / math.hypot(*with_score)
    moved = [weight + say * correlation for weight, correlation in zip(weights, with_score, strict=True)]
    spread_then = _spread([dot(moved, row) for row in rows])
    return [weight * spread / spread_then for weight in moved]


def _correlation(column: Vector, scores: Vector, spread: float) -> float:
    length = math.sqrt(dot(column, column))
    return dot(column, scores) / (length * spread) if length > _PRECISION else 0.0


def _spread(scores: Sequence[float]) -> float:
    around = centred(scores)
    return math.sqrt(sum(map(mul, around, around)))


def centred(column: Sequence[float]) -> list[float]:
    """Return values as they differ from their mean."""
    mean = sum(column) / len(column)
    return [value - mean for value in column]
