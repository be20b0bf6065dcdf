"""Detect that a stream of values degraded, by a sequential test whose false-alarm rate holds at any number of looks.

A mixture of Shiryaev-Roberts e-detectors (Shin, Ramdas and Rinaldo, 2022): while the mean is not below the baseline's
bound m0, no bet `1 + lambda * (m0 - value)` gains on average, so the evidence `R = (1 + R) * bet` grows by one a
session at most, and exceeds a threshold of n sessions once in n sessions at most. The bets are to the power of 1/phi,
because sessions of one day are alike. Per lambda a CUSUM, the product of the same bets since it was lowest, tells when
the drop began.

After an alarm a bet the other way round waits for the stream to come back: against the bad level, fit for the way up to
m0, so that it gains above the middle between both and loses below. What is bad is learned from the values that are no
part of a recovery, so it gets more certain while the alarm stands.
"""

from __future__ import annotations

from datetime import datetime
from math import sqrt

import msgspec
from msgspec.structs import replace

from grader_daemon.alerts.baseline import BOUND_Z, Baseline, Day, Totals, a_month, is_due, make_baseline, stake, total
from grader_daemon.domain.rules import AlertRules

_FEWEST_A_DAY = 4
"""A shorter day goes on into the next: a stream of a few sessions a week is armed as well, and chi-squared holds."""

_QUIET_CLIMB = 5.0
"""Highest CUSUM at which a baseline is renewed: above it a drop may be beginning, and would be learned as normal."""

_SMALLEST_GAP = 0.03
"""Smallest gap between m0 and a level that counts as bad; a smaller one would never be told from m0."""


class Start(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Start of a CUSUM's climb: with the session that ended `at`, after the values `before`."""

    at: datetime
    before: Totals


class Alarm(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A drop, found at `raised_at`, that seems to have begun with the session that ended at `began_at`.

    `since` sums the values from there to the alarm. While it stands, `bad` sums those since then that are no part of a
    recovery and `better` those that may be; `climb` is the CUSUM of the recovery, `stake` its lambda against `level`.
    """

    raised_at: datetime
    began_at: datetime
    evidence: float
    threshold: float
    since: Totals
    bad: Totals
    level: float
    stake: float
    better: Totals = Totals()
    climb: float = 1.0


class DetectorState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All that is known of a stream.

    `day` is the last that was seen. `seen` sums the values, `morning` those before the day `began_day` that is being
    gathered, `days` are those gathered before it. `monthly` estimates the sessions of a month. Once there is a
    baseline, `evidence` (R >= 0), `climbs` (CUSUMs >= 1) and `starts` (of the climbs) are one for each of its stakes.
    """

    day: int
    began_day: int
    morning: Totals = Totals()
    seen: Totals = Totals()
    days: tuple[Day, ...] = ()
    monthly: float = 0.0
    baseline: Baseline | None = None
    evidence: tuple[float, ...] = ()
    climbs: tuple[float, ...] = ()
    starts: tuple[Start | None, ...] = ()
    alarm: Alarm | None = None


_decode = msgspec.json.Decoder(DetectorState).decode


def read_state(content: bytes, *, today: int, drops: int) -> DetectorState | None:
    """Read a state that was kept; None for one of another version, or for another number of drops than the rules have.

    One whose last day was that of a clock that was ahead is read as if that had been `today`.
    """
    try:
        state = _decode(content)
    except msgspec.MsgspecError:
        return None
    if not _fits(state, drops):
        return None
    return state if state.day <= today else _brought_back(state, today)


def begin(day: int) -> DetectorState:
    """Return the state of a stream on the day of its first session."""
    return DetectorState(day=day, began_day=day)


def observe(
    state: DetectorState, value: float, *, at: datetime, day: int, part: float, rules: AlertRules
) -> DetectorState:
    """Return the state after one more session, of `value` 0 to 1, higher is better; for `part` see `budget`.

    Sessions come in the order in which they ended; a day that lies before the last one counts as the last one.
    """
    if day > state.day:
        state = _next_day(state, day, rules=rules)
    if state.alarm is not None:
        return _await_recovery(state, state.alarm, value=value, rules=rules)
    seen = _with(state.seen, value)
    if state.baseline is None:
        return _gather(state, seen, rules=rules)
    return _watch(state, state.baseline, value=value, seen=seen, at=at, part=part, rules=rules)


def learn(state: DetectorState, value: float, *, day: int, rules: AlertRules) -> DetectorState:
    """Return the state after a session of the past: it tells what is normal, and is no evidence of a drop.

    A stream that only learned is armed by the first session that it observes.
    """
    if day > state.day:
        state = _next_day(state, day, rules=rules)
    return state if state.alarm is not None else replace(state, seen=_with(state.seen, value))


def evidence_of(state: DetectorState) -> float:
    """Return the evidence of a drop, >= 0: the mean over all stakes, which is what the threshold is compared with."""
    return sum(state.evidence) / len(state.evidence) if state.evidence else 0.0


def _with(seen: Totals, value: float) -> Totals:
    return Totals(seen.sessions + 1, seen.total + value, seen.squares + value * value)


def _next_day(state: DetectorState, day: int, *, rules: AlertRules) -> DetectorState:
    today = state.seen - state.morning
    if today.sessions < _FEWEST_A_DAY:
        return replace(state, day=day)
    days = (*state.days, Day(state.began_day, today))[-rules.baseline_days :]
    state = replace(state, day=day, began_day=day, morning=state.seen, days=days)
    if state.baseline is None or total(days).sessions < rules.arming_sessions:
        return state
    monthly = a_month(days, until=day, rules=rules)
    if not is_due(state.baseline, days, today=day, rules=rules) or max(state.climbs) > _QUIET_CLIMB:
        return replace(state, monthly=monthly)
    baseline = make_baseline(days, made_on=day, floor=state.baseline.floor, rules=rules)
    state = replace(state, monthly=monthly, baseline=baseline)
    return state if len(baseline.stakes) == len(state.evidence) else _armed(state, baseline)


def _gather(state: DetectorState, seen: Totals, *, rules: AlertRules) -> DetectorState:
    """Arm the stream as soon as there are values enough, on whatever day; its days are looked at later."""
    if seen.sessions < rules.arming_sessions:
        return replace(state, seen=seen)
    days = (*state.days, Day(state.began_day, seen - state.morning))
    baseline = make_baseline(days, made_on=state.day, floor=0.0, rules=rules)
    monthly = a_month(days, until=state.day + 1, rules=rules)
    return _armed(replace(state, seen=seen, monthly=monthly), baseline)


def _armed(state: DetectorState, baseline: Baseline) -> DetectorState:
    """Begin to watch without any evidence."""
    stakes = len(baseline.stakes)
    return replace(state, baseline=baseline, evidence=(0.0,) * stakes, climbs=(1.0,) * stakes, starts=(None,) * stakes)


def _watch(
    state: DetectorState,
    baseline: Baseline,
    *,
    value: float,
    seen: Totals,
    at: datetime,
    part: float,
    rules: AlertRules,
) -> DetectorState:
    gap = baseline.bound - value
    power = 1 / baseline.dispersion
    evidence, climbs, starts = [], [], state.starts
    for amount, gathered, climb in zip(baseline.stakes, state.evidence, state.climbs, strict=True):
        bet = (1 + amount * gap) ** power
        evidence.append((1 + gathered) * bet)
        grown = climb * bet
        climbs.append(grown if grown > 1 else 1.0)
    if gap > 0 and 1.0 in state.climbs:
        starts = _started(state, at)
    state = replace(state, seen=seen, evidence=tuple(evidence), climbs=tuple(climbs), starts=starts)
    threshold = rules.months_per_false_alarm * state.monthly / part
    if sum(evidence) <= threshold * len(evidence) or max(climbs) <= 1:
        return state  # without a climb there was no drop: evidence alone also grows where bets neither win nor lose
    return _raise(state, baseline, at=at, threshold=threshold)


def _started(state: DetectorState, at: datetime) -> tuple[Start | None, ...]:
    """Return where climbs began: those that had not begin with the session after `state`."""
    here = Start(at, state.seen)
    return tuple([here if climb == 1 else start for climb, start in zip(state.climbs, state.starts, strict=True)])


def _raise(state: DetectorState, baseline: Baseline, *, at: datetime, threshold: float) -> DetectorState:
    """Raise the alarm. The gathered days are let go, because the last of them were bad ones already."""
    start = state.starts[state.climbs.index(max(state.climbs))]
    assert start is not None
    since = state.seen - start.before
    level, amount = _aim(since, baseline)
    alarm = Alarm(
        raised_at=at,
        began_at=start.at,
        evidence=evidence_of(state),
        threshold=threshold,
        since=since,
        bad=since,
        level=level,
        stake=amount,
    )
    return replace(state, morning=state.seen, days=(), alarm=alarm)


def _await_recovery(state: DetectorState, alarm: Alarm, *, value: float, rules: AlertRules) -> DetectorState:
    assert state.baseline is not None
    climb = alarm.climb * (1 + alarm.stake * (value - alarm.level)) ** (1 / state.baseline.dispersion)
    if climb > rules.months_per_false_recovery * state.monthly:
        # watched afresh, against the same baseline until as many new days have been gathered
        return _armed(replace(state, began_day=state.day, alarm=None), replace(state.baseline, made_on=state.day))
    better = alarm.better + Totals(1, value, value * value)
    if climb > 1:
        return replace(state, alarm=replace(alarm, climb=climb, better=better))
    bad = alarm.bad + better
    level, amount = _aim(bad, state.baseline)
    alarm = replace(alarm, bad=bad, level=level, stake=amount, better=Totals(), climb=1.0)
    return replace(state, alarm=alarm)


def _aim(bad: Totals, baseline: Baseline) -> tuple[float, float]:
    """Return the level that is bad, and the lambda for the way back to the baseline's bound.

    The level is the upper 10 % bound of the mean: the values by which a drop was found were lower than it is by chance.
    """
    mean, variance = bad.moments()
    mean += BOUND_Z * sqrt(baseline.dispersion * variance / bad.sessions)
    level = max(0.0, min(mean, baseline.bound - _SMALLEST_GAP))
    return level, stake(baseline.bound - level, variance=variance, room=max(level, _SMALLEST_GAP))


def _fits(state: DetectorState, drops: int) -> bool:
    if state.baseline is None:
        return True
    return {len(state.baseline.stakes), len(state.evidence), len(state.climbs), len(state.starts)} == {drops}


def _brought_back(state: DetectorState, today: int) -> DetectorState:
    baseline = state.baseline
    if baseline is not None:
        baseline = replace(baseline, made_on=min(baseline.made_on, today))
    return replace(
        state,
        day=today,
        began_day=min(state.began_day, today),
        days=tuple([day for day in state.days if day.number <= today]),
        baseline=baseline,
    )
