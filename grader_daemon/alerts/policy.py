"""From alarms to alerts: one cause is told once, however many streams it shows in.

A cause shows in the overall rate, in task types and in tools, in each as soon as there is evidence enough. So an alarm
belongs to an open alert when its drop seems to have begun before that alert was opened, and opens another one when it
began later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from grader_daemon.alerts.causes import decompose, members, share_changes, weightiest
from grader_daemon.alerts.streams import estimate, is_score
from grader_daemon.alerts.watch import Alarmed
from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, Observation, Stream, StreamDrop
from grader_daemon.domain.rules import AlertRules


def home(event: Alarmed, alerts: Iterable[Alert]) -> Alert | None:
    """Give the alert that an alarm belongs to, among those that are open; the newest of several."""
    fitting = [
        alert
        for alert in alerts
        if alert.kind is AlertKind.DEGRADATION and alert.resolved_at is None and event.alarm.began_at <= alert.opened_at
    ]
    return max(fitting, key=lambda alert: alert.opened_at, default=None)


def joined(alert: Alert, event: Alarmed, *, rules: AlertRules) -> Alert:
    """Give an alert that shows in one more stream; it may become critical by that."""
    drop = drop_of(event)
    critical = alert.level is AlertLevel.CRITICAL or level_of(drop, rules=rules) is AlertLevel.CRITICAL
    return replace(
        alert,
        drops=(*alert.drops, drop),
        level=AlertLevel.CRITICAL if critical else AlertLevel.WARNING,
        began_at=min(alert.began_at, drop.began_at),
    )


def opened(event: Alarmed, *, before: Sequence[Observation], since: Sequence[Observation], rules: AlertRules) -> Alert:
    """Give a new alert. `before` is a sample of the baseline, `since` all sessions from `alarm.began_at` to the alarm.

    Both are in the order in which the sessions ended; those that are no part of the stream are passed over.
    """
    drop = drop_of(event)
    sample, bad = members(before, event.stream), members(since, event.stream)
    normal, _ = event.baseline.values.moments()
    return Alert(
        kind=AlertKind.DEGRADATION,
        level=level_of(drop, rules=rules),
        drops=(drop,),
        opened_at=event.at,
        began_at=drop.began_at,
        sessions=weightiest(bad, below=normal),
        changes=share_changes(sample, bad, rules=rules),
        decomposition=decompose(sample, bad, stream=event.stream, dispersion=event.baseline.dispersion),
    )


def resolved(alert: Alert, *, standing: Collection[Stream], at: datetime) -> Alert | None:
    """Give the alert as resolved, when none of its streams is among those whose alarm stands; else None."""
    if any(drop.stream in standing for drop in alert.drops):
        return None
    return replace(alert, resolved_at=at)


def silent_until(alert: Alert, silences: Mapping[Stream, datetime]) -> datetime | None:
    """Give the time up to which nothing is told of an alert, because all that it shows in is silenced; else None."""
    ends = [silences.get(drop.stream) for drop in alert.drops]
    known = [end for end in ends if end is not None]
    return min(known) if known and len(known) == len(ends) else None


def is_news(alert: Alert, silences: Mapping[Stream, datetime]) -> bool:
    """Tell whether an alert is open, and nobody has said that they know of it or want to hear nothing."""
    is_open = alert.resolved_at is None and alert.acknowledged_at is None
    return is_open and silent_until(alert, silences) is None


def drop_of(event: Alarmed) -> StreamDrop:
    """Give the numbers of an alarm on the metric's own scale."""
    metric = event.stream.metric
    return StreamDrop(
        stream=event.stream,
        before=estimate(metric, event.baseline.values),
        since=estimate(metric, event.alarm.since),
        began_at=event.alarm.began_at,
    )


def level_of(drop: StreamDrop, *, rules: AlertRules) -> AlertLevel:
    """Tell how bad a drop is."""
    assert drop.before.value is not None
    assert drop.since.value is not None
    limit = rules.critical_score_drop if is_score(drop.stream.metric) else rules.critical_rate_drop
    return AlertLevel.CRITICAL if abs(drop.since.value - drop.before.value) >= limit else AlertLevel.WARNING
