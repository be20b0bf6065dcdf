from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.alerts.streams import estimate, reading, readings, shown, shown_change
from grader_daemon.domain.alert import SCHEDULED, Observation, Stream
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import Dimension, Metric
from tests.alert_examples import observation, totals, use

LONGEST = "n" * 200
TOO_LONG = "n" * 201
unit = st.floats(min_value=0, max_value=1)
calls_and_failures = st.tuples(st.integers(0, 50), st.integers(0, 60))


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    calls, failures = draw(calls_and_failures)
    tools = draw(st.dictionaries(st.sampled_from(["", "terminal", "browser", TOO_LONG]), calls_and_failures))
    return observation(
        task_type=draw(st.sampled_from(["", "general", "coding", TOO_LONG])),
        model=draw(st.sampled_from([None, "", "m", TOO_LONG])),
        platform=draw(st.sampled_from([None, "cli"])),
        ended_badly=draw(st.one_of(st.none(), st.booleans())),
        efficiency=draw(st.integers(1, 5)),
        quality=draw(st.integers(1, 5)),
        tool_calls=calls,
        failures=failures,
        tools=tuple(use(name, *numbers) for name, numbers in tools.items()),
    )


def groups(one: Observation) -> set[tuple[Dimension, str]]:
    return {(stream.dimension, stream.name) for stream, _ in readings(one)}


def test_a_session_of_a_fleet_is_one_of_its_machine() -> None:
    one = observation(host="laptop", ended_badly=True)
    assert (Dimension.HOST, "laptop") in groups(one)
    assert reading(one, Stream(Metric.ENDED_BADLY, Dimension.HOST, "laptop")) == 0.0
    assert reading(one, Stream(Metric.ENDED_BADLY, Dimension.HOST, "desk")) is None
    assert Dimension.HOST not in {dimension for dimension, _ in groups(observation())}


def test_a_scheduled_run_is_part_of_the_scheduled_ones_alone() -> None:
    one = observation(model="m", agent="hermes", host="laptop", tools=(use("terminal", 2, 1),), scheduled=True)
    streams = [stream for stream, _ in readings(one)]
    assert groups(one) == {SCHEDULED}
    assert all(stream.is_scheduled for stream in streams)
    assert not any(stream.is_scheduled for stream, _ in readings(observation(model="m")))


@pytest.mark.parametrize(
    ("ended_badly", "value"), [pytest.param(True, 0.0, id="badly"), pytest.param(False, 1.0, id="well")]
)
def test_a_run_of_a_job_says_how_it_ended_and_what_failed(ended_badly: bool, value: float) -> None:
    one = observation(tool_calls=4, failures=1, scheduled=True, job="nightly", ended_badly=ended_badly)
    ending = Stream(Metric.ENDED_BADLY, Dimension.JOB, "nightly")
    assert groups(one) == {SCHEDULED, (Dimension.JOB, "nightly")}
    assert reading(one, ending) == value
    assert reading(one, Stream(Metric.FAILURE_RATE, Dimension.JOB, "nightly")) == 0.75
    assert ending.is_scheduled


def test_a_run_of_which_it_is_not_known_how_it_ended_says_nothing_of_it() -> None:
    one = observation(scheduled=True, job="nightly", ended_badly=None)
    assert reading(one, Stream(Metric.ENDED_BADLY, Dimension.JOB, "nightly")) is None


# -- what a session is part of -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "changes", "value"),
    [
        pytest.param(Metric.ENDED_BADLY, {}, 1.0, id="it-did-not-end-badly"),
        pytest.param(Metric.ENDED_BADLY, {"ended_badly": True}, 0.0, id="it-ended-badly"),
        pytest.param(Metric.ENDED_BADLY, {"ended_badly": None}, None, id="nobody-knows-how-it-ended"),
        pytest.param(Metric.EFFICIENCY, {"efficiency": 1}, 0.0, id="worst-efficiency"),
        pytest.param(Metric.EFFICIENCY, {"efficiency": 3}, 0.5, id="middling-efficiency"),
        pytest.param(Metric.QUALITY, {"quality": 4}, 0.75, id="good-quality"),
        pytest.param(Metric.QUALITY, {"quality": 5}, 1.0, id="best-quality"),
        pytest.param(Metric.FAILURE_RATE, {"tool_calls": 4, "failures": 1}, 0.75, id="a-quarter-of-the-calls-fails"),
        pytest.param(Metric.FAILURE_RATE, {"tool_calls": 4}, 1.0, id="no-call-fails"),
        pytest.param(Metric.FAILURE_RATE, {"tool_calls": 2, "failures": 3}, 0.0, id="more-failures-than-calls"),
        pytest.param(Metric.FAILURE_RATE, {}, None, id="no-failure-rate-without-calls"),
    ],
)
def test_a_session_has_a_value_for_each_metric(metric: Metric, changes: dict[str, Any], value: float | None) -> None:
    assert reading(observation(**changes), Stream(metric, Dimension.OVERALL, "")) == value


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"task_type": "coding"}, {(Dimension.TASK_TYPE, "coding")}, id="its-task-type"),
        pytest.param({"task_type": ""}, set(), id="no-task-type"),
        pytest.param({"task_type": "", "model": "m"}, {(Dimension.MODEL, "m")}, id="its-model"),
        pytest.param({"task_type": "", "model": ""}, set(), id="a-model-without-a-name"),
        pytest.param({"task_type": "", "platform": "cli"}, set(), id="platforms-are-not-watched"),
        pytest.param({"task_type": LONGEST}, {(Dimension.TASK_TYPE, LONGEST)}, id="the-longest-name"),
        pytest.param({"task_type": TOO_LONG, "model": TOO_LONG}, set(), id="names-that-are-too-long"),
        pytest.param({"task_type": "", "tools": (use("t"),)}, {(Dimension.TOOL, "t")}, id="a-tool"),
        pytest.param({"task_type": "", "tools": (use("t", calls=0),)}, set(), id="a-tool-that-was-not-called"),
        pytest.param({"task_type": "", "tools": (use(TOO_LONG), use(""))}, set(), id="tools-without-a-usable-name"),
    ],
)
def test_a_session_is_part_of_its_groups(changes: dict[str, Any], expected: set[tuple[Dimension, str]]) -> None:
    assert groups(observation(**changes)) == expected | {(Dimension.OVERALL, "")}


def test_a_tool_has_the_endings_of_its_sessions_and_the_failures_of_its_own_calls() -> None:
    found = dict(
        readings(
            observation(
                ended_badly=True,
                tool_calls=10,
                failures=9,
                tools=(use("terminal", calls=8, failures=2), use("browser", calls=2, failures=2)),
            )
        )
    )
    of_tools = {stream: value for stream, value in found.items() if stream.dimension is Dimension.TOOL}
    assert of_tools == {
        Stream(Metric.ENDED_BADLY, Dimension.TOOL, "terminal"): 0.0,
        Stream(Metric.FAILURE_RATE, Dimension.TOOL, "terminal"): 0.75,
        Stream(Metric.ENDED_BADLY, Dimension.TOOL, "browser"): 0.0,
        Stream(Metric.FAILURE_RATE, Dimension.TOOL, "browser"): 0.0,
    }


def test_a_group_without_calls_has_no_failure_rate() -> None:
    metrics = {stream.metric for stream, _ in readings(observation(task_type="coding", model="m"))}
    assert metrics == {Metric.ENDED_BADLY, Metric.EFFICIENCY, Metric.QUALITY}


def test_a_session_of_another_group_has_no_value() -> None:
    assert reading(observation(model="m"), Stream(Metric.QUALITY, Dimension.MODEL, "n")) is None


@given(one=observations())
def test_every_stream_comes_once_with_a_value_from_zero_to_one(one: Observation) -> None:
    found = list(readings(one))
    assert len(found) == len({stream for stream, _ in found})
    assert all(0 <= value <= 1 for _, value in found)


@given(one=observations())
def test_reading_agrees_with_readings(one: Observation) -> None:
    assert all(reading(one, stream) == value for stream, value in readings(one))


# -- the metric's own scale ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "worst", "best"),
    [
        pytest.param(Metric.ENDED_BADLY, 1.0, 0.0, id="bad-endings-fall"),
        pytest.param(Metric.EFFICIENCY, 1.0, 5.0, id="efficiency-is-a-score"),
        pytest.param(Metric.QUALITY, 1.0, 5.0, id="quality-is-a-score"),
        pytest.param(Metric.FAILURE_RATE, 1.0, 0.0, id="failures-fall"),
    ],
)
def test_values_are_shown_on_the_scale_of_the_metric(metric: Metric, worst: float, best: float) -> None:
    assert (shown(metric, 0.0), shown(metric, 1.0)) == (worst, best)
    assert metric.is_score is (best == 5.0)


@given(metric=st.sampled_from(Metric), before=unit, since=unit)
def test_a_change_is_shown_as_the_difference_of_what_is_shown(metric: Metric, before: float, since: float) -> None:
    expected = shown(metric, since) - shown(metric, before)
    assert shown_change(metric, since - before) == pytest.approx(expected, abs=1e-9)


@given(metric=st.sampled_from([Metric.EFFICIENCY, Metric.QUALITY, Metric.FAILURE_RATE]), values=st.lists(unit))
def test_a_mean_is_estimated_with_its_interval(metric: Metric, values: list[float]) -> None:
    found = estimate(metric, totals(*values))
    assert found.sample == len(values)
    if not values:
        assert found.value is None
        return
    assert found.value == pytest.approx(shown(metric, sum(values) / len(values)), abs=1e-9)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    lowest, highest = sorted([shown(metric, 0.0), shown(metric, 1.0)])
    assert lowest - 1e-9 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= highest + 1e-9


@given(values=st.lists(st.sampled_from([0.0, 1.0]), min_size=1))
def test_bad_endings_are_estimated_as_a_proportion(values: list[float]) -> None:
    found = estimate(Metric.ENDED_BADLY, totals(*values))
    assert found.value == pytest.approx(1 - sum(values) / len(values))
    assert found.sample == len(values)


def test_nothing_is_watched_of_completion() -> None:
    assert estimate(Metric.COMPLETION_RATE, totals(1.0, 0.0)) == Estimate(sample=2)
    assert Metric.COMPLETION_RATE not in {stream.metric for stream, _ in readings(observation(model="m"))}


@given(values=st.lists(unit, min_size=2))
def test_failures_and_what_worked_have_intervals_of_one_width(values: list[float]) -> None:
    failed = estimate(Metric.FAILURE_RATE, totals(*values))
    score = estimate(Metric.QUALITY, totals(*values))
    assert failed.low is not None
    assert failed.high is not None
    assert score.low is not None
    assert score.high is not None
    assert 4 * (failed.high - failed.low) == pytest.approx(score.high - score.low, abs=1e-6)


def test_bad_endings_are_told_as_the_share_that_ended_badly() -> None:
    found = estimate(Metric.ENDED_BADLY, totals(*[1.0] * 75, *[0.0] * 25))
    assert (found.value, found.sample) == (0.25, 100)
    assert shown(Metric.ENDED_BADLY, 0.75) == 0.25
    assert shown_change(Metric.ENDED_BADLY, -0.5) == 0.5


def test_a_session_is_one_of_its_agent() -> None:
    assert (Dimension.AGENT, "codex") in groups(observation(agent="codex"))
