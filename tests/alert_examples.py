"""Sessions and streams to try the watch on quality with: observations, series of values, and what became of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from grader_daemon.alerts.baseline import Baseline, Totals
from grader_daemon.alerts.causes import Member
from grader_daemon.alerts.detector import Alarm, DetectorState, begin, observe
from grader_daemon.alerts.watch import Alarmed
from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, Observation, Stream, StreamDrop
from grader_daemon.domain.analysis import ToolUse
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.rules import AlertRules, ThresholdRule
from grader_daemon.rules import load_rules

START: Final = datetime(2026, 9, 1, tzinfo=UTC)
SHIPPED: Final = load_rules().alerts
HASTY: Final = msgspec.structs.replace(
    SHIPPED,
    arming_sessions=10,
    drops=(0.25, 0.5),
    months_per_false_alarm=1,
    months_per_false_recovery=1,
    forget_days=5,
)
"""Rules that need few sessions for everything, so that short series show everything."""

OVERALL: Final = Stream(Metric.ENDED_BADLY, Dimension.OVERALL, "")


def at(days: float) -> datetime:
    """So many days after the first session."""
    return START + timedelta(days=days)


def observation(days: float = 0.0, **changes: Any) -> Observation:
    """A good session without tool calls that ended so many days after the first one, but for `changes`."""
    base = Observation(
        session_id=f"s{days:08.3f}",
        ended_at=at(days),
        ended_on=at(days).date().isoformat(),
        task_type="general",
        model=None,
        platform=None,
        ended_badly=False,
        efficiency=5,
        quality=5,
        tool_calls=0,
        failures=0,
        tools=(),
    )
    return msgspec.structs.replace(base, **changes)


def bad_observation(days: float = 0.0, **changes: Any) -> Observation:
    """A session in which everything went wrong, but for `changes`."""
    return observation(days, **{"ended_badly": True, "efficiency": 1, "quality": 1, **changes})


def use(tool: str, calls: int = 1, failures: int = 0) -> ToolUse:
    """How a tool did."""
    return ToolUse(tool, calls, failures)


def member(value: float, days: float = 0.0, **changes: Any) -> Member:
    """A session of a stream with its value there."""
    return Member(observation(days, **changes), value)


def of_ten(number: int, good: int) -> bool:
    """Whether this is one of the `good` in ten sessions that do not end badly. They are spread evenly."""
    return number * 7 % 10 < good


def phase(first: float, last: float, *, good: int, a_day: int = 20, **changes: Any) -> list[Observation]:
    """Sessions spread evenly over days, of which so many in ten do not end badly."""
    return [
        observation(first + number / a_day, ended_badly=not of_ten(number, good), **changes)
        for number in range(round((last - first) * a_day))
    ]


# -- the detector --------------------------------------------------------------------------------------------------


def coins(rate: float, count: int, *, seed: int) -> list[float]:
    """Values of 1 with the probability `rate`, else 0."""
    rng = random.Random(seed)
    return [float(rng.random() < rate) for _ in range(count)]


def evenly(rate: float, count: int) -> list[float]:
    """Values of 1 and 0, of which the part `rate` is 1 in every stretch."""
    return [float(int((number + 1) * rate + 1e-9) > int(number * rate + 1e-9)) for number in range(count)]


def steps(
    values: Iterable[float],
    *,
    state: DetectorState | None = None,
    first_day: int = 0,
    a_day: int = 20,
    part: float = 1.0,
    rules: AlertRules = SHIPPED,
) -> Iterator[DetectorState]:
    """The states after each of the values, of which `a_day` come a day, from midnight on."""
    state = state or begin(first_day)
    for number, value in enumerate(values):
        day, place = divmod(number, a_day)
        when = at(first_day + day + place / a_day)
        state = observe(state, value, at=when, day=first_day + day, part=part, rules=rules)
        yield state


def final(values: Sequence[float], **settings: Any) -> DetectorState:
    """The state after all of the values."""
    *_, last = steps(values, **settings)
    return last


def first_alarm(states: Iterable[DetectorState]) -> int | None:
    """After how many values there was an alarm."""
    return next((number for number, state in enumerate(states, start=1) if state.alarm is not None), None)


def baseline_of(state: DetectorState) -> Baseline:
    """The baseline of a stream that has one."""
    assert state.baseline is not None
    return state.baseline


def alarm_of(state: DetectorState) -> Alarm:
    """The alarm of a stream whose alarm stands."""
    assert state.alarm is not None
    return state.alarm


# -- alarms and alerts ---------------------------------------------------------------------------------------------


def totals(*values: float) -> Totals:
    """The sums over values."""
    return Totals(len(values), sum(values), sum(value * value for value in values))


def alarmed(
    stream: Stream = OVERALL,
    *,
    normal: Totals | None = None,
    since: Totals | None = None,
    began: float = 10.0,
    raised: float = 12.0,
) -> Alarmed:
    """An alarm, by default of a fall from 90 to 60 in a hundred."""
    normal = normal or totals(*evenly(0.9, 100))
    since = since or totals(*evenly(0.6, 100))
    mean, _ = normal.moments()
    return Alarmed(
        stream=stream,
        at=at(raised),
        alarm=Alarm(
            raised_at=at(raised),
            began_at=at(began),
            evidence=1e6,
            threshold=1e5,
            since=since,
            bad=since,
            level=0.6,
            stake=1.0,
        ),
        baseline=Baseline(made_on=0, days=10, values=normal, bound=mean, floor=mean / 2, dispersion=1.0, stakes=(1.0,)),
    )


def stream_drop(metric: Metric, before: float, since: float) -> StreamDrop:
    """A drop of an overall metric, on its own scale."""
    return StreamDrop(
        stream=Stream(metric, Dimension.OVERALL, ""),
        before=Estimate(value=before, low=before, high=before, sample=100),
        since=Estimate(value=since, low=since, high=since, sample=100),
        began_at=at(10),
    )


def alert(**changes: Any) -> Alert:
    """An open alert of the overall bad endings that is no more than a warning, but for `changes`."""
    base = Alert(
        number=1,
        kind=AlertKind.DEGRADATION,
        level=AlertLevel.WARNING,
        drops=(stream_drop(Metric.ENDED_BADLY, 0.1, 0.2),),
        opened_at=at(12),
        began_at=at(10),
    )
    return msgspec.structs.replace(base, **changes)


def threshold(**changes: Any) -> ThresholdRule:
    """Half of the sessions of a week fail, but for `changes`."""
    fields: dict[str, Any] = {
        "name": "half fails",
        "metric": Metric.COMPLETION_RATE,
        "below": 0.5,
        "clear": 0.6,
        "days": 7,
        "sessions": 10,
    }
    return ThresholdRule(**{**fields, **changes})
