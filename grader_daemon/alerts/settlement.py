"""Settle alarms into alerts: one cause is told once, however many streams it shows in.

A cause shows in the overall rate, in task types and in tools, in each as soon as there is evidence enough. So an alarm
belongs to an open alert when its drop seems to have begun before that alert was opened, and opens another one when it
began later. An alert ends when the alarm of none of its streams stands any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from grader_daemon.alerts.causes import decompose, is_mix_of_agents, members, share_changes, weightiest
from grader_daemon.alerts.streams import estimate
from grader_daemon.alerts.watch import Alarmed, Event, Lost
from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, Observation, Stream, StreamDrop
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.rules import AlertRules

LOST: Final = "No longer watched: it had no sessions for a long time. Whether it is back to normal is unknown."
BEGUN_ANEW: Final = "The detectors were reset. Whether it is back to normal is unknown."


class Settled(msgspec.Struct, eq=False):
    """An alert that is new or changed; `alarm` is what opened it, None where it was open before."""

    alert: Alert
    alarm: Alarmed | None = None


def settle(
    events: Iterable[Event], alerts: Iterable[Alert], *, standing: Collection[Stream], rules: AlertRules, now: datetime
) -> list[Settled]:
    """Return the alerts that events open, join or end, in the order in which they first changed.

    `alerts` are those that are open, `standing` the streams whose alarm stood before the events. An alert ends `now`
    if no alarm of its streams stands and nothing says since when: its detectors began anew.
    """
    settlement = _Settlement(alerts, standing, rules)
    for event in events:
        settlement.add(event)
    settlement.end_forgotten(now)
    return settlement.changed


def home(event: Alarmed, alerts: Iterable[Alert]) -> Alert | None:
    """Return the alert that an alarm belongs to, among those that are open; the newest of several."""
    fitting = [
        alert
        for alert in alerts
        if alert.kind is AlertKind.DEGRADATION
        and alert.resolved_at is None
        and event.alarm.began_at <= alert.opened_at
        and _may_join(event.stream, alert)
    ]
    return max(fitting, key=lambda alert: alert.opened_at, default=None)


def _may_join(stream: Stream, alert: Alert) -> bool:
    """Return whether a stream may show in an alert: each scheduled job has alerts of its own, which name it.

    All scheduled runs together show in an alert of one of their jobs, too.
    """
    job = next((drop.stream for drop in alert.drops if drop.stream.dimension is Dimension.JOB), None)
    if stream.dimension is Dimension.JOB:
        return job is not None and job.name == stream.name
    return job is None or stream.is_scheduled


def joined(alert: Alert, event: Alarmed, *, rules: AlertRules) -> Alert:
    """Return an alert that shows in one more stream; it may become critical by that."""
    drop = drop_of(event)
    critical = alert.level is AlertLevel.CRITICAL or level_of(drop, rules=rules) is AlertLevel.CRITICAL
    return replace(
        alert,
        drops=(*alert.drops, drop),
        level=AlertLevel.CRITICAL if critical else AlertLevel.WARNING,
        began_at=min(alert.began_at, drop.began_at),
    )


def opened(event: Alarmed, *, rules: AlertRules) -> Alert:
    """Return a new alert, of which nothing is explained yet."""
    drop = drop_of(event)
    return Alert(
        kind=AlertKind.DEGRADATION,
        level=level_of(drop, rules=rules),
        drops=(drop,),
        opened_at=event.at,
        began_at=drop.began_at,
    )


def explained(
    alert: Alert, event: Alarmed, *, before: Sequence[Observation], since: Sequence[Observation], rules: AlertRules
) -> Alert:
    """Return the alert that an alarm opened, with its cause and the sessions that weigh most.

    `before` is a sample of the baseline, `since` all sessions from `alarm.began_at` to the alarm. Both are in the order
    in which the sessions ended; those that are no part of the stream are passed over.
    """
    sample, bad = members(before, event.stream), members(since, event.stream)
    normal, _ = event.baseline.values.moments()
    return replace(
        alert,
        sessions=weightiest(bad, below=normal),
        changes=share_changes(sample, bad, rules=rules),
        decomposition=decompose(sample, bad, stream=event.stream, dispersion=event.baseline.dispersion),
    )


def is_only_mix(event: Alarmed, *, before: Sequence[Observation], since: Sequence[Observation]) -> bool:
    """Return whether a stream fell only because other agents do more of its sessions; samples as in `explained`."""
    sample, bad = members(before, event.stream), members(since, event.stream)
    return is_mix_of_agents(sample, bad, dispersion=event.baseline.dispersion)


def resolved(alert: Alert, *, standing: Collection[Stream], at: datetime) -> Alert | None:
    """Return the alert as resolved, when none of its streams is among those whose alarm stands; else None."""
    if any(drop.stream in standing for drop in alert.drops):
        return None
    return replace(alert, resolved_at=at)


def announced(alert: Alert, silences: Mapping[Stream, datetime]) -> tuple[Alert, bool]:
    """Return a new or changed alert as it is to be kept, and whether people are told of it now.

    They are told when it opens, and when it resolves if its opening was told. While all its streams are silenced they
    are told neither; the first that joins it and is not silenced brings it out.
    """
    is_news = silent_until(alert, silences) is None and alert.told == (alert.resolved_at is not None)
    return replace(alert, told=alert.told or is_news), is_news


def silent_until(alert: Alert, silences: Mapping[Stream, datetime]) -> datetime | None:
    """Return the time up to which nothing is told of an alert, because all that it shows in is silenced; else None."""
    ends = [silences.get(drop.stream) for drop in alert.drops]
    known = [end for end in ends if end is not None]
    return min(known) if known and len(known) == len(ends) else None


def is_news(alert: Alert, silences: Mapping[Stream, datetime]) -> bool:
    """Return whether an alert is open, and nobody has said that they know of it or want to hear nothing."""
    is_open = alert.resolved_at is None and alert.acknowledged_at is None
    return is_open and silent_until(alert, silences) is None


def drop_of(event: Alarmed) -> StreamDrop:
    """Return the numbers of an alarm on the metric's own scale."""
    metric = event.stream.metric
    return StreamDrop(
        stream=event.stream,
        before=estimate(metric, event.baseline.values),
        since=estimate(metric, event.alarm.since),
        began_at=event.alarm.began_at,
    )


def level_of(drop: StreamDrop, *, rules: AlertRules) -> AlertLevel:
    """Return how bad a drop is."""
    assert drop.before.value is not None
    assert drop.since.value is not None
    limit = rules.critical_score_drop if drop.stream.metric.is_score else rules.critical_rate_drop
    return AlertLevel.CRITICAL if abs(drop.since.value - drop.before.value) >= limit else AlertLevel.WARNING


class _Settlement:
    """The open alerts, and the streams whose alarm stands, while events come in."""

    def __init__(self, alerts: Iterable[Alert], standing: Collection[Stream], rules: AlertRules) -> None:
        self.changed: list[Settled] = []
        self._open = [Settled(alert) for alert in alerts if alert.kind is AlertKind.DEGRADATION]
        self._standing = set(standing)
        self._rules = rules

    def add(self, event: Event) -> None:
        if isinstance(event, Alarmed):
            self._standing.add(event.stream)
            self._raise(event)
        else:
            self._standing.discard(event.stream)
            self._end(event.stream, event.at, note=LOST if isinstance(event, Lost) else None)

    def end_forgotten(self, now: datetime) -> None:
        for each in list(self._open):
            self._end(each.alert.drops[0].stream, now, note=BEGUN_ANEW)

    def _raise(self, event: Alarmed) -> None:
        alert = home(event, [each.alert for each in self._open])
        if alert is None:
            new = Settled(opened(event, rules=self._rules), event)
            self._open.append(new)
            self.changed.append(new)
            return
        known = next(each for each in self._open if each.alert is alert)
        self._put(known, joined(alert, event, rules=self._rules))

    def _end(self, stream: Stream, at: datetime, *, note: str | None) -> None:
        """Resolve the alerts that show in a stream and in no other that stands; `note` says what is not known."""
        for each in list(self._open):
            if any(drop.stream == stream for drop in each.alert.drops):
                after = resolved(each.alert, standing=self._standing, at=at)
                if after is not None:
                    self._put(each, replace(after, note=after.note or note))
                    self._open.remove(each)

    def _put(self, known: Settled, alert: Alert) -> None:
        known.alert = alert
        if known not in self.changed:
            self.changed.append(known)
