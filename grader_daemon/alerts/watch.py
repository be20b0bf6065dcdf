"""Follows all streams at once: sessions in, what became of the detectors and what they found out.

A fold: what it gives does not depend on how the sessions were cut into batches, so a restart changes nothing.

Each stream has a part of the false alarms that are allowed: the less, the more evidence it needs. A stream with the
part p alarms by chance once in months / p at most, so all together once in that many months if the parts add up to 1,
however alike the streams are. Most goes to the metrics of all sessions, where a drop that matters shows first: with 18
streams that have equal parts, a fall of a rate from 0.85 to 0.70 is found after 151 sessions, with most for all
sessions after 120. To add up the evidence of streams that fall together gained no session more, at the same number of
false alarms (all simulated, with other seeds than those of tests/benchmarks/alerts.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime

import msgspec

from grader_daemon.alerts.baseline import Baseline
from grader_daemon.alerts.detector import Alarm, DetectorState, begin, learn, observe
from grader_daemon.alerts.streams import readings
from grader_daemon.domain.alert import Observation, Stream
from grader_daemon.domain.rollup import WATCHED, Dimension, Metric
from grader_daemon.domain.rules import AlertRules
from grader_daemon.domain.unit import FIRST_SOURCE

_OTHER_METRICS = len(WATCHED) - 1


class Alarmed(msgspec.Struct, frozen=True, kw_only=True):
    """A stream has dropped below its baseline."""

    stream: Stream
    at: datetime
    alarm: Alarm
    baseline: Baseline


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """A stream whose alarm stood is back."""

    stream: Stream
    at: datetime


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A stream whose alarm stood had no sessions for so long that it is watched no more; it may be as bad as it was."""

    stream: Stream
    at: datetime


Event = Alarmed | Recovered | Lost


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """Result of watching sessions: new states, streams that are gone, and events, in order."""

    states: dict[Stream, DetectorState]
    gone: frozenset[Stream]
    events: tuple[Event, ...]


def watch(
    states: Mapping[Stream, DetectorState], observations: Iterable[Observation], *, since: datetime, rules: AlertRules
) -> Watched:
    """Fold sessions, in the order in which they ended, into the states of all streams.

    What ended before `since` is history: it is learned from, and raises no alarm.
    """
    fold = _Fold(states, since=since, rules=rules)
    for observation in observations:
        fold.add(observation)
    return Watched(states=fold.changed, gone=frozenset(fold.gone), events=tuple(fold.events))


def part_of(stream: Stream, *, groups: int, rules: AlertRules) -> float:
    """Return the part of a stream, 0 to 1 exclusive, while `groups` streams of groups are watched, it included."""
    if stream.dimension is not Dimension.OVERALL:
        return (1 - rules.overall_part) / max(1, groups)
    if stream.metric is Metric.ENDED_BADLY:
        return rules.overall_part * rules.endings_part
    return rules.overall_part * (1 - rules.endings_part) / _OTHER_METRICS


class _Fold:
    """The states while sessions come in; `groups` counts the streams of groups that have a baseline."""

    def __init__(self, states: Mapping[Stream, DetectorState], *, since: datetime, rules: AlertRules) -> None:
        self.changed: dict[Stream, DetectorState] = {}
        self.gone: set[Stream] = set()
        self.events: list[Event] = []
        self._states = dict(states)
        self._knows_agents = any(stream.dimension is Dimension.AGENT for stream in states)
        self._since = since
        self._rules = rules
        self._groups = sum([_is_armed_group(stream, state) for stream, state in states.items()])
        self._today = max([state.day for state in states.values()], default=0)

    def add(self, observation: Observation) -> None:
        day = date.fromisoformat(observation.ended_on).toordinal()
        if day > self._today:
            self._today = day
            self._forget(observation.ended_at)
        for stream, value in readings(observation):
            before = self._states.get(stream)
            if before is None:
                if len(self._states) >= self._rules.streams or not self._tells_apart(stream):
                    continue
                before = begin(self._today)
                self.gone.discard(stream)
            after = self._after(before, stream, value, at=observation.ended_at)
            self._states[stream] = self.changed[stream] = after
            if before.baseline is not after.baseline or before.alarm is not after.alarm:
                self._compare(stream, before, after=after, at=observation.ended_at)

    def _tells_apart(self, stream: Stream) -> bool:
        """Return whether a new stream differs from that of all sessions: that of Hermes does not while it is alone."""
        if stream.dimension is Dimension.AGENT:
            self._knows_agents |= stream.name != FIRST_SOURCE
            return self._knows_agents
        return True

    def _after(self, before: DetectorState, stream: Stream, value: float, *, at: datetime) -> DetectorState:
        if at < self._since:
            return learn(before, value, day=self._today, rules=self._rules)
        part = part_of(stream, groups=self._groups, rules=self._rules)
        return observe(before, value, at=at, day=self._today, part=part, rules=self._rules)

    def _compare(self, stream: Stream, before: DetectorState, *, after: DetectorState, at: datetime) -> None:
        if before.baseline is None:
            self._groups += _is_armed_group(stream, after)
        if before.alarm is not None and after.alarm is None:
            self.events.append(Recovered(stream=stream, at=at))
        elif before.alarm is None and after.alarm is not None and after.baseline is not None:
            self.events.append(Alarmed(stream=stream, at=at, alarm=after.alarm, baseline=after.baseline))

    def _forget(self, at: datetime) -> None:
        """Drop streams that had no session for long, so that there is room for those that are in use."""
        last = self._today - self._rules.forget_days
        for stream in [stream for stream, state in self._states.items() if state.day < last]:
            state = self._states.pop(stream)
            self.changed.pop(stream, None)
            self.gone.add(stream)
            self._groups -= _is_armed_group(stream, state)
            if state.alarm is not None:
                self.events.append(Lost(stream=stream, at=at))


def _is_armed_group(stream: Stream, state: DetectorState) -> bool:
    return state.baseline is not None and stream.dimension is not Dimension.OVERALL
