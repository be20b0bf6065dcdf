from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric

from grader_daemon.domain.alert import AlertLevel
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.ledger import LAG_BOUNDS, LagSpan, lag_span
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.push.exposition import openmetrics_text, prometheus_text
from grader_daemon.push.session_metrics import MOST_VALUES, MetricFacts, metric_families
from tests.metric_texts import complaints, read_classic, read_openmetrics, series, value
from tests.needs import require_prometheus
from tests.strategies import NOW
from tests.tables import for_each


def facts(**said: Any) -> MetricFacts:
    return MetricFacts(running=True, version="1.2", **said)


def read(**said: Any) -> list[Metric]:
    return read_classic(prometheus_text(metric_families(facts(**said))))


def sums(sessions: int = 0, **said: Any) -> Sums:
    return Sums(sessions=sessions, **said)


def lag(longer_than: float, grades: int, seconds: float) -> LagSpan:
    return LagSpan(
        longer_than=longer_than,
        grades=grades,
        seconds=seconds,
        session_id=f"after-{longer_than}",
        lag_seconds=seconds / grades,
        graded_at=NOW,
    )


EVERYTHING = facts(
    rules="r1",
    model="m1",
    sums={
        (Dimension.OVERALL, ""): sums(9, completed=4, open_sessions=2),
        (Dimension.MODEL, "large"): sums(
            5, done=4, not_done=1, recorded=5, ended_badly=2, priced=2, cost_millionths=1_500_000
        ),
        (Dimension.MODEL, "small"): sums(4),
        (Dimension.TASK_TYPE, "debugging"): sums(5, done=3, not_done=2, recorded=4, unanswered=3, unanswered_judged=1),
        (Dimension.TOOL, "terminal"): sums(5, calls=10, failures=4),
        (Dimension.CATEGORY, "timeout"): sums(2, failures=3),
        (Dimension.PLATFORM, "cli"): sums(5),
        (Dimension.AGENT, "hermes"): sums(5),
    },
    completion=Estimate(value=0.75, low=0.5, high=0.875, sample=23),
    window=sums(
        8,
        completed=6,
        done=2,
        not_done=1,
        recorded=8,
        contradicted=2,
        calls=20,
        calls_squares=60,
        failures=5,
        failures_squares=9,
        calls_failures=20,
    ),
    alerts={AlertLevel.CRITICAL: 1},
    files={"graded": 9, "dead": 1},
    backlog=3,
    last_graded_at=NOW,
    lags=(lag(1.0, 2, 4.0), lag(1800.0, 1, 2000.0)),
    labels=7,
)


@for_each(
    ("name", "labels", "expected"),
    [
        pytest.param("grader_up", {}, 1, id="it-runs"),
        pytest.param("grader_build_info", {"version": "1.2", "rules": "r1", "model": "m1"}, 1, id="by-which-rules"),
        pytest.param("grader_model_sessions", {"model": "large", "verdict": "done"}, 4, id="done-by-model"),
        pytest.param("grader_model_sessions", {"model": "large", "verdict": "not_done"}, 1, id="not-done-by-model"),
        # 5 with an answer, and 3 without one, of which a person judged 1
        pytest.param("grader_sessions", {"task_type": "debugging", "verdict": "unsure"}, 1, id="unsure-by-type"),
        pytest.param("grader_sessions", {"task_type": "debugging", "verdict": "no_answer"}, 2, id="without-an-answer"),
        pytest.param("grader_model_endings", {"model": "large", "ended": "badly"}, 2, id="bad-endings"),
        pytest.param("grader_model_endings", {"model": "large", "ended": "otherwise"}, 3, id="other-endings"),
        pytest.param("grader_endings", {"task_type": "debugging", "ended": "unknown"}, 1, id="endings-of-before"),
        pytest.param("grader_fact_ratio", {"fact": "contradicted", "bound": "value", "window": "7d"}, 0.25, id="fact"),
        pytest.param("grader_open_sessions", {}, 2, id="not-finished"),
        pytest.param("grader_tool_calls", {"tool": "terminal", "outcome": "failed"}, 4, id="failed-calls"),
        pytest.param("grader_tool_calls", {"tool": "terminal", "outcome": "worked"}, 6, id="calls-that-worked"),
        pytest.param("grader_failures", {"category": "timeout"}, 3, id="failures"),
        pytest.param("grader_model_cost_dollars", {"model": "large"}, 1.5, id="cost"),
        pytest.param("grader_model_cost_dollars", {"model": "small"}, None, id="cost-that-nobody-knows"),
        pytest.param("grader_completion_ratio", {"bound": "value", "window": "7d"}, 0.75, id="rate"),
        pytest.param("grader_verdicts", {"verdict": "done", "window": "7d"}, 2, id="done"),
        pytest.param("grader_verdicts", {"verdict": "not_done", "window": "7d"}, 1, id="not-done"),
        pytest.param("grader_verdicts", {"verdict": "unsure", "window": "7d"}, 5, id="unsure"),
        pytest.param("grader_failure_ratio", {"bound": "value", "window": "7d"}, 0.25, id="failure-rate"),
        pytest.param("grader_alerts_open", {"level": "critical"}, 1, id="alerts"),
        pytest.param("grader_alerts_open", {"level": "warning"}, 0, id="no-alert-of-a-level"),
        pytest.param("grader_files", {"state": "dead"}, 1, id="files"),
        pytest.param("grader_files", {"state": "retry"}, 0, id="no-file-of-a-state"),
        pytest.param("grader_backlog", {}, 3, id="backlog"),
        pytest.param("grader_last_grade_timestamp_seconds", {}, NOW.timestamp(), id="last-grade"),
        pytest.param("grader_grade_lag_seconds_bucket", {"le": "1.0"}, 0, id="none-so-soon"),
        pytest.param("grader_grade_lag_seconds_bucket", {"le": "2.5"}, 2, id="lags-up-to-a-bound"),
        pytest.param("grader_grade_lag_seconds_bucket", {"le": "1800.0"}, 2, id="lags-up-to-the-last-bound"),
        pytest.param("grader_grade_lag_seconds_bucket", {"le": "+Inf"}, 3, id="all-lags"),
        pytest.param("grader_grade_lag_seconds_sum", {}, 2004, id="sum-of-lags"),
        pytest.param("grader_grade_lag_seconds_count", {}, 3, id="count-of-lags"),
        pytest.param("grader_labels_total", {}, 7, id="labels"),
    ],
)
def test_what_is_known_is_told(name: str, labels: dict[str, str], expected: float | None) -> None:
    told = read_classic(prometheus_text(metric_families(EVERYTHING)))
    assert value(told, name, **labels) == expected


def test_the_interval_is_told_beside_the_rate() -> None:
    told = read_classic(prometheus_text(metric_families(EVERYTHING)))
    low, high = (value(told, "grader_completion_ratio", bound=bound, window="7d") for bound in ("low", "high"))
    assert (low, high) == (0.5, 0.875)


def test_without_labels_there_is_no_rate() -> None:
    told = read(window=sums(8, completed=6))
    assert value(told, "grader_completion_ratio", bound="value", window="7d") is None
    assert value(told, "grader_verdicts", verdict="unsure", window="7d") == 8


def test_both_formats_say_the_same() -> None:
    made = metric_families(EVERYTHING)
    assert series(read_classic(prometheus_text(made))) == series(read_openmetrics(openmetrics_text(made)))


def test_a_lag_has_the_session_that_had_it_last_as_exemplar() -> None:
    told = read_openmetrics(openmetrics_text(metric_families(EVERYTHING)))
    samples = next(family.samples for family in told if family.name == "grader_grade_lag_seconds")
    assert {sample.labels["le"]: sample.exemplar.labels for sample in samples if sample.exemplar} == {
        "2.5": {"session_id": "after-1.0"},
        "+Inf": {"session_id": "after-1800.0"},
    }


def test_a_lag_of_which_no_session_is_known_is_counted_without_one() -> None:
    unnamed = msgspec.structs.replace(lag(1.0, 2, 4.0), session_id=None)
    told = read_openmetrics(openmetrics_text(metric_families(facts(lags=(unnamed,)))))

    assert value(told, "grader_grade_lag_seconds_count") == 2
    assert not any(sample.exemplar for family in told for sample in family.samples)


def test_promtool_finds_nothing_wrong() -> None:
    assert complaints(require_prometheus("promtool"), prometheus_text(metric_families(EVERYTHING))) == ""


def test_of_nothing_nothing_is_told_but_zeros() -> None:
    told = {name for name, _ in series(read())}
    assert told == {
        "grader_up",
        "grader_build_info",
        "grader_files",
        "grader_alerts_open",
        "grader_verdicts",
        "grader_labels_total",
        "grader_grade_lag_seconds_bucket",
        "grader_grade_lag_seconds_sum",
        "grader_grade_lag_seconds_count",
    }


@pytest.mark.parametrize(
    ("models", "values"),
    [
        pytest.param(MOST_VALUES, MOST_VALUES, id="as-many-as-there-may-be"),
        pytest.param(MOST_VALUES + 1, MOST_VALUES, id="one-more"),
        pytest.param(1000, MOST_VALUES, id="very-many"),
    ],
)
def test_what_is_rare_is_told_together(models: int, values: int) -> None:
    groups = {(Dimension.MODEL, f"m{number}"): sums(number + 1) for number in range(models)}
    told = {
        dict(labels)["model"]: count
        for (name, labels), count in series(read(sums=groups)).items()
        if name == "grader_model_sessions" and dict(labels)["verdict"] == "unsure"
    }
    assert len(told) == values
    assert sum(told.values()) == models * (models + 1) / 2
    assert told[f"m{models - 1}"] == models
    assert ("other" in told) is (models > MOST_VALUES)


def test_a_model_that_is_called_other_counts_with_the_rest() -> None:
    groups = {(Dimension.MODEL, f"m{number}"): sums(1) for number in range(MOST_VALUES)}
    told = read(sums={**groups, (Dimension.MODEL, "other"): sums(100)})
    assert value(told, "grader_model_sessions", model="other", verdict="unsure") == 101


def test_names_that_look_alike_are_one() -> None:
    told = read(sums={(Dimension.MODEL, "a\x00"): sums(1), (Dimension.MODEL, "a\x01"): sums(2)})
    assert value(told, "grader_model_sessions", model="a\N{REPLACEMENT CHARACTER}", verdict="unsure") == 3


@given(st.dictionaries(st.text(max_size=8), st.integers(0, 9), max_size=60))
def test_whatever_names_there_are_nothing_is_lost_and_both_formats_can_be_read(known: dict[str, int]) -> None:
    groups = {(Dimension.TOOL, name): sums(1, calls=calls) for name, calls in known.items()}
    made = metric_families(facts(sums=groups))
    for told in (read_classic(prometheus_text(made)), read_openmetrics(openmetrics_text(made))):
        calls = [count for (name, _), count in series(told).items() if name == "grader_tool_calls"]
        assert sum(calls) == sum(known.values())


@pytest.mark.parametrize(
    ("seconds", "longer_than"),
    [(0.0, 0.0), (0.5, 0.0), (0.51, 0.5), (2.0, 1.0), (2.5, 1.0), (1800.0, 300.0), (1800.1, 1800.0)],
)
def test_a_lag_is_counted_up_to_the_bound_that_it_does_not_pass(seconds: float, longer_than: float) -> None:
    assert lag_span(seconds) == longer_than
    assert longer_than in (0.0, *LAG_BOUNDS)
