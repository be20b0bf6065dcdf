from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader_daemon.alerts.detector import DetectorState, begin, observe
from grader_daemon.alerts.watch import Alarmed, Event, Lost, Recovered, watch
from grader_daemon.domain.alert import Metric, Observation, Stream
from grader_daemon.domain.rollup import Dimension
from tests.alert_examples import HASTY, OVERALL, SHIPPED, at, bad_observation, evenly, observation, use

CODING = Stream(Metric.COMPLETION_RATE, Dimension.TASK_TYPE, "coding")
States = dict[Stream, DetectorState]


def sessions(values: Sequence[float], first_day: float = 0.0, **changes: object) -> list[Observation]:
    """Twenty sessions a day that are completed where the value is 1."""
    return [
        observation(first_day + number / 20, task_completed=bool(value), **changes)
        for number, value in enumerate(values)
    ]


def in_batches(observations: Sequence[Observation], cuts: Sequence[int]) -> tuple[States, list[Event]]:
    """What comes out when the sessions are watched batch by batch, and the states are rows in between."""
    states: States = {}
    events: list[Event] = []
    for start, end in zip((0, *cuts), (*cuts, len(observations)), strict=True):
        watched = watch(states, observations[start:end], rules=HASTY)
        events += watched.events
        rows = {stream: msgspec.json.encode(state) for stream, state in watched.states.items()}
        for stream in watched.gone:
            states.pop(stream, None)
        states |= {stream: msgspec.json.decode(row, type=DetectorState) for stream, row in rows.items()}
    return states, events


HISTORY = [
    *sessions(evenly(0.9, 60), task_type="coding"),
    *sessions(evenly(0.1, 30), 3, task_type="coding"),
    *sessions(evenly(0.9, 60), 5, model="m", tools=(use("t", 2, 1),), tool_calls=2),
    *sessions(evenly(0.1, 30), 8, model="m"),
    *sessions(evenly(0.9, 60), 16),
]


# -- what happened -------------------------------------------------------------------------------------------------


def test_a_drop_is_told_with_its_numbers() -> None:
    watched = watch({}, sessions([*evenly(0.9, 100), *evenly(0.1, 30)]), rules=HASTY)
    [event] = [event for event in watched.events if event.stream == OVERALL]
    assert isinstance(event, Alarmed)
    state = watched.states[OVERALL]
    assert event.alarm.raised_at == event.at
    assert (state.alarm, state.baseline) != (None, None)
    assert event.baseline == state.baseline


def test_a_recovery_is_told() -> None:
    watched = watch({}, sessions([*evenly(0.9, 100), *evenly(0.1, 30), *evenly(0.9, 100)]), rules=HASTY)
    mine = [event for event in watched.events if event.stream == OVERALL]
    assert [type(event) for event in mine] == [Alarmed, Recovered]
    assert mine[0].at < mine[1].at
    assert watched.states[OVERALL].alarm is None


def test_only_what_changed_is_given() -> None:
    first = watch({}, sessions(evenly(0.9, 20), model="m"), rules=HASTY)
    second = watch(first.states, [observation(1)], rules=HASTY)
    assert set(second.states) < set(first.states)
    assert second.gone == frozenset()


def test_no_sessions_change_nothing() -> None:
    states = watch({}, sessions(evenly(0.9, 20)), rules=HASTY).states
    nothing = watch(states, [], rules=HASTY)
    assert (nothing.states, nothing.gone, nothing.events) == ({}, frozenset(), ())


def test_states_that_are_given_are_left_alone() -> None:
    states = watch({}, sessions(evenly(0.9, 20)), rules=HASTY).states
    kept = dict(states)
    watch(states, [*sessions(evenly(0.9, 20), 1), observation(90)], rules=HASTY)
    assert states == kept


@given(cuts=st.lists(st.integers(0, len(HISTORY)), max_size=6).map(sorted))
@settings(deadline=None)
def test_any_cut_into_batches_gives_the_same(cuts: list[int]) -> None:
    assert in_batches(HISTORY, cuts) == in_batches(HISTORY, [])


def test_the_history_that_is_cut_has_everything_in_it() -> None:
    _, events = in_batches(HISTORY, [])
    assert {type(event) for event in events} == {Alarmed, Recovered, Lost}


# -- how many are watched ------------------------------------------------------------------------------------------


def test_the_threshold_counts_the_streams_that_are_armed() -> None:
    states = watch({}, sessions(evenly(0.9, 100)), rules=HASTY).states
    armed = sum(state.baseline is not None for state in states.values())
    alone = states[OVERALL]
    for number in range(40):
        after = watch(states, [bad_observation(5 + number / 20)], rules=HASTY)
        states = {**states, **after.states}
        alone = observe(
            alone, 0.0, at=at(5 + number / 20), day=at(5 + number / 20).date().toordinal(), streams=armed, rules=HASTY
        )
    assert armed > 1
    assert states[OVERALL] == alone
    assert alone.alarm is not None


def test_no_more_streams_are_kept_than_the_rules_allow() -> None:
    rules = msgspec.structs.replace(HASTY, streams=5)
    states = watch({}, [observation(number, task_type=f"type {number}") for number in range(5)], rules=rules).states
    assert len(states) == 5
    assert {stream.dimension for stream in states} == {Dimension.OVERALL, Dimension.TASK_TYPE}
    full = watch(states, [observation(5, task_type="another")], rules=rules)
    assert {stream.dimension for stream in full.states} == {Dimension.OVERALL}


# -- streams that nothing is heard of ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "is_gone"),
    [pytest.param(5, False, id="as-long-as-the-rules-say"), pytest.param(6, True, id="longer-than-the-rules-say")],
)
def test_a_stream_without_sessions_is_let_go(day: int, is_gone: bool) -> None:
    states = watch({}, [observation(0, task_type="coding")], rules=HASTY).states
    later = watch(states, [observation(day)], rules=HASTY)
    assert (CODING in later.gone) is is_gone
    assert OVERALL not in later.gone or day > HASTY.forget_days


def test_a_stream_that_comes_back_begins_anew() -> None:
    observations = [
        *sessions(evenly(0.9, 40), task_type="coding"),
        observation(20),
        observation(21, task_type="coding"),
    ]
    states = watch({}, observations[:40], rules=HASTY).states
    later = watch(states, observations[40:], rules=HASTY)
    assert CODING not in later.gone
    day = at(21).date().toordinal()
    assert later.states[CODING] == observe(begin(day), 1.0, at=at(21), day=day, streams=1, rules=HASTY)


def test_a_stream_that_is_let_go_makes_room() -> None:
    rules = msgspec.structs.replace(HASTY, streams=6)
    observations = [observation(0, task_type="old"), observation(3), observation(6, task_type="new")]
    watched = watch({}, observations, rules=rules)
    assert {stream.name for stream in watched.states} == {"", "new"}


def test_an_alarm_that_nothing_is_heard_of_is_lost_and_not_recovered() -> None:
    states = watch({}, sessions([*evenly(0.9, 60), *evenly(0.1, 30)], task_type="coding"), rules=HASTY).states
    assert states[CODING].alarm is not None
    later = watch(states, [observation(8), observation(13)], rules=HASTY)
    mine = [event for event in later.events if event.stream == CODING]
    assert mine == [Lost(stream=CODING, at=at(13))]
    assert CODING in later.gone


def test_a_stream_without_sessions_has_neither_alarm_nor_recovery() -> None:
    history = sessions(evenly(0.9, 200), task_type="coding")
    states = watch({}, history, rules=SHIPPED).states
    later = watch(states, sessions(evenly(0.9, 400), 10), rules=SHIPPED)
    assert later.events == ()
    assert CODING not in later.states
