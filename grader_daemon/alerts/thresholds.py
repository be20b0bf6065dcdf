"""Plain limits of a person's own, with hysteresis. Too few sessions neither open an alert nor end one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, Stream, StreamDrop
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rules import ThresholdRule

RuleEstimate = tuple[ThresholdRule, str, Estimate]
"""A rule, a group that it is about (overall: ""), and the metric of that group over the days of the rule."""


def compare(
    alerts: Iterable[Alert], groups: Iterable[RuleEstimate], *, rules: Sequence[ThresholdRule], now: datetime
) -> list[Alert]:
    """Return the alerts that open or end now; `alerts` are those that are open.

    One whose rule is gone, or is about something else, ends.
    """
    standing = {(alert.rule, alert.drops[0].stream): alert for alert in alerts if alert.kind is AlertKind.THRESHOLD}
    changed = [
        replace(alert, resolved_at=now)
        for (name, stream), alert in standing.items()
        if not any(rule.name == name and _is_about(rule, stream) for rule in rules)
    ]
    for rule, group, found in groups:
        known = standing.get((rule.name, Stream(rule.metric, rule.dimension, group)))
        if known is None and opens(rule, found):
            changed.append(threshold_alert(rule, group, found=found, now=now))
        elif known is not None and clears(rule, found):
            changed.append(replace(known, resolved_at=now))
    return changed


def opens(rule: ThresholdRule, found: Estimate) -> bool:
    """Return whether the value is beyond the limit."""
    if found.value is None or found.sample < rule.sessions:
        return False
    return found.value < rule.below if rule.below is not None else found.value > rule.limit


def clears(rule: ThresholdRule, found: Estimate) -> bool:
    """Return whether an alert ends: the value is as far back as `rule.clear`."""
    if found.value is None or found.sample < rule.sessions:
        return False
    return found.value >= rule.clear if rule.below is not None else found.value <= rule.clear


def threshold_alert(rule: ThresholdRule, group: str, *, found: Estimate, now: datetime) -> Alert:
    """Return the alert of a rule for a group (overall: ""). Nothing is said of how it was before."""
    drop = StreamDrop(
        stream=Stream(rule.metric, rule.dimension, group),
        before=Estimate(),
        since=found,
        began_at=now - timedelta(days=rule.days),
    )
    return Alert(
        kind=AlertKind.THRESHOLD,
        level=AlertLevel.WARNING,
        drops=(drop,),
        opened_at=now,
        began_at=drop.began_at,
        rule=rule.name,
    )


def _is_about(rule: ThresholdRule, stream: Stream) -> bool:
    return (rule.metric, rule.dimension) == (stream.metric, stream.dimension) and rule.group in {None, stream.name}
