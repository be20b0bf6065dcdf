"""Simulated sessions for the benchmark of alerts, and the detectors that look at them.

Everything has a seed. A `World` is one stream of values; a `Product` is what the daemon watches where the ordinary
number of groups is in use: all sessions, two task types, one model, one tool, which make 18 streams.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from grader_daemon.alerts.detector import DetectorState, begin, observe
from grader_daemon.alerts.settlement import home, opened
from grader_daemon.alerts.watch import Alarmed, part_of, watch
from grader_daemon.domain.alert import Alert, Observation, Stream
from grader_daemon.domain.analysis import ToolUse
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.rules import AlertRules
from grader_daemon.rules import load_rules

SPREAD = 0.03
"""The standard deviation of the rates of days, where days differ."""

WARM = 28
MONTH = 30
YEAR = 360
"""Days."""

_NORMAL, _BAD = 0.85, 0.70
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_COMPLETION = Stream(Metric.ENDED_BADLY, Dimension.OVERALL, "")
_COINS, _CALLS, _WITH_TOOL = 4, 5, 0.7
_OTHERS = ((0.8, _COINS), (0.6, _COINS), (0.9, _CALLS))
"""Efficiency, quality and calls that work: their rates, and the coins that make a value."""

Days = list[list[float]]
Method = Callable[[Days, Days], Iterator[int]]
"""Takes the days before and the days that count; gives the number of sessions of these after which each alarm came."""


@dataclass(frozen=True, slots=True)
class World:
    """Sessions as they come: each day has a rate, `warm` days that of the first; `coins` make a value.

    `spread` is the standard deviation of a day's rate, `repeats` the number of sessions in a row that are alike.
    `since` gives the rate of the days after the warm ones.
    """

    a_day: int = 20
    normal: float = _NORMAL
    since: Callable[[int], float] | None = None
    warm: int = WARM
    days: int = MONTH
    spread: float = 0.0
    coins: int = 1
    repeats: int = 1

    def play(self, seed: int) -> tuple[Days, Days]:
        """Give the values of the warm days, and of those that count."""
        rng = random.Random(f"{self.a_day} {self.spread} {seed}")
        warm = [self._day(rng, self.normal) for _ in range(self.warm)]
        rates = [self.normal if self.since is None else self.since(day) for day in range(self.days)]
        return warm, [self._day(rng, rate) for rate in rates]

    def _day(self, rng: random.Random, rate: float) -> list[float]:
        rate = rng.gauss(rate, self.spread)
        values: list[float] = []
        while len(values) < self.a_day:
            values += [sum([rng.random() < rate for _ in range(self.coins)]) / self.coins] * self.repeats
        return values[: self.a_day]


@cache
def rules() -> AlertRules:
    """Give the shipped rules."""
    return load_rules().alerts


def bad(_day: int) -> float:
    """Give the rate of a day after a sudden drop."""
    return _BAD


def steadily(rate: float, _day: int) -> float:
    """Give the rate of a day when it stays the same."""
    return rate


def declining(day: int) -> float:
    """Give the rate of a day when the drop takes 120 days."""
    return _NORMAL - (_NORMAL - _BAD) * min(1.0, day / 120)


def bad_for_a_quarter(day: int) -> float:
    """Give the rate of a day when it is bad for 90 days, and normal again."""
    return _BAD if day < 3 * MONTH else _NORMAL


def turns(warm: Days, days: Days) -> Iterator[tuple[int, bool]]:
    """Run the detector; give the sessions of `days` after which an alarm was raised (True) or ended (False)."""
    state = begin(0)
    part = part_of(_COMPLETION, groups=0, rules=rules())
    position = -sum(map(len, warm))
    for day, values in enumerate((*warm, *days)):
        for value in values:
            stood = state.alarm is not None
            state = observe(state, value, at=_NOW, day=day, part=part, rules=rules())
            position += 1
            if stood != (state.alarm is not None):
                yield position, not stood


def ours(warm: Days, days: Days) -> Iterator[int]:
    """Give the alarms of the detector as it watches the completion rate of all sessions, with its part."""
    return (position for position, raised in turns(warm, days) if raised and position > 0)


def one_day(warm: Days, days: Days) -> Iterator[int]:
    """Compare each day with the mean before: 0.15 less is an alarm."""
    limit = _mean(warm) - 0.15
    return _onsets(days, [statistics.fmean(day) < limit for day in days])


def seven_days(warm: Days, days: Days) -> Iterator[int]:
    """Compare the mean of the last seven days with the mean before: 0.10 less is an alarm."""
    limit = _mean(warm) - 0.10
    known = (*warm, *days)
    ends = range(len(warm) + 1, len(known) + 1)
    return _onsets(days, [_mean(known[end - 7 : end]) < limit for end in ends])


def shewhart(warm: Days, days: Days) -> Iterator[int]:
    """Draw a chart of daily means with a limit at three standard errors."""
    mean = _mean(warm)
    return _onsets(days, [statistics.fmean(day) < mean - 3 * math.sqrt(mean * (1 - mean) / len(day)) for day in days])


def ewma(warm: Days, days: Days) -> Iterator[int]:
    """Smooth session by session with a weight of 0.02; the limit is at three standard errors."""
    weight, mean = 0.02, _mean(warm)
    limit = mean - 3 * math.sqrt(mean * (1 - mean) * weight / (2 - weight))
    smoothed = mean
    for position, value in enumerate(_values(days), start=1):
        smoothed += weight * (value - smoothed)
        if smoothed < limit:
            yield position
            smoothed = mean


def cusum(warm: Days, days: Days) -> Iterator[int]:
    """Add up the likelihood ratio of a rate that is 0.15 lower; the threshold is a year of sessions."""
    mean = _mean(warm)
    good, poor = math.log((mean - 0.15) / mean), math.log((1.15 - mean) / (1 - mean))
    threshold = math.log(YEAR * len(days[0]))
    climb = 0.0
    for position, value in enumerate(_values(days), start=1):
        climb = max(0.0, climb + (good if value else poor))
        if climb > threshold:
            yield position
            climb = 0.0


METHODS: dict[str, Method] = {
    "the same, one stream": ours,
    "one-day drop": one_day,
    "7-day mean": seven_days,
    "Shewhart chart": shewhart,
    "EWMA(0.02)": ewma,
    "CUSUM": cusum,
}


def _mean(days: Sequence[list[float]]) -> float:
    return sum(map(sum, days)) / sum(map(len, days))


def _values(days: Days) -> Iterable[float]:
    return (value for day in days for value in day)


def _onsets(days: Days, alarms: Sequence[bool]) -> Iterator[int]:
    """Give the sessions at the end of each day that has an alarm, and did not have one the day before."""
    position, before = 0, False
    for day, alarm in zip(days, alarms, strict=True):
        position += len(day)
        if alarm and not before:
            yield position
        before = alarm


@dataclass(frozen=True, slots=True)
class Product:
    """Sessions of two task types, a model and a tool, as the watch of the daemon takes them up: 18 streams.

    Each metric goes its own way, which gives the most false alarms. `spread` is the standard deviation of a day's
    completion rate; the other metrics have the same part of their variance between days, or, `wild`, the same spread.
    """

    a_day: int = 20
    spread: float = 0.0
    wild: bool = False
    drop: bool = False
    days: int = MONTH

    def alerts(self, seed: int) -> Iterator[int]:
        """Give the number of sessions after which each alert opened, since the drop or the end of the warm days."""
        states: dict[Stream, DetectorState] = {}
        told: list[Alert] = []
        for day in self._days(seed):
            found = watch(states, day, since=_NOW, rules=rules())
            states |= found.states
            for event in found.events:
                if isinstance(event, Alarmed) and home(event, told) is None:
                    told.append(opened(event, rules=rules()))
                    number = round((event.at - _NOW) / _DAY * self.a_day) + 1 - WARM * self.a_day
                    if number > 0:
                        yield number

    def _days(self, seed: int) -> Iterator[list[Observation]]:
        rng = random.Random(f"product {self.a_day} {self.spread} {seed}")
        for day in range(WARM + self.days):
            completion = _BAD if self.drop and day >= WARM else _NORMAL
            rates = [self._rate(rng, completion, 1)]
            rates += [self._rate(rng, rate, coins) for rate, coins in _OTHERS]
            ends = [_NOW + _DAY * (day + number / self.a_day) for number in range(self.a_day)]
            yield [_session(rng, rates, at=end) for end in ends]

    def _rate(self, rng: random.Random, rate: float, coins: int) -> float:
        variance = rate * (1 - rate) / coins
        share = 1.0 if self.wild else math.sqrt(variance / (_NORMAL * (1 - _NORMAL)))
        return rng.gauss(rate, self.spread * share)


def _session(rng: random.Random, rates: Sequence[float], *, at: datetime) -> Observation:
    completion, efficiency, quality, working = rates
    failures = _CALLS - _heads(rng, working, _CALLS)
    return Observation(
        session_id="",
        ended_at=at,
        ended_on=at.date().isoformat(),
        task_type=rng.choice(("debugging", "research")),
        model="hermes",
        platform=None,
        ended_badly=rng.random() >= completion,
        efficiency=1 + _heads(rng, efficiency, _COINS),
        quality=1 + _heads(rng, quality, _COINS),
        tool_calls=_CALLS,
        failures=failures,
        tools=(ToolUse("terminal", _CALLS, failures),) if rng.random() < _WITH_TOOL else (),
    )


def _heads(rng: random.Random, rate: float, coins: int) -> int:
    return sum([rng.random() < rate for _ in range(coins)])


@dataclass(frozen=True, slots=True)
class Jobs:
    """Scheduled jobs as the watch of the daemon takes them up, each with runs that end well at a rate of its own.

    `spread` is the standard deviation of a day's rate. From the end of the warm days on the first job has the rate
    `fallen_to`, if there is one.
    """

    jobs: int = 5
    a_day: int = 1
    normal: float = 0.93
    fallen_to: float | None = None
    spread: float = 0.0
    warm: int = WARM
    days: int = MONTH

    def alerts(self, seed: int) -> Iterator[tuple[int, str]]:
        """Give the number of days after which each alert opened since the warm days, with the job that it names."""
        states: dict[Stream, DetectorState] = {}
        told: list[Alert] = []
        since = _NOW + _DAY * self.warm
        for day in self._days(seed):
            found = watch(states, day, since=since, rules=rules())
            states = {stream: state for stream, state in {**states, **found.states}.items() if stream not in found.gone}
            for event in found.events:
                if isinstance(event, Alarmed) and home(event, told) is None:
                    told.append(opened(event, rules=rules()))
                    yield (event.at - since).days + 1, event.stream.name

    def _days(self, seed: int) -> Iterator[list[Observation]]:
        rng = random.Random(f"jobs {self.jobs} {self.a_day} {self.normal} {self.spread} {seed}")
        for day in range(self.warm + self.days):
            fell = self.fallen_to is not None and day >= self.warm
            runs = []
            for number in range(self.jobs):
                rate = self.fallen_to if self.fallen_to is not None and fell and number == 0 else self.normal
                rate, working = rng.gauss(rate, self.spread), rng.gauss(0.95, self.spread)
                ends = [_NOW + _DAY * (day + (each + number / self.jobs) / self.a_day) for each in range(self.a_day)]
                runs += [_run(rng, f"job {number}", rate, working, at=end) for end in ends]
            yield sorted(runs, key=lambda run: run.ended_at)


def _run(rng: random.Random, job: str, rate: float, working: float, *, at: datetime) -> Observation:
    well = rng.random() < rate
    return Observation(
        session_id="",
        ended_at=at,
        ended_on=at.date().isoformat(),
        task_type="general",
        model="hermes",
        platform="cron",
        ended_badly=not well,
        efficiency=1 + _heads(rng, 0.8, _COINS),
        quality=1 + _heads(rng, 0.6, _COINS),
        tool_calls=_CALLS,
        failures=_CALLS - _heads(rng, working, _CALLS),
        tools=(),
        scheduled=True,
        job=job,
    )
