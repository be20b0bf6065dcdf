"""A rate of completion over many sessions: their predictions, put right by some that were drawn by chance and judged.

A prediction can be wrong in one direction, however many there are; what was judged by chance tells how far. The labels
of a span say most of it. Those of the weeks before help, but work changes: each week costs them some of their worth,
they never count for more than the labels of the span do (or a few), and what both disagree on is taken for a change.

Sources: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382 (2023), for prediction-powered inference;
Angelopoulos, Duchi and Zrnic, arXiv:2311.01453 (2023), for the weight that makes the variance least; Harvey,
Forecasting, Structural Time Series Models and the Kalman Filter (1989), for a level that drifts; Korn and Graubard,
Survey Methodology 24 (1998), for Wilson's interval at an effective sample size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final, NamedTuple

from grader_daemon.domain.estimate import Estimate, effective_proportion

_DRIFT: Final = 0.01
"""What a rate moves in a week, as a part of what one session varies: from 50 %, five points are one standard deviation.

So however many labels of last week there are, they are worth no more than 100 of this one.
"""
_CARRIED: Final = 5.0
"""What labels of earlier weeks are worth together at most, where the span has fewer of its own."""

_TOGETHER: Final = 10
"""Fewest labels of earlier weeks that are compared with those before them; fewer join those of the week before."""

_PRIOR: Final = 1.0
"""Sessions' worth of doubt that predictions tell anything, and that they are never wrong."""

_FLAT: Final = 1e-9
"""Sum of squares up to which predictions are all the same."""

_FITTED: Final = 2
"""Numbers that are taken from the labels: their rate, and the weight."""


class Drawn(NamedTuple):
    """A session drawn by chance: what a person said of it, and the probability that was predicted."""

    completed: bool
    predicted: float


class Labels(NamedTuple):
    """Sessions drawn by chance and judged: those of a span, and those of each week before it, the newest first.

    `unevenness` is how far those of a long span are off from being spread over it evenly; see `unevenness_of`.
    """

    own: Sequence[Drawn]
    older: Sequence[Sequence[Drawn]] = ()
    unevenness: float = 0.0

    @property
    def all(self) -> list[Drawn]:
        """All of them, whenever."""
        return [each for week in (self.own, *self.older) for each in week]


class Sessions(NamedTuple):
    """Sessions of a span: `rest`, that nobody judged, with the sum of their predictions, and those that are certain."""

    rest: int
    predicted: float
    judged: int = 0
    completed: int = 0


class Level(NamedTuple):
    """A rate, and how many labels it is worth."""

    mean: float
    worth: float


class _Weighing(NamedTuple):
    """The weight of predictions, 0 to 1 and more, with what is left of the variance of a session, and what they gain.

    `centre` and `spread` are the mean of the predictions of labels and the sum of squares around it.
    """

    weight: float
    variance: float
    gain: float
    centre: float
    spread: float


def corrected_rate(labels: Labels, sessions: Sessions, *, guess: Level | None = None) -> Estimate:
    """Estimate the rate among the sessions of a span, 0 to 1; `sample` counts labels.

    What is judged is certain, the interval is that of the others. A `guess` counts as so many labels, of before.
    Without any label or guess, or without sessions, there is no value.
    """
    total, sample = sessions.rest + sessions.judged, len(labels.all)
    found = _of_rest(labels, sessions, guess) if sessions.rest else (0.0, 0.0, 0.0)
    if not total or found is None:
        return Estimate(sample=sample)
    low, value, high = [(sessions.completed + sessions.rest * rate) / total for rate in found]
    return Estimate(value=value, low=low, high=high, sample=sample)


def unevenness_of(days: Sequence[int], length: int) -> float:
    """Return how far labels are off from being spread evenly over a span of `length` days; `days` are theirs, from 0.

    It is the sum of squares, over the ends of its weeks, of how far the share of labels until then is off from the
    share of days: a level that drifts makes so much of a difference.
    """
    ends = range(7, length, 7)
    return math.fsum((sum(day < end for day in days) / len(days) - end / length) ** 2 for end in ends) if days else 0.0


def _of_rest(labels: Labels, sessions: Sessions, guess: Level | None) -> tuple[float, float, float] | None:
    """Return the rate of the sessions that nobody judged, between the ends of its interval; None if nothing tells."""
    drawn, mean = labels.all, sessions.predicted / sessions.rest
    weighing = _weigh(drawn)
    before = None if guess is None else Level(guess.mean - weighing.weight * mean, guess.worth)
    level = _level(labels, weighing, before)
    if level is None:
        return None
    value = min(1.0, max(0.0, level.mean + weighing.weight * mean))
    # The rest is a sample too, and lies elsewhere than the labels: a weight that is not known exactly tells there, too.
    doubt = 1 / (level.worth * weighing.gain * _fitted(drawn)) + 1 / sessions.rest
    if weighing.weight:
        doubt += (mean - weighing.centre) ** 2 / weighing.spread
    low, high = effective_proportion(value, 1 / doubt)
    return low, value, high


def _fitted(drawn: Sequence[Drawn]) -> float:
    """Return the part of labels that is left when what is taken from them is paid for."""
    return (len(drawn) - _FITTED) / len(drawn) if len(drawn) > _FITTED else 1.0


def _weigh(drawn: Sequence[Drawn]) -> _Weighing:
    """Return the weight that makes the variance least, drawn towards 0: where it does not pay, labels speak alone.

    It is shrunk by what chance alone would make of predictions that tell nothing (James and Stein's positive part).
    """
    sample = len(drawn)
    if not sample:
        return _Weighing(0.0, 0.0, 1.0, 0.0, 0.0)
    truth, centre = fmean(each.completed for each in drawn), fmean(each.predicted for each in drawn)
    of_truth = sample * truth * (1 - truth)
    spread = math.fsum((each.predicted - centre) ** 2 for each in drawn)
    together = math.fsum((each.completed - truth) * (each.predicted - centre) for each in drawn)
    weight, explained = 0.0, together * together / spread if spread > _FLAT else 0.0
    if together > 0 and explained > 0:
        by_chance = max(0.0, of_truth - explained) / max(1, sample - _FITTED)
        weight = together / spread * max(0.0, 1 - by_chance / explained)
    left = of_truth - 2 * weight * together + weight * weight * spread
    gain = (of_truth + _PRIOR) / (left + _PRIOR)
    return _Weighing(weight, (left + _PRIOR) / (sample + 2 * _PRIOR), gain, centre, spread)


def _level(labels: Labels, weighing: _Weighing, level: Level | None) -> Level | None:
    """Return what labels say beside the weighed predictions: those of the span, and what is left of the older ones."""
    weeks_ago = len(labels.older)
    for weeks, group in _groups(labels.older):
        level = _joined(_aged(level, weeks_ago - weeks), _measured(group, weighing), weighing.variance)
        weeks_ago = weeks
    older = _aged(level, weeks_ago)
    if not labels.own:
        return _at_most(older, _CARRIED)
    own = _measured(labels.own, weighing)
    own = Level(own.mean, 1 / (1 / own.worth + _DRIFT * labels.unevenness))
    return _joined(_at_most(older, max(own.worth, _CARRIED)), own, weighing.variance)


def _groups(older: Sequence[Sequence[Drawn]]) -> list[tuple[int, list[Drawn]]]:
    """Join the labels of weeks until they are enough to compare; gives the oldest first, with how many weeks ago."""
    groups: list[tuple[int, list[Drawn]]] = []
    for weeks, week in enumerate(older, 1):
        if groups and len(groups[-1][1]) < _TOGETHER:
            groups[-1][1].extend(week)
        elif week:
            groups.append((weeks, list(week)))
    return groups[::-1]


def _measured(drawn: Sequence[Drawn], weighing: _Weighing) -> Level:
    return Level(fmean(each.completed - weighing.weight * each.predicted for each in drawn), len(drawn))


def _aged(level: Level | None, weeks: int) -> Level | None:
    """Return a level so many weeks later."""
    return None if level is None else Level(level.mean, level.worth / (1 + _DRIFT * weeks * level.worth))


def _at_most(level: Level | None, worth: float) -> Level | None:
    return None if level is None else Level(level.mean, min(level.worth, worth))


def _joined(older: Level | None, newer: Level, variance: float) -> Level:
    """Join two levels; as far as they lie apart, the older one has changed since, and is worth less."""
    if older is None:
        return newer
    apart = (newer.mean - older.mean) ** 2
    worth = min(older.worth, variance / apart) if apart > 0 else older.worth
    together = worth + newer.worth
    return Level((worth * older.mean + newer.worth * newer.mean) / together, together)
