"""Agreement of probabilities and verdicts with people, with 95 % intervals.

Sources: Brier, Monthly Weather Review 78 (1950); Hanley and McNeil, Radiology 143 (1982), for the area under the curve;
Cohen, Educational and Psychological Measurement 20 (1960); Matthews, Biochimica et Biophysica Acta 405 (1975); the
delta method for both (Agresti, Categorical Data Analysis, 2013, section 16.1), on Fisher's scale, where bounds cannot
pass 1; Naeini, Cooper and Hauskrecht, AAAI 2015, for the calibration error, and Efron's percentile bootstrap for its
interval.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import msgspec

from grader_daemon.domain.estimate import Estimate, mean, proportion

_BINS = 10
_Z = 1.959963984540054
_RESAMPLES = 500
_SEED = 1
_SMALL = 1e-6
_FEWEST = 2

Cells = tuple[float, float, float, float]
"""Shares or counts of verdicts: completed as people say, completed only by the verdict, only by people, by neither."""


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions whose probability lies in one tenth: their mean probability, and the share that was completed."""

    low: float
    high: float
    predicted: float
    completed: Estimate


class ProbabilityScores(msgspec.Struct, frozen=True, kw_only=True):
    """Quality of probabilities.

    `brier` is the mean squared error, 0 to 1; `skill` by how much it is better than always saying the rate at which
    these sessions were completed, at most 1; `error` the expected calibration error; `ranking` the area
    under the curve.
    """

    brier: Estimate
    skill: float | None
    error: Estimate
    ranking: Estimate
    bins: tuple[Bin, ...]


class VerdictScores(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement of verdicts with people: -1 to 1, where 0 is chance."""

    kappa: Estimate
    matthews: Estimate


def score_verdicts(outcomes: Sequence[bool], verdicts: Sequence[bool]) -> VerdictScores:
    """Compare verdicts with what people say of the same sessions."""
    cells = _cells(outcomes, verdicts)
    return VerdictScores(kappa=_estimate(_kappa, cells), matthews=_estimate(_matthews, cells))


def matthews(outcomes: Sequence[bool], verdicts: Sequence[bool]) -> float:
    """Return the Matthews correlation, -1 to 1; 0 where one side always says the same."""
    return _matthews(_cells(outcomes, verdicts))


def score_probabilities(outcomes: Sequence[bool], probabilities: Sequence[float]) -> ProbabilityScores:
    """Compare probabilities with outcomes; there must be at least one."""
    errors = [(p - outcome) ** 2 for p, outcome in zip(probabilities, outcomes, strict=True)]
    squares = sum([error * error for error in errors])
    brier = mean(sum(errors), squares, len(errors), lowest=0.0, highest=1.0)
    return ProbabilityScores(
        brier=brier,
        skill=skill(outcomes, probabilities),
        error=_error_estimate(outcomes, probabilities),
        ranking=ranking_estimate(outcomes, probabilities),
        bins=tuple(bins(outcomes, probabilities)),
    )


def skill(outcomes: Sequence[bool], probabilities: Sequence[float]) -> float | None:
    """Return the Brier skill over the rate of these outcomes, at most 1; None where all of them are the same."""
    rate = sum(outcomes) / len(outcomes)
    if not 0 < rate < 1:
        return None
    error = sum([(p - outcome) ** 2 for p, outcome in zip(probabilities, outcomes, strict=True)]) / len(outcomes)
    return 1 - error / (rate * (1 - rate))


def bins(outcomes: Sequence[bool], probabilities: Sequence[float]) -> list[Bin]:
    """Return the reliability diagram: tenths of the probability in which there are sessions."""
    found = []
    for index, members in sorted(_members(outcomes, probabilities).items()):
        predicted = sum([p for p, _ in members]) / len(members)
        completed = proportion(sum([outcome for _, outcome in members]), len(members))
        low, high = index / _BINS, (index + 1) / _BINS
        found.append(Bin(low=low, high=high, predicted=predicted, completed=completed))
    return found


def calibration_error(outcomes: Sequence[bool], probabilities: Sequence[float]) -> float:
    """Return the expected calibration error over tenths, 0 to 1."""
    members = _members(outcomes, probabilities).values()
    return sum([abs(sum([p - outcome for p, outcome in each])) for each in members]) / len(outcomes)


def ranking(outcomes: Sequence[bool], probabilities: Sequence[float]) -> float | None:
    """Return the area under the curve: how often a completed session stands above a failed one; None without both."""
    completed = sum(outcomes)
    failed = len(outcomes) - completed
    if not completed or not failed:
        return None
    ranks = _ranks(probabilities)
    above = sum([rank for rank, outcome in zip(ranks, outcomes, strict=True) if outcome])
    return (above - completed * (completed + 1) / 2) / (completed * failed)


def _cells(outcomes: Sequence[bool], verdicts: Sequence[bool]) -> Cells:
    both = sum([outcome and verdict for outcome, verdict in zip(outcomes, verdicts, strict=True)])
    said, was = sum(verdicts), sum(outcomes)
    return both, said - both, was - both, len(outcomes) - said - was + both


def _matthews(cells: Cells) -> float:
    both, said, was, neither = cells
    spread = (both + said) * (both + was) * (neither + said) * (neither + was)
    return (both * neither - said * was) / math.sqrt(spread) if spread > 0 else 0.0


def _kappa(cells: Cells) -> float:
    both, said, was, neither = cells
    total = sum(cells)
    chance = ((both + said) * (both + was) + (neither + said) * (neither + was)) / total / total
    return ((both + neither) / total - chance) / (1 - chance) if chance < 1 else 0.0


def _estimate(measure: Callable[[Cells], float], cells: Cells) -> Estimate:
    """Return a measure of counts with its interval; the counts are those and half a session more in every cell."""
    sample = round(sum(cells))
    if not sample:
        return Estimate()
    value = measure(cells)
    total = sample + 2.0
    shares = [(count + 0.5) / total for count in cells]
    slopes = [_slope(measure, shares, index) for index in range(len(shares))]
    centre = sum([slope * share for slope, share in zip(slopes, shares, strict=True)])
    variance = sum([share * (slope - centre) ** 2 for slope, share in zip(slopes, shares, strict=True)]) / total
    middle = measure((shares[0], shares[1], shares[2], shares[3]))
    margin = _Z * math.sqrt(variance) / (1 - middle * middle)
    low, high = math.tanh(math.atanh(middle) - margin), math.tanh(math.atanh(middle) + margin)
    return Estimate(value=value, low=min(low, value), high=max(high, value), sample=sample)


def _slope(measure: Callable[[Cells], float], shares: list[float], index: int) -> float:
    up, down = list(shares), list(shares)
    up[index] += _SMALL
    down[index] -= _SMALL
    return (measure((up[0], up[1], up[2], up[3])) - measure((down[0], down[1], down[2], down[3]))) / (2 * _SMALL)


def _members(outcomes: Sequence[bool], probabilities: Sequence[float]) -> dict[int, list[tuple[float, bool]]]:
    members: dict[int, list[tuple[float, bool]]] = {}
    for p, outcome in zip(probabilities, outcomes, strict=True):
        members.setdefault(min(_BINS - 1, int(p * _BINS)), []).append((p, outcome))
    return members


def _error_estimate(outcomes: Sequence[bool], probabilities: Sequence[float]) -> Estimate:
    value = calibration_error(outcomes, probabilities)
    chance = random.Random(_SEED)  # noqa: S311  a bootstrap keeps no secrets
    pairs = list(zip(outcomes, probabilities, strict=True))
    drawn = []
    for _ in range(_RESAMPLES):
        some = chance.choices(pairs, k=len(pairs))
        drawn.append(calibration_error([outcome for outcome, _ in some], [p for _, p in some]))
    drawn.sort()
    low, high = drawn[_RESAMPLES // 40], drawn[-1 - _RESAMPLES // 40]
    return Estimate(value=value, low=min(low, value), high=max(high, value), sample=len(outcomes))


def ranking_estimate(outcomes: Sequence[bool], probabilities: Sequence[float]) -> Estimate:
    """Return the area under the curve with its interval; without one where there are not two of each outcome."""
    value = ranking(outcomes, probabilities)
    completed = sum(outcomes)
    failed = len(outcomes) - completed
    if value is None or min(completed, failed) < _FEWEST:
        return Estimate(value=value, low=None, high=None, sample=len(outcomes))
    better, worse = value / (2 - value), 2 * value * value / (1 + value)
    square = value * value
    variance = value * (1 - value) + (completed - 1) * (better - square) + (failed - 1) * (worse - square)
    margin = _Z * math.sqrt(max(variance, 0.0) / (completed * failed))
    return Estimate(value=value, low=max(0.0, value - margin), high=min(1.0, value + margin), sample=len(outcomes))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal ones share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = (start + end) / 2 + 1
        start = end + 1
    return ranks
