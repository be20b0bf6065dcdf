from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader_daemon.alerts.detector import DetectorState, begin, observe
from grader_daemon.alerts.watch import Alarmed, Event, Lost, Recovered, part_of, rules_for, watch
from grader_daemon.domain.alert import Observation, Stream
from grader_daemon.domain.rollup import WATCHED, Dimension, Metric
from tests.alert_examples import HASTY, OVERALL, SHIPPED, START, at, bad_observation, evenly, observation, use

CODING = Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "coding")
ALL_SESSIONS = [Stream(metric, Dimension.OVERALL, "") for metric in WATCHED]
States = dict[Stream, DetectorState]


def sessions(values: Sequence[float], first_day: float = 0.0, **changes: object) -> list[Observation]:
    """Twenty sessions a day that do not end badly where the value is 1."""
    return [
        observation(first_day + number / 20, ended_badly=not value, **changes) for number, value in enumerate(values)
    ]


def in_batches(observations: Sequence[Observation], cuts: Sequence[int]) -> tuple[States, list[Event]]:
    """What comes out when the sessions are watched batch by batch, and the states are rows in between."""
    states: States = {}
    events: list[Event] = []
    for start, end in zip((0, *cuts), (*cuts, len(observations)), strict=True):
        watched = watch(states, observations[start:end], since=START, rules=HASTY)
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
    watched = watch({}, sessions([*evenly(0.9, 100), *evenly(0.1, 30)]), since=START, rules=HASTY)
    [event] = [event for event in watched.events if event.stream == OVERALL]
    assert isinstance(event, Alarmed)
    state = watched.states[OVERALL]
    assert event.alarm.raised_at == event.at
    assert (state.alarm, state.baseline) != (None, None)
    assert event.baseline == state.baseline


def test_a_recovery_is_told() -> None:
    watched = watch({}, sessions([*evenly(0.9, 100), *evenly(0.1, 30), *evenly(0.9, 100)]), since=START, rules=HASTY)
    mine = [event for event in watched.events if event.stream == OVERALL]
    assert [type(event) for event in mine] == [Alarmed, Recovered]
    assert mine[0].at < mine[1].at
    assert watched.states[OVERALL].alarm is None


def test_only_what_changed_is_given() -> None:
    first = watch({}, sessions(evenly(0.9, 20), model="m"), since=START, rules=HASTY)
    second = watch(first.states, [observation(1)], since=START, rules=HASTY)
    assert set(second.states) < set(first.states)
    assert second.gone == frozenset()


def test_no_sessions_change_nothing() -> None:
    states = watch({}, sessions(evenly(0.9, 20)), since=START, rules=HASTY).states
    nothing = watch(states, [], since=START, rules=HASTY)
    assert (nothing.states, nothing.gone, nothing.events) == ({}, frozenset(), ())


def test_states_that_are_given_are_left_alone() -> None:
    states = watch({}, sessions(evenly(0.9, 20)), since=START, rules=HASTY).states
    kept = dict(states)
    watch(states, [*sessions(evenly(0.9, 20), 1), observation(90)], since=START, rules=HASTY)
    assert states == kept


@given(cuts=st.lists(st.integers(0, len(HISTORY)), max_size=6).map(sorted))
@settings(deadline=None)
def test_any_cut_into_batches_gives_the_same(cuts: list[int]) -> None:
    assert in_batches(HISTORY, cuts) == in_batches(HISTORY, [])


def test_the_history_that_is_cut_has_everything_in_it() -> None:
    _, events = in_batches(HISTORY, [])
    assert {type(event) for event in events} == {Alarmed, Recovered, Lost}


# -- how many are watched ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "part"),
    [
        pytest.param(OVERALL, SHIPPED.overall_part * SHIPPED.endings_part, id="endings-of-all-sessions"),
        pytest.param(  # four metrics of one task type share what is left to groups
            Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "general"),
            (1 - SHIPPED.overall_part) / 4,
            id="one-group",
        ),
    ],
)
def test_a_stream_has_its_part_of_the_false_alarms(stream: Stream, part: float) -> None:
    states = watch({}, sessions(evenly(0.9, 100), tool_calls=1), since=START, rules=HASTY).states
    alone = states[stream]
    for number in range(60):
        when = at(5 + number / 20)
        after = watch(states, [bad_observation(5 + number / 20, tool_calls=1)], since=START, rules=HASTY)
        states = {**states, **after.states}
        alone = observe(alone, 0.0, at=when, day=when.date().toordinal(), part=part, rules=HASTY)
    assert states[stream] == alone
    assert alone.alarm is not None


@given(groups=st.integers(1, 1000))
def test_all_parts_together_are_the_whole(groups: int) -> None:
    of_all = sum(part_of(stream, groups=groups, rules=SHIPPED) for stream in ALL_SESSIONS)
    assert of_all + groups * part_of(CODING, groups=groups, rules=SHIPPED) == pytest.approx(1)


def test_the_bad_endings_of_all_sessions_have_the_largest_part() -> None:
    parts = {stream: part_of(stream, groups=14, rules=SHIPPED) for stream in [*ALL_SESSIONS, CODING]}
    assert max(parts, key=parts.__getitem__) == ALL_SESSIONS[0]
    assert min(parts, key=parts.__getitem__) == CODING


def test_a_group_that_is_not_counted_yet_has_the_part_of_a_first_one() -> None:
    assert part_of(CODING, groups=0, rules=SHIPPED) == part_of(CODING, groups=1, rules=SHIPPED)


# -- history -------------------------------------------------------------------------------------------------------


def test_history_opens_nothing_whatever_is_in_it() -> None:
    history = sessions([*evenly(0.9, 200), *evenly(0.1, 200)])
    watched = watch({}, history, since=at(20), rules=HASTY)
    assert watched.events == ()
    assert watched.states[OVERALL].seen.sessions == 400
    assert watched.states[OVERALL].baseline is None


def test_the_first_session_after_the_history_arms_what_it_taught() -> None:
    learned = watch({}, sessions(evenly(0.9, 200)), since=at(10), rules=HASTY).states
    armed = watch(learned, [observation(10)], since=at(10), rules=HASTY).states[OVERALL]
    assert armed.baseline is not None
    assert armed.baseline.values.sessions == 201
    assert armed.evidence == (0.0,) * len(HASTY.drops)


def test_a_drop_after_the_history_is_found_against_it() -> None:
    learned = watch({}, sessions(evenly(0.9, 200)), since=at(10), rules=HASTY).states
    events = watch(learned, sessions(evenly(0.1, 60), 10), since=at(10), rules=HASTY).events
    [first, *_] = events
    assert isinstance(first, Alarmed)
    assert first.alarm.began_at >= at(10)


def test_history_of_a_stream_that_is_watched_is_no_evidence() -> None:
    states = watch({}, sessions(evenly(0.9, 100)), since=START, rules=HASTY).states
    after = watch(states, sessions(evenly(0.0, 100), 5), since=at(50), rules=HASTY)
    assert after.events == ()
    assert after.states[OVERALL].evidence == states[OVERALL].evidence


def test_history_is_no_part_of_a_drop_or_its_recovery() -> None:
    states = watch({}, sessions([*evenly(0.9, 100), *evenly(0.1, 30)]), since=START, rules=HASTY).states
    after = watch(states, sessions(evenly(1.0, 100), 7), since=at(50), rules=HASTY)
    assert after.events == ()
    assert after.states[OVERALL].alarm == states[OVERALL].alarm is not None


def test_no_more_streams_are_kept_than_the_rules_allow() -> None:
    rules = msgspec.structs.replace(HASTY, streams=5)
    states = watch(
        {}, [observation(number, task_type=f"type {number}") for number in range(5)], since=START, rules=rules
    ).states
    assert len(states) == 5
    assert {stream.dimension for stream in states} == {Dimension.OVERALL, Dimension.TASK_TYPE}
    full = watch(states, [observation(5, task_type="another")], since=START, rules=rules)
    assert {stream.dimension for stream in full.states} == {Dimension.OVERALL}


# -- streams that nothing is heard of ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "is_gone"),
    [pytest.param(5, False, id="as-long-as-the-rules-say"), pytest.param(6, True, id="longer-than-the-rules-say")],
)
def test_a_stream_without_sessions_is_let_go(day: int, is_gone: bool) -> None:
    states = watch({}, [observation(0, task_type="coding")], since=START, rules=HASTY).states
    later = watch(states, [observation(day)], since=START, rules=HASTY)
    assert (CODING in later.gone) is is_gone
    assert OVERALL not in later.gone or day > HASTY.forget_days


def test_a_stream_that_comes_back_begins_anew() -> None:
    observations = [
        *sessions(evenly(0.9, 40), task_type="coding"),
        observation(20),
        observation(21, task_type="coding"),
    ]
    states = watch({}, observations[:40], since=START, rules=HASTY).states
    later = watch(states, observations[40:], since=START, rules=HASTY)
    assert CODING not in later.gone
    day = at(21).date().toordinal()
    assert later.states[CODING] == observe(begin(day), 1.0, at=at(21), day=day, part=1.0, rules=HASTY)


def test_a_stream_that_is_let_go_makes_room() -> None:
    rules = msgspec.structs.replace(HASTY, streams=6)
    observations = [observation(0, task_type="old"), observation(3), observation(6, task_type="new")]
    watched = watch({}, observations, since=START, rules=rules)
    assert {stream.name for stream in watched.states} == {"", "new"}


def test_an_alarm_that_nothing_is_heard_of_is_lost_and_not_recovered() -> None:
    states = watch(
        {}, sessions([*evenly(0.9, 60), *evenly(0.1, 30)], task_type="coding"), since=START, rules=HASTY
    ).states
    assert states[CODING].alarm is not None
    later = watch(states, [observation(8), observation(13)], since=START, rules=HASTY)
    mine = [event for event in later.events if event.stream == CODING]
    assert mine == [Lost(stream=CODING, at=at(13))]
    assert CODING in later.gone


def test_a_stream_without_sessions_has_neither_alarm_nor_recovery() -> None:
    history = sessions(evenly(0.9, 200), task_type="coding")
    states = watch({}, history, since=START, rules=SHIPPED).states
    later = watch(states, sessions(evenly(0.9, 400), 10), since=START, rules=SHIPPED)
    assert later.events == ()
    assert CODING not in later.states


# -- scheduled jobs ------------------------------------------------------------------------------------------------

NIGHTLY = Stream(Metric.ENDED_BADLY, Dimension.JOB, "nightly")
HASTY_JOBS = msgspec.structs.replace(HASTY, arming_sessions=100, job_runs=10)


def runs(values: Sequence[float], job: str = "nightly", first_day: int = 0) -> list[Observation]:
    """A run a day, which ends badly where the value is 0."""
    return [
        observation(first_day + day, scheduled=True, job=job, ended_badly=not value) for day, value in enumerate(values)
    ]


def test_a_job_is_watched_from_fewer_runs_on_than_other_groups() -> None:
    watched = watch({}, runs([*[1.0] * 20, *[0.0] * 10]), since=START, rules=HASTY_JOBS)
    [event] = watched.events
    assert isinstance(event, Alarmed)
    assert event.stream == NIGHTLY


@given(jobs=st.integers(1, 1000))
def test_jobs_share_false_alarms_of_their_own(jobs: int) -> None:
    assert jobs * part_of(NIGHTLY, groups=7, jobs=jobs, rules=SHIPPED) == pytest.approx(SHIPPED.jobs_part)
    assert part_of(CODING, groups=7, jobs=jobs, rules=SHIPPED) == part_of(CODING, groups=7, rules=SHIPPED)


def test_many_jobs_take_no_room_from_tasks_of_persons_nor_these_from_them() -> None:
    few = msgspec.structs.replace(HASTY, streams=4)
    first = watch({}, [*runs([1.0], "a"), *runs([1.0], "b")], since=START, rules=few)
    both = watch(first.states, [observation(1, tool_calls=2, scheduled=False)], since=START, rules=few)
    crowd = [each for number in range(9) for each in runs([1.0], f"job {number}")]
    states = watch({}, crowd, since=START, rules=few).states
    assert {stream.name for stream in both.states} == {""}
    assert sum(stream.dimension is Dimension.JOB for stream in states) == few.streams


def test_rules_of_jobs_are_for_jobs_alone() -> None:
    assert rules_for(CODING, SHIPPED) == SHIPPED
    assert rules_for(NIGHTLY, SHIPPED).drops == SHIPPED.job_drops


def test_a_job_that_no_longer_runs_is_forgotten() -> None:
    states = watch({}, runs([1.0] * 20), since=START, rules=HASTY_JOBS).states
    later = watch(states, runs([1.0] * 20, "other", 30), since=START, rules=HASTY_JOBS)
    assert NIGHTLY in later.gone


@pytest.mark.parametrize(
    ("agents", "watched"),
    [
        pytest.param(["hermes", "hermes"], set(), id="alone-it-is-all-there-is"),
        pytest.param(["hermes", "codex", "hermes"], {"codex", "hermes"}, id="beside-another"),
    ],
)
def test_agents_are_watched_apart_once_there_are_several(agents: list[str], watched: set[str]) -> None:
    seen = [observation(number, agent=agent) for number, agent in enumerate(agents)]
    states = watch({}, seen, since=START, rules=HASTY).states
    assert {stream.name for stream in states if stream.dimension is Dimension.AGENT} == watched
