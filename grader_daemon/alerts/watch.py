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
from msgspec.structs import replace

from grader_daemon.alerts.baseline import Baseline
from grader_daemon.alerts.detector import Alarm, DetectorState, begin, learn, observe
from grader_daemon.alerts.streams import readings
from grader_daemon.domain.alert import Observation, Stream
from grader_daemon.domain.rollup import WATCHED, Dimension, Metric
from grader_daemon.domain.rules import AlertRules
from grader_daemon.domain.unit import FIRST_SOURCE

_LONE_A_MONTH = 60.0
"""Two runs a day: what makes the sessions of a day alike does not make those of two nights alike."""

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


def part_of(stream: Stream, *, groups: int, rules: AlertRules, jobs: int = 0) -> float:
    """Return the part of a stream, 0 to 1 exclusive, while `groups` streams of groups are watched, it included.

    Scheduled jobs have false alarms of their own, of which `jobs` streams share `rules.jobs_part`.
    """
    if stream.dimension is Dimension.JOB:
        return rules.jobs_part / max(1, jobs)
    if stream.dimension is not Dimension.OVERALL:
        return (1 - rules.overall_part) / max(1, groups)
    if stream.metric is Metric.ENDED_BADLY:
        return rules.overall_part * rules.endings_part
    return rules.overall_part * (1 - rules.endings_part) / _OTHER_METRICS


def rules_for(stream: Stream, rules: AlertRules) -> AlertRules:
    """Return the rules for a stream: scheduled jobs have few runs, and fail in another way than people's tasks.

    Of a run a day there are no hundred in a quarter, and what breaks a job breaks most of its runs.
    """
    return _rules_of_jobs(rules) if _is_of_job(stream) else rules


def _rules_of_jobs(rules: AlertRules) -> AlertRules:
    return replace(
        rules,
        arming_sessions=rules.job_runs,
        drops=rules.job_drops,
        fewest_a_month=rules.job_runs,
        lone_a_month=_LONE_A_MONTH,
    )


class _Fold:
    """The states while sessions come in; `groups` and `jobs` count those of their streams that have a baseline."""

    def __init__(self, states: Mapping[Stream, DetectorState], *, since: datetime, rules: AlertRules) -> None:
        self.changed: dict[Stream, DetectorState] = {}
        self.gone: set[Stream] = set()
        self.events: list[Event] = []
        self._states = dict(states)
        self._knows_agents = any(stream.dimension is Dimension.AGENT for stream in states)
        self._since = since
        self._rules = rules
        self._job_rules = _rules_of_jobs(rules)
        self._job_streams = sum([_is_of_job(stream) for stream in states])
        self._jobs = sum([_is_armed_job(stream, state) for stream, state in states.items()])
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
                if not self._has_room(stream) or not self._tells_apart(stream):
                    continue
                before = begin(self._today)
                self._job_streams += _is_of_job(stream)
                self.gone.discard(stream)
            after = self._after(before, stream, value, at=observation.ended_at)
            self._states[stream] = self.changed[stream] = after
            if before.baseline is not after.baseline or before.alarm is not after.alarm:
                self._compare(stream, before, after=after, at=observation.ended_at)

    def _has_room(self, stream: Stream) -> bool:
        """Return whether one more stream may be watched: many jobs take no room from the tasks of persons."""
        taken = self._job_streams if _is_of_job(stream) else len(self._states) - self._job_streams
        return taken < self._rules.streams

    def _tells_apart(self, stream: Stream) -> bool:
        """Return whether a new stream differs from that of all sessions: that of Hermes does not while it is alone."""
        if stream.dimension is Dimension.AGENT:
            self._knows_agents |= stream.name != FIRST_SOURCE
            return self._knows_agents
        return True

    def _after(self, before: DetectorState, stream: Stream, value: float, *, at: datetime) -> DetectorState:
        rules = self._job_rules if _is_of_job(stream) else self._rules
        if at < self._since:
            return learn(before, value, day=self._today, rules=rules)
        part = part_of(stream, groups=self._groups, jobs=self._jobs, rules=rules)
        return observe(before, value, at=at, day=self._today, part=part, rules=rules)

    def _compare(self, stream: Stream, before: DetectorState, *, after: DetectorState, at: datetime) -> None:
        if before.baseline is None:
            self._groups += _is_armed_group(stream, after)
            self._jobs += _is_armed_job(stream, after)
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
            self._jobs -= _is_armed_job(stream, state)
            self._job_streams -= _is_of_job(stream)
            if state.alarm is not None:
                self.events.append(Lost(stream=stream, at=at))


def _is_armed_group(stream: Stream, state: DetectorState) -> bool:
    return state.baseline is not None and stream.dimension not in {Dimension.OVERALL, Dimension.JOB}


def _is_armed_job(stream: Stream, state: DetectorState) -> bool:
    return state.baseline is not None and _is_of_job(stream)


def _is_of_job(stream: Stream) -> bool:
    return stream.dimension is Dimension.JOB
