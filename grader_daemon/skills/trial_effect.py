"""Effect of a trial: sessions with a skill or a prompt file against those without it. Pure.

The coin is tossed once for all sessions between two draws, so these are one value, their mean. The interval of the
difference may be looked at as often as one likes, and the trial be stopped by it.

Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Annals of Statistics 52 (2024), for the sequence of intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.estimate import Estimate, Figure, figure, mean

FEWEST_DRAWS: Final = 10
"""Fewest draws with sessions on each side; below them the sequence of intervals is not one yet."""

_CHANCE: Final = 0.05
_PLANNED: Final = 200.0
"""Draws at which the interval is the narrowest: those that tell about 20 points."""

_NARROWING: Final = (-2 * math.log(_CHANCE) + math.log(-2 * math.log(_CHANCE)) + 1) / _PLANNED


class Drawn(NamedTuple):
    """One draw: whether the sessions had the file, and how many of them failed."""

    on: bool
    sessions: int
    failed: int


class TrialEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Effect of a skill or a prompt file on the share of sessions that failed.

    sessions_with, sessions_without: number of finished sessions on each side.
    draws_with, draws_without: number of draws that have such sessions.
    failed: the share that failed: `now` with it, `before` without it, and the change, whose range holds however often
        it is checked; no value where a side has fewer than ten draws.
    is_sure: the range of the change leaves out 0: the trial can be stopped.
    """

    sessions_with: int
    sessions_without: int
    draws_with: int
    draws_without: int
    failed: Figure
    is_sure: bool


def effect_of(draws: Sequence[Drawn]) -> TrialEffect:
    """Return the effect by all draws of a trial; one without a session counts as none."""
    having = [[each for each in draws if each.sessions and each.on is on] for on in (True, False)]
    sides = [[each.failed / each.sessions for each in side] for side in having]
    rates = [_rate(side) for side in sides]
    compared = figure(*rates)
    if compared.change.value is not None:
        compared = msgspec.structs.replace(compared, change=_change(*sides))
    change = compared.change
    with_it, without = having
    return TrialEffect(
        sessions_with=sum(each.sessions for each in with_it),
        sessions_without=sum(each.sessions for each in without),
        draws_with=len(with_it),
        draws_without=len(without),
        failed=compared,
        is_sure=change.low is not None and change.high is not None and (change.low > 0 or change.high < 0),
    )


def _rate(values: Sequence[float]) -> Estimate:
    squares = math.fsum(value * value for value in values)
    return mean(math.fsum(values), squares, len(values), lowest=0.0, highest=1.0, fewest=FEWEST_DRAWS)


def _change(with_it: Sequence[float], without: Sequence[float]) -> Estimate:
    """Return the difference of means with a range that holds at all times together."""
    value, sample = fmean(with_it) - fmean(without), len(with_it) + len(without)
    spread = sample * (_variance(with_it) / len(with_it) + _variance(without) / len(without))
    grown = sample * _NARROWING + 1
    margin = math.sqrt(2 * spread * grown / (sample**2 * _NARROWING) * math.log(math.sqrt(grown) / _CHANCE))
    return Estimate(
        value=value,
        low=max(-1.0, value - margin),
        high=min(1.0, value + margin),
        sample=min(len(with_it), len(without)),
    )


def _variance(values: Sequence[float]) -> float:
    """Return the variance of values and of one more that lies a quarter from their mean, as `mean` does."""
    middle = fmean(values)
    return (math.fsum((value - middle) ** 2 for value in values) + 1 / 16) / len(values)
