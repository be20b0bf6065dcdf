from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.alerts.thresholds import clears, compare, opens, threshold_alert
from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, Stream
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import WATCHED, Dimension, Metric, Sums
from grader_daemon.domain.rules import ThresholdRule
from tests.alert_examples import at, threshold

BELOW = threshold(below=0.5, clear=0.6)
ABOVE = threshold(metric=Metric.FAILURE_RATE, below=None, above=0.3, clear=0.2)
ONE_LIMIT = threshold(below=0.5, clear=0.5)
WEEK = Sums(
    sessions=4,
    completed=3,
    efficiency=14,
    efficiency_squares=54,
    quality=10,
    quality_squares=26,
    calls=40,
    calls_squares=400,
    failures=10,
    failures_squares=30,
    calls_failures=100,
)


def found(value: float | None, sample: int = 10) -> Estimate:
    return Estimate(value=value, sample=sample)


@pytest.mark.parametrize(
    ("rule", "estimate", "does_open", "does_clear"),
    [
        pytest.param(BELOW, found(0.49), True, False, id="below-the-limit"),
        pytest.param(BELOW, found(0.5), False, False, id="at-the-limit-is-not-below"),
        pytest.param(BELOW, found(0.55), False, False, id="between-the-limits-from-below"),
        pytest.param(BELOW, found(0.6), False, True, id="back-at-the-limit-that-clears"),
        pytest.param(BELOW, found(0.9), False, True, id="well-above"),
        pytest.param(BELOW, found(0.1, sample=9), False, False, id="too-few-sessions-to-open"),
        pytest.param(BELOW, found(0.9, sample=9), False, False, id="too-few-sessions-to-clear"),
        pytest.param(BELOW, found(None), False, False, id="no-value"),
        pytest.param(ABOVE, found(0.31), True, False, id="above-the-limit"),
        pytest.param(ABOVE, found(0.3), False, False, id="at-the-limit-is-not-above"),
        pytest.param(ABOVE, found(0.25), False, False, id="between-the-limits-from-above"),
        pytest.param(ABOVE, found(0.2), False, True, id="down-at-the-limit-that-clears"),
        pytest.param(ABOVE, found(0.0), False, True, id="nothing-fails"),
        pytest.param(ABOVE, found(0.9, sample=9), False, False, id="too-few-failing-sessions"),
        pytest.param(ABOVE, found(None), False, False, id="no-calls"),
        pytest.param(ONE_LIMIT, found(0.5), False, True, id="one-limit-for-both"),
    ],
)
def test_an_alert_opens_beyond_the_limit_and_ends_where_it_clears(
    rule: ThresholdRule, estimate: Estimate, does_open: bool, does_clear: bool
) -> None:
    assert opens(rule, estimate) is does_open
    assert clears(rule, estimate) is does_clear


@given(
    limits=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
    value=st.floats(0, 1),
    sample=st.integers(0, 20),
    is_above=st.booleans(),
)
def test_no_value_both_opens_and_clears(limits: list[float], value: float, sample: int, is_above: bool) -> None:
    low, high = limits
    rule = threshold(below=None, above=high, clear=low) if is_above else threshold(below=low, clear=high)
    estimate = found(value, sample)
    assert not (opens(rule, estimate) and clears(rule, estimate))


@given(value=st.floats(0, 1), sample=st.integers(0, 9), rule=st.sampled_from([BELOW, ABOVE]))
def test_too_few_sessions_change_nothing(value: float, sample: int, rule: ThresholdRule) -> None:
    estimate = found(value, sample)
    assert not opens(rule, estimate)
    assert not clears(rule, estimate)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        pytest.param(Metric.COMPLETION_RATE, 0.75, id="completed-by-sessions"),
        pytest.param(Metric.EFFICIENCY, 3.5, id="mean-efficiency"),
        pytest.param(Metric.QUALITY, 2.5, id="mean-quality"),
        pytest.param(Metric.FAILURE_RATE, 0.25, id="failures-by-calls"),
    ],
)
def test_a_metric_is_found_in_sums(metric: Metric, value: float) -> None:
    estimate = WATCHED[metric](WEEK)
    assert estimate.value == value
    assert estimate.sample == 4
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < value < estimate.high


@pytest.mark.parametrize("metric", [pytest.param(metric, id=metric.replace("_", "-")) for metric in WATCHED])
def test_no_sessions_have_no_value(metric: Metric) -> None:
    assert WATCHED[metric](Sums()) == Estimate()


def test_an_alert_says_what_was_found_and_nothing_of_before() -> None:
    rule = threshold(dimension=Dimension.TOOL, name="shell", days=3)
    alert = threshold_alert(rule, "terminal", found=found(0.4), now=at(20))
    [drop] = alert.drops
    assert drop.stream == Stream(Metric.COMPLETION_RATE, Dimension.TOOL, "terminal")
    assert (drop.before, drop.since) == (Estimate(), found(0.4))
    assert alert.began_at == drop.began_at == at(20) - timedelta(days=3)
    assert alert.opened_at == at(20)
    assert (alert.kind, alert.level, alert.rule) == (AlertKind.THRESHOLD, AlertLevel.WARNING, "shell")
    assert alert.number is None
    assert alert.resolved_at is None


# -- which open and end --------------------------------------------------------------------------------------------

BAD, FINE, BETWEEN, FEW = (Sums(sessions=n, completed=c) for n, c in ((10, 4), (10, 9), (100, 55), (9, 9)))
OPEN = msgspec.structs.replace(threshold_alert(BELOW, "", found=found(0.4), now=at(1)), number=1)
MOST_FAIL = threshold(name="most fail", below=0.2, clear=0.3)


def told(changed: list[Alert]) -> list[tuple[str | None, bool]]:
    """The rules whose alerts changed, and whether they ended."""
    return [(each.rule, each.resolved_at is not None) for each in changed]


@pytest.mark.parametrize(
    ("alerts", "sums", "expected"),
    [
        pytest.param([], BAD, [("half fails", False)], id="it-opens"),
        pytest.param([OPEN], BAD, [], id="it-stands-and-does-not-open-again"),
        pytest.param([OPEN], BETWEEN, [], id="between-the-limits-it-stands"),
        pytest.param([OPEN], FEW, [], id="too-few-sessions-do-not-end-it"),
        pytest.param([OPEN], FINE, [("half fails", True)], id="it-ends"),
        pytest.param([], FINE, [], id="nothing-is-wrong"),
        pytest.param([], BETWEEN, [], id="between-the-limits-nothing-opens"),
        pytest.param([msgspec.structs.replace(OPEN, kind=AlertKind.DEGRADATION)], FINE, [], id="a-drop-is-not-its-own"),
    ],
)
def test_an_alert_of_a_rule_opens_once_and_ends_once(
    alerts: list[Alert], sums: Sums, expected: list[tuple[str | None, bool]]
) -> None:
    changed = compare(alerts, [(BELOW, "", sums)], rules=[BELOW], now=at(2))
    assert told(changed) == expected
    assert {each.resolved_at for each in changed} <= {None, at(2)}


def test_two_rules_about_one_stream_have_an_alert_each() -> None:
    rules = [BELOW, MOST_FAIL]
    opened = compare([], [(rule, "", Sums(sessions=10, completed=1)) for rule in rules], rules=rules, now=at(1))
    assert told(opened) == [("half fails", False), ("most fail", False)]
    after = compare(opened, [(rule, "", Sums(sessions=20, completed=7)) for rule in rules], rules=rules, now=at(2))
    assert told(after) == [("most fail", True)]


@pytest.mark.parametrize(
    ("rules", "ends"),
    [
        pytest.param([], True, id="removed"),
        pytest.param([threshold(name="renamed")], True, id="another-name"),
        pytest.param([threshold(metric=Metric.QUALITY, below=2.0, clear=3.0)], True, id="another-metric"),
        pytest.param([threshold(dimension=Dimension.TOOL, group="browser")], True, id="another-group"),
        pytest.param([threshold(below=0.3, clear=0.5), ABOVE], False, id="other-limits"),
    ],
)
def test_a_rule_that_is_gone_ends_its_alert(rules: list[ThresholdRule], ends: bool) -> None:
    assert told(compare([OPEN], [], rules=rules, now=at(2))) == [("half fails", True)] * ends
