"""Plain limits of a person's own, with hysteresis. Too few sessions neither open an alert nor end one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_never

from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, Metric, Stream, StreamDrop
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import Sums
from grader_daemon.domain.rules import ThresholdRule


def opens(rule: ThresholdRule, found: Estimate) -> bool:
    """Tell whether the value is beyond the limit."""
    if found.value is None or found.sample < rule.sessions:
        return False
    return found.value < rule.below if rule.below is not None else found.value > rule.limit


def clears(rule: ThresholdRule, found: Estimate) -> bool:
    """Tell whether an alert ends: the value is as far back as `rule.clear`."""
    if found.value is None or found.sample < rule.sessions:
        return False
    return found.value >= rule.clear if rule.below is not None else found.value <= rule.clear


def found_in(sums: Sums, metric: Metric) -> Estimate:
    """Estimate a metric from the sums over the days of a rule."""
    match metric:
        case Metric.COMPLETION_RATE:
            return sums.completion_rate()
        case Metric.EFFICIENCY:
            return sums.mean_efficiency()
        case Metric.QUALITY:
            return sums.mean_quality()
        case Metric.FAILURE_RATE:
            return sums.failure_rate()
        case _:
            assert_never(metric)


def threshold_alert(rule: ThresholdRule, group: str, *, found: Estimate, now: datetime) -> Alert:
    """Give the alert of a rule for a group (overall: ""). Nothing is said of how it was before."""
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
