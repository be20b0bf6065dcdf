"""The normal level of a stream: gathered day by day, then frozen while it is watched.

Days are the unit of chance, not sessions: retries of one task, an outage, a person's working day make the sessions of a
day alike. The dispersion phi says by how much the days differ more than their sessions explain.

What it cannot see: a stream that was bad from its first day on; and a decline so slow that it stays within a month's
chance, until it has left the highest level behind that is certain (`Baseline.floor`), from where on it is a drop.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Self

import msgspec

from grader_daemon.domain.rules import AlertRules

BOUND_Z = 1.2815515655446004
"""The 90 % quantile of the normal distribution: in nine baselines of ten the mean is above the bound."""

_FLOOR_Z = 4.0
"""Standard errors below the mean: one baseline in 30,000 is wrong by more; 3.1 gave every fifth false alarm in
simulations.
"""

_DAY_SPREAD = 0.03
_MOST_BELIEVED = 10
"""Most days' worth of the belief, until days show otherwise, that their means differ by a deviation of 0.03."""

_LARGEST_LOSS = 0.9
"""Largest part of the evidence that one value may take away."""

_MONTH_DAYS = 30


class Totals(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Sums over values between 0 and 1."""

    sessions: int = 0
    total: float = 0.0
    squares: float = 0.0

    def __add__(self, other: Self) -> Self:
        """Field by field."""
        return type(self)(self.sessions + other.sessions, self.total + other.total, self.squares + other.squares)

    def __sub__(self, other: Self) -> Self:
        """Field by field."""
        return type(self)(self.sessions - other.sessions, self.total - other.total, self.squares - other.squares)

    def moments(self) -> tuple[float, float]:
        """Return mean and variance with half a value of 0 and half of 1 added, as Jeffreys' prior does.

        The mean is never 0 or 1, and the variance never 0.
        """
        sessions = self.sessions + 1
        mean = (self.total + 0.5) / sessions
        return mean, max((self.squares + 0.5) / sessions - mean * mean, 0.25 / sessions**2)


class Day(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The values of a day, numbered as `date.toordinal` does, and of those after it when it was short."""

    number: int
    values: Totals


class Baseline(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The normal level since the day `made_on`, by `values`; `days` counts the days that showed the dispersion.

    `bound` is the lower 10 % credible bound of the mean. `floor` is the highest bound of one in 30,000 that the stream
    ever had; `bound` is never below it, so that a slow decline is not learned as normal, one baseline after the other.
    `dispersion` (phi >= 1) is chi-squared of the days by its degrees of freedom. `stakes` are the lambda of the
    detector, one for each drop of the rules.
    """

    made_on: int
    days: int
    values: Totals
    bound: float
    floor: float
    dispersion: float
    stakes: tuple[float, ...]


def make_baseline(days: Sequence[Day], *, made_on: int, floor: float, rules: AlertRules) -> Baseline:
    """Estimate what is normal from days, oldest first: the mean by the newest, the dispersion by all."""
    values = total(_newest(days, sessions=rules.baseline_sessions))
    mean, variance = values.moments()
    is_lone = total(days).sessions * _MONTH_DAYS <= rules.lone_a_month * max(1, made_on - days[0].number)
    dispersion = 1.0 if is_lone else _dispersion(days)
    error = sqrt(dispersion * variance / values.sessions)
    floor = max(floor, mean - _FLOOR_Z * error)
    bound = max(floor, mean - BOUND_Z * error)
    return Baseline(
        made_on=made_on,
        days=len(days),
        values=values,
        bound=bound,
        floor=floor,
        dispersion=dispersion,
        stakes=tuple([stake(drop, variance=variance, room=1 - bound) for drop in rules.drops]),
    )


def is_due(baseline: Baseline, days: Sequence[Day], *, today: int, rules: AlertRules) -> bool:
    """Return whether a new baseline would know twice as many days, or all that there can be, or a later time.

    More often would be better for the estimate, but each time a drop that has just begun is learned as normal.
    """
    wanted = min(2 * baseline.days, rules.baseline_days)
    return len(days) >= wanted > baseline.days or today - baseline.made_on >= rules.baseline_days


def stake(change: float, *, variance: float, room: float) -> float:
    """Return the lambda with which evidence of a change grows fastest, if values can be off by `room` the other way.

    For values of 0 and 1 with the mean m, `change / (m * (1 - m))` makes the evidence the likelihood ratio.
    """
    return min(change / variance, _LARGEST_LOSS / room)


def total(days: Sequence[Day]) -> Totals:
    """Add the values of days."""
    return sum([day.values for day in days], Totals())


def a_month(days: Sequence[Day], *, until: int, rules: AlertRules) -> float:
    """Estimate the sessions of a month from those on days before the day `until`, at least `rules.fewest_a_month`."""
    span = max(1, until - days[0].number)
    return max(rules.fewest_a_month, total(days).sessions * _MONTH_DAYS / span)


def _newest(days: Sequence[Day], *, sessions: int) -> Sequence[Day]:
    """Return the last days, as few of them as hold so many sessions."""
    first = len(days)
    while first > 0 and sessions > 0:
        first -= 1
        sessions -= days[first].values.sessions
    return days[first:]


def _dispersion(days: Sequence[Day]) -> float:
    """Return the 90 % bound of chi-squared by its degrees of freedom, >= 1.

    It is pulled up to what a spread of 0.03 would make of it, with the weight of as many days as chance needs to move
    it so far: one or two where a day has hundreds of sessions and shows its spread at once, the most where it has few.
    """
    values = total(days)
    mean, variance = values.moments()
    squares = sum([(day.values.total - day.values.sessions * mean) ** 2 / day.values.sessions for day in days])
    freedom = len(days) - 1
    excess = values.sessions / len(days) * _DAY_SPREAD**2 / variance
    believed = min(_MOST_BELIEVED, 2 * (1 + excess) / excess**2)
    pulled = (squares / variance + believed * (1 + excess)) / (freedom + believed)
    likely = max(1.0, pulled, squares / variance / max(1, freedom))
    return likely + (likely - 1) * BOUND_Z * sqrt(2 / (freedom + believed))
