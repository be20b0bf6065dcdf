"""Logistic regression under a Gaussian prior: the most likely weights, found exactly.

Labels are few and features are many, so the fit is done among the labels: with `n` of them it solves systems of `n`
equations, however many features there are (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
algorithm 3.1; the weights are those of the primal problem). How much some of the weights may vary is not known before
the labels either: of a few answers the one is taken under which the labels were most to be expected (the same book,
section 5.5; equation 3.32).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from operator import mul

import msgspec

from grader_daemon.domain.algebra import Matrix, Vector, approach, cholesky, dot, gram, inverse_diagonal
from grader_daemon.domain.completion_model import probability

_PRECISION = 1e-9
_LEAST_SHARE = 1e-4
_LEAST_CURVATURE = 1e-9


class Gaussian(msgspec.Struct, frozen=True, kw_only=True):
    """Distribution of the weights before the labels: independent, each with a mean and a variance above 0.

    The variances of those `in_doubt` are known but for a factor that they share, one of `factors`.
    """

    means: tuple[float, ...]
    variances: tuple[float, ...]
    in_doubt: tuple[bool, ...]
    factors: tuple[float, ...] = (1.0,)


class LogisticFit(msgspec.Struct, frozen=True, kw_only=True):
    """The most likely weights.

    `spread` is how uncertain they leave the log-odds of a session like the labelled ones that is not among them: the
    mean leave-one-out variance (Rasmussen and Williams, equation 5.12, at the mode).
    """

    weights: tuple[float, ...]
    spread: float


class _Step(msgspec.Struct):
    """A point of the search: the labels' pulls, the log-odds that they give, and how good that is."""

    pulls: list[float]
    odds: list[float]
    worth: float


class _Candidate(msgspec.Struct):
    """The best point under one factor, and how much the labels were to be expected under it."""

    factor: float
    step: _Step
    triangle: Matrix
    evidence: float


def fit_logistic(rows: Sequence[Vector], outcomes: Sequence[bool], *, prior: Gaussian) -> LogisticFit:
    """Fit weights to at least one row; `rows` have as many values as the prior, a constant 1 among them if wanted."""
    deviations = [math.sqrt(variance) for variance in prior.variances]
    spread_out = [list(map(mul, row, deviations)) for row in rows]
    doubtful = gram([list(compress(row, prior.in_doubt)) for row in spread_out])
    known = gram([[value for value, doubt in zip(row, prior.in_doubt, strict=True) if not doubt] for row in spread_out])
    start = [dot(row, prior.means) for row in rows]
    pulls, candidates = [0.0] * len(start), []
    for factor in prior.factors:
        candidates.append(_try(factor, _sum(known, doubtful, factor), outcomes, start=start, pulls=pulls))
        pulls = candidates[-1].step.pulls
    best = max(candidates, key=lambda candidate: candidate.evidence)
    return LogisticFit(weights=_pulled(prior, best, rows), spread=_spread(best))


def _sum(known: Matrix, doubtful: Matrix, factor: float) -> Matrix:
    return [
        [one + factor * other for one, other in zip(row, more, strict=True)]
        for row, more in zip(known, doubtful, strict=True)
    ]


def _pulled(prior: Gaussian, candidate: _Candidate, rows: Sequence[Vector]) -> tuple[float, ...]:
    """Return the weights that the labels pull the prior's to."""
    each = zip(prior.means, prior.variances, prior.in_doubt, zip(*rows, strict=True), strict=True)
    return tuple(
        [
            mean + variance * (candidate.factor if doubt else 1.0) * dot(column, candidate.step.pulls)
            for mean, variance, doubt, column in each
        ]
    )


def _try(
    factor: float, kernel: Matrix, outcomes: Sequence[bool], *, start: list[float], pulls: list[float]
) -> _Candidate:
    """Fit under one factor, beginning with these pulls; the evidence is Laplace's approximation."""
    step = _mode(kernel, outcomes, start, pulls)
    triangle = cholesky(_curved(kernel, list(map(math.sqrt, _bends(step.odds)))))
    return _Candidate(factor, step, triangle, step.worth - sum([math.log(row[-1]) for row in triangle]))


def _mode(kernel: Matrix, outcomes: Sequence[bool], start: list[float], pulls: list[float]) -> _Step:
    """Find the mode by Newton's method; a step that makes it worse is halved."""
    step = _at(pulls, kernel, outcomes, start)
    gained = math.inf
    while gained > _PRECISION:
        towards = _newton(step, kernel, outcomes, start)
        share, better = 1.0, _at(towards, kernel, outcomes, start)
        while better.worth < step.worth and share > _LEAST_SHARE:
            share /= 2
            between = [old + share * (new - old) for old, new in zip(step.pulls, towards, strict=True)]
            better = _at(between, kernel, outcomes, start)
        gained, step = better.worth - step.worth, better
    return step


def _at(pulls: list[float], kernel: Matrix, outcomes: Sequence[bool], start: list[float]) -> _Step:
    moved = [dot(row, pulls) for row in kernel]
    odds = list(map(sum, zip(start, moved, strict=True)))
    likely = sum([_log_likelihood(value, outcome) for value, outcome in zip(odds, outcomes, strict=True)])
    return _Step(pulls=pulls, odds=odds, worth=likely - dot(pulls, moved) / 2)


def _log_likelihood(odds: float, outcome: bool) -> float:  # noqa: FBT001  an outcome, not a choice
    against = -odds if outcome else odds
    return -(max(against, 0.0) + math.log1p(math.exp(-abs(against))))


def _newton(step: _Step, kernel: Matrix, outcomes: Sequence[bool], start: list[float]) -> list[float]:
    likely = list(map(probability, step.odds))
    bends = _bends(step.odds)
    roots = list(map(math.sqrt, bends))
    wanted = [
        bend * (odds - first) + outcome - p
        for bend, odds, first, outcome, p in zip(bends, step.odds, start, outcomes, likely, strict=True)
    ]
    inner = approach(_curved(kernel, roots), [root * dot(row, wanted) for root, row in zip(roots, kernel, strict=True)])
    return [value - root * part for value, root, part in zip(wanted, roots, inner, strict=True)]


def _curved(kernel: Matrix, roots: list[float]) -> Matrix:
    """Return I + R K R, with the roots of the curvature on the diagonal of R."""
    curved = [[root * value for value in map(mul, row, roots)] for root, row in zip(roots, kernel, strict=True)]
    for index, row in enumerate(curved):
        row[index] += 1
    return curved


def _bends(odds: list[float]) -> list[float]:
    return [max(p * (1 - p), _LEAST_CURVATURE) for p in map(probability, odds)]


def _spread(candidate: _Candidate) -> float:
    bends = _bends(candidate.step.odds)
    inverse = inverse_diagonal(candidate.triangle)
    return sum([(1 / part - 1) / bend for part, bend in zip(inverse, bends, strict=True)]) / len(bends)
