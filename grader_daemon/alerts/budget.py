"""Which part of the false alarms that are allowed a stream may have: the less, the more evidence it needs.

A stream with the part p alarms by chance once in months / p at most, so all together once in that many months if the
parts add up to 1, however alike the streams are. Most goes to the metrics of all sessions, where a drop that matters
shows first: with 18 streams that have equal parts, a fall of completion from 0.85 to 0.70 is found after 151 sessions,
with most for all sessions after 120. To add up the evidence of streams that fall together gained no session more, at
the same number of false alarms (all simulated, with other seeds than those of tests/benchmarks/alerts.py).
"""

from __future__ import annotations

from grader_daemon.domain.alert import Metric, Stream
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.rules import AlertRules

_OTHER_METRICS = len(Metric) - 1


def part_of(stream: Stream, *, groups: int, rules: AlertRules) -> float:
    """Give the part of a stream, 0 to 1 exclusive, while `groups` streams of groups are watched, it included."""
    if stream.dimension is not Dimension.OVERALL:
        return (1 - rules.overall_part) / max(1, groups)
    if stream.metric is Metric.COMPLETION_RATE:
        return rules.overall_part * rules.completion_part
    return rules.overall_part * (1 - rules.completion_part) / _OTHER_METRICS
