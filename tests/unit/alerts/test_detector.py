from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.alerts.baseline import Totals
from grader_daemon.alerts.detector import DetectorState, begin, evidence_of, observe, read_state
from tests.alert_examples import (
    HASTY,
    SHIPPED,
    alarm_of,
    at,
    baseline_of,
    coins,
    evenly,
    final,
    first_alarm,
    steps,
    totals,
)

GOOD = evenly(0.9, 20)
BAD = evenly(0.2, 20)
WEEKS = GOOD * 14
"""Two good weeks."""
MONTH = GOOD * 28

quarters = st.integers(0, 4).map(lambda number: number / 4)
unit = st.floats(min_value=0, max_value=1)
day_lists = st.lists(st.lists(unit, max_size=12), min_size=1, max_size=12)


def next_day(state: DetectorState, day: int) -> DetectorState:
    """One good session on the day."""
    return observe(state, 1.0, at=at(day), day=day, part=1.0, rules=SHIPPED)


def alarmed_state() -> DetectorState:
    """As it is when the alarm is raised after two good weeks."""
    return next(state for state in steps(WEEKS + BAD * 20) if state.alarm is not None)


# -- before there is a baseline ------------------------------------------------------------------------------------


def test_a_stream_begins_with_nothing_known() -> None:
    state = begin(7)
    assert (state.day, state.began_day, state.baseline, state.alarm) == (7, 7, None, None)
    assert evidence_of(state) == 0


@pytest.mark.parametrize("a_day", [pytest.param(number, id=f"{number}-a-day") for number in (1, 3, 20, 1000)])
def test_a_stream_is_armed_by_sessions_however_many_there_are_a_day(a_day: int) -> None:
    states = list(steps(evenly(0.9, 120), a_day=a_day))
    armed = [state.baseline is not None for state in states]
    assert armed.index(True) + 1 == SHIPPED.arming_sessions
    assert all(armed[SHIPPED.arming_sessions :])


def test_nothing_is_said_of_a_stream_that_is_not_armed() -> None:
    states = list(steps(evenly(0.9, 50) + [0.0] * 49))
    assert not any(state.alarm for state in states)
    assert {evidence_of(state) for state in states} == {0.0}


def test_a_stream_that_is_armed_has_one_of_each_for_each_drop() -> None:
    state = final(WEEKS)
    lengths = {len(baseline_of(state).stakes), len(state.evidence), len(state.climbs), len(state.starts)}
    assert lengths == {len(SHIPPED.drops)}


# -- days ----------------------------------------------------------------------------------------------------------


def test_a_short_day_goes_on_into_the_next() -> None:
    state = final(evenly(0.9, 90), a_day=1)
    assert all(day.values.sessions >= 2 for day in state.days)
    assert [day.number for day in state.days] == sorted({day.number for day in state.days})
    assert sum([day.values.sessions for day in state.days]) + (state.seen - state.morning).sessions == 90


def test_only_so_many_days_are_kept() -> None:
    assert len(final(GOOD * 40).days) == SHIPPED.baseline_days


def test_a_day_before_the_last_one_counts_as_the_last_one() -> None:
    state = final(WEEKS)
    back = observe(state, 1.0, at=at(3), day=3, part=1.0, rules=SHIPPED)
    same = observe(state, 1.0, at=at(3), day=state.day, part=1.0, rules=SHIPPED)
    assert back == same


def test_a_long_pause_changes_nothing_but_the_month() -> None:
    state = final(WEEKS)
    later = next_day(state, state.day + 10)
    assert later.alarm is None
    assert later.day == state.day + 10
    assert later.monthly < state.monthly


# -- no drop, no alarm ---------------------------------------------------------------------------------------------


@given(value=unit, a_day=st.sampled_from([1, 7, 50]))
def test_what_never_changes_never_alarms(value: float, a_day: int) -> None:
    assert first_alarm(steps([value] * 300, a_day=a_day)) is None


@given(good=st.floats(min_value=0.5, max_value=1), rise=unit)
def test_what_gets_better_never_alarms(good: float, rise: float) -> None:
    better = good + rise * (1 - good)
    assert first_alarm(steps([good] * 150 + [better] * 150)) is None


def test_a_long_flat_run_raises_nothing() -> None:
    assert first_alarm(steps(coins(0.85, 3000, seed=7))) is None


def test_good_sessions_leave_no_climb() -> None:
    state = final([1.0] * 100 + [1.0] * 300)
    assert set(state.climbs) == {1.0}
    assert evidence_of(state) < 300


def test_a_stream_that_has_nothing_to_lose_never_alarms() -> None:
    states = list(steps([0.0] * 1000, rules=HASTY))
    assert first_alarm(states) is None
    assert evidence_of(states[-1]) > HASTY.months_per_false_alarm * states[-1].monthly


@pytest.mark.parametrize(
    ("value", "is_evidence"),
    [pytest.param(0.0, True, id="a-bad-one-is-a-bet-won"), pytest.param(1.0, False, id="a-good-one-is-a-bet-lost")],
)
def test_the_first_session_that_is_watched_counts(value: float, is_evidence: bool) -> None:
    armed = final(evenly(0.9, SHIPPED.arming_sessions))
    assert evidence_of(armed) == 0
    after = final([value], state=armed, first_day=armed.day)
    assert (evidence_of(after) > 1) is is_evidence


# -- a drop --------------------------------------------------------------------------------------------------------


def test_a_drop_is_found_soon() -> None:
    before = coins(0.85, 560, seed=7)
    found = first_alarm(steps(before + coins(0.70, 250, seed=8)))
    assert found is not None
    assert 560 < found <= 810


@pytest.mark.parametrize(
    ("normal", "bad"),
    [
        pytest.param(GOOD, [0.0] * 20, id="nothing-is-completed"),
        pytest.param(GOOD, BAD, id="a-fifth-is-completed"),
        pytest.param([1.0] * 20, GOOD[:5] + [0.0] * 15, id="it-was-perfect"),
        pytest.param([0.75] * 20, [0.25] * 20, id="scores-that-never-differ"),
        pytest.param(evenly(0.3, 20), [0.0] * 20, id="it-was-poor"),
    ],
)
def test_a_deep_drop_is_found_within_days(normal: list[float], bad: list[float]) -> None:
    found = first_alarm(steps(normal * 14 + bad * 10))
    assert found is not None
    assert found > 14 * 20


def test_an_alarm_knows_when_the_drop_began() -> None:
    alarm = alarm_of(alarmed_state())
    assert at(13.5) <= alarm.began_at <= at(14.5)
    assert alarm.began_at < alarm.raised_at
    assert alarm.evidence > alarm.threshold


def test_an_alarm_sums_the_values_since_the_drop_began() -> None:
    state = alarmed_state()
    alarm = alarm_of(state)
    first = round((alarm.began_at - at(0)).total_seconds() / 86_400 * 20)
    values = (WEEKS + BAD * 20)[first : state.seen.sessions]
    assert alarm.since == alarm.bad == totals(*values)
    assert alarm.better == Totals()


def test_the_days_of_a_drop_are_let_go() -> None:
    assert alarmed_state().days == ()


def test_more_streams_ask_for_more_evidence() -> None:
    alone, among_many = (first_alarm(steps(WEEKS + BAD * 20, part=part)) for part in (1.0, 0.001))
    assert alone is not None
    assert among_many is not None
    assert alone < among_many


def test_the_threshold_is_of_all_streams_together() -> None:
    one, ten = (next(state for state in steps(WEEKS + BAD * 20, part=part) if state.alarm) for part in (1.0, 0.1))
    assert alarm_of(ten).threshold == pytest.approx(10 * alarm_of(one).threshold, rel=0.05)


@given(before=st.lists(quarters, max_size=15), pair=st.sets(quarters, min_size=2, max_size=2), after=st.lists(quarters))
def test_a_lower_value_never_lowers_the_evidence(before: list[float], pair: set[float], after: list[float]) -> None:
    low, high = sorted(pair)
    armed = final(evenly(0.8, 200))
    ones = steps([*before, high, *after], state=armed, first_day=armed.day, a_day=100)
    worse_ones = steps([*before, low, *after], state=armed, first_day=armed.day, a_day=100)
    for one, worse in zip(ones, worse_ones, strict=True):
        if worse.alarm is not None:
            return
        assert one.alarm is None
        assert evidence_of(worse) >= evidence_of(one) * (1 - 1e-9)


# -- recovery ------------------------------------------------------------------------------------------------------


def test_an_alarm_ends_when_the_stream_is_back() -> None:
    alarm = alarmed_state()
    states = list(steps(GOOD * 10, state=alarm, first_day=alarm.day + 1))
    back = next(number for number, state in enumerate(states) if state.alarm is None)
    assert baseline_of(states[back]).bound == baseline_of(alarm).bound
    assert states[back].days == ()
    assert evidence_of(states[back]) == 0
    assert all(state.alarm is None for state in states[back:])


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(BAD * 30, id="as-bad-as-it-was"),
        pytest.param([0.0] * 600, id="worse"),
        pytest.param(evenly(0.3, 20) * 30, id="hardly-better"),
    ],
)
def test_an_alarm_stands_while_it_is_bad(values: list[float]) -> None:
    alarm = alarmed_state()
    assert all(state.alarm for state in steps(values, state=alarm, first_day=alarm.day + 1))


def test_what_is_bad_is_learned_while_the_alarm_stands() -> None:
    alarm = alarmed_state()
    worse = final([0.0] * 200, state=alarm, first_day=alarm.day + 1)
    assert alarm_of(worse).level < alarm_of(alarm).level
    assert alarm_of(worse).bad.sessions == alarm_of(alarm).bad.sessions + 200
    assert alarm_of(worse).since == alarm_of(alarm).since


def test_a_recovery_that_was_none_is_learned_as_bad() -> None:
    alarm = alarmed_state()
    *_, hopeful = steps([1.0] * 2, state=alarm, first_day=alarm.day + 1)
    assert alarm_of(hopeful).better == totals(1.0, 1.0)
    assert alarm_of(hopeful).bad == alarm_of(alarm).bad
    *_, lost = steps([0.0] * 40, state=hopeful, first_day=hopeful.day)
    assert alarm_of(lost).better == Totals()
    assert alarm_of(lost).bad.sessions == alarm_of(alarm).bad.sessions + 42


def test_a_second_drop_is_found_after_a_recovery() -> None:
    alarms = [state.alarm is not None for state in steps(WEEKS + BAD * 5 + GOOD * 20 + BAD * 5)]
    assert [stands for stands, _ in itertools.groupby(alarms)] == [False, True, False, True]


def test_the_baseline_is_gathered_anew_after_a_recovery() -> None:
    states = list(steps(WEEKS + BAD * 5 + GOOD * 50))
    assert not any(state.alarm for state in states[-20 * 40 :])
    last = states[-1]
    assert last.days[0].number >= 19
    assert baseline_of(last).made_on > 19


def test_the_baseline_stays_as_it_is_while_an_alarm_stands() -> None:
    alarm = alarmed_state()
    later = final(BAD * 40, state=alarm, first_day=alarm.day + 1)
    assert baseline_of(later) == baseline_of(alarm)
    assert later.days == ()


# -- renewals of the baseline --------------------------------------------------------------------------------------


def test_a_young_baseline_is_renewed_as_days_come_in() -> None:
    young, grown = final(GOOD * 6), final(MONTH + GOOD * 2)
    assert baseline_of(grown).days > baseline_of(young).days
    assert baseline_of(grown).bound > baseline_of(young).bound


def test_a_baseline_of_another_time_is_renewed() -> None:
    state = final(MONTH)
    later = next_day(state, state.day + SHIPPED.baseline_days)
    assert baseline_of(later).made_on == later.day


def test_a_renewal_keeps_the_evidence() -> None:
    state = final(MONTH)
    later = next_day(state, state.day + SHIPPED.baseline_days)
    assert baseline_of(later) != baseline_of(state)
    assert evidence_of(later) > evidence_of(state) / 2 > 0


def test_no_baseline_is_renewed_while_a_drop_may_be_beginning() -> None:
    state = final(MONTH)
    climbing = msgspec.structs.replace(state, climbs=(1e9,) * len(state.climbs))
    later = next_day(climbing, state.day + SHIPPED.baseline_days)
    assert later.baseline == state.baseline
    assert later.days[-1].number > state.days[-1].number


def test_other_drops_in_the_rules_begin_afresh_with_the_next_baseline() -> None:
    state = final(MONTH)
    rules = msgspec.structs.replace(SHIPPED, drops=(0.1, 0.2))
    day = state.day + SHIPPED.baseline_days
    later = observe(state, 1.0, at=at(day), day=day, part=1.0, rules=rules)
    assert {len(baseline_of(later).stakes), len(later.evidence), len(later.climbs), len(later.starts)} == {2}
    assert later.climbs == (1.0, 1.0)


# -- the floor -----------------------------------------------------------------------------------------------------


@given(rates=st.lists(st.sampled_from([0.7, 0.8, 0.9, 1.0]), min_size=10, max_size=40))
def test_the_floor_never_sinks(rates: list[float]) -> None:
    values = [value for rate in rates for value in evenly(rate, 20)]
    floors = [state.baseline.floor for state in steps(values) if state.baseline is not None]
    assert floors == sorted(floors)


def test_a_decline_that_is_too_slow_to_see_is_found_at_the_floor() -> None:
    declining = [value for day in range(600) for value in evenly(0.9 - 0.6 * day / 600, 20)]
    found = first_alarm(steps(MONTH + declining))
    assert found is not None
    before = final((MONTH + declining)[: found - 1])
    assert baseline_of(before).bound >= baseline_of(before).floor


def test_a_stream_that_was_bad_from_its_first_day_on_is_normal() -> None:
    assert first_alarm(steps(BAD * 60)) is None


# -- any values ----------------------------------------------------------------------------------------------------


@given(days=day_lists, pauses=st.lists(st.integers(0, 40), min_size=12, max_size=12))
def test_a_state_keeps_its_promises_and_round_trips(days: list[list[float]], pauses: list[int]) -> None:
    state = begin(0)
    for day, values in zip(itertools.accumulate(pauses), days, strict=False):
        for value in values:
            state = observe(state, value, at=at(day), day=day, part=1 / 3, rules=HASTY)
            assert all(amount >= 0 for amount in state.evidence)
            assert all(climb >= 1 for climb in state.climbs)
            assert (state.baseline is not None) or state.alarm is None
    assert msgspec.json.decode(msgspec.json.encode(state), type=DetectorState) == state


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(begin(3), id="new"),
        pytest.param(final(GOOD), id="not-armed"),
        pytest.param(final(WEEKS), id="armed"),
        pytest.param(final(WEEKS + BAD[:5]), id="climbing"),
        pytest.param(alarmed_state(), id="alarmed"),
        pytest.param(final([1.0] * 2, state=alarmed_state(), first_day=20), id="recovering"),
    ],
)
def test_a_restart_forgets_nothing(state: DetectorState) -> None:
    kept = msgspec.json.decode(msgspec.json.encode(state), type=DetectorState)
    assert kept == state
    rest = (BAD + GOOD) * 5
    assert final(rest, state=kept, first_day=30) == final(rest, state=state, first_day=30)


# -- states that were kept -----------------------------------------------------------------------------------------


def kept(state: DetectorState, *, today: int = 10_000_000) -> DetectorState | None:
    return read_state(msgspec.json.encode(state), today=today, drops=len(HASTY.drops))


@pytest.mark.parametrize("count", [1, 9, 60, 100], ids=["one-session", "no-baseline-yet", "a-baseline", "an-alarm"])
def test_a_state_that_was_kept_is_read_as_it_was(count: int) -> None:
    state = final([*evenly(0.9, 60), *evenly(0.1, 40)][:count], rules=HASTY)
    assert kept(state) == state


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _: "", id="empty"),
        pytest.param(lambda _: "null", id="null"),
        pytest.param(lambda _: "[]", id="another-shape"),
        pytest.param(lambda state: json.dumps(state)[:-7], id="cut-short"),
        pytest.param(lambda _: "{}", id="nothing-in-it"),
        pytest.param(lambda state: json.dumps({**state, "day": "monday"}), id="a-day-in-words"),
        pytest.param(lambda state: json.dumps({**state, "evidence": [None]}), id="no-number"),
        *(
            pytest.param(
                lambda state, name=name: json.dumps({key: value for key, value in state.items() if key != name}),
                id=f"without-{name}",
            )
            for name in ("day", "evidence", "climbs", "starts")
        ),
    ],
)
def test_a_damaged_state_is_none(damage: Callable[[dict[str, Any]], str]) -> None:
    state = msgspec.to_builtins(final(evenly(0.9, 60), rules=HASTY))
    assert read_state(damage(state).encode(), today=10_000_000, drops=len(HASTY.drops)) is None


@pytest.mark.parametrize("drops", [1, 5])
def test_a_state_for_another_number_of_drops_is_none(drops: int) -> None:
    content = msgspec.json.encode(final(evenly(0.9, 60), rules=HASTY))
    assert read_state(content, today=10_000_000, drops=drops) is None


def test_a_state_of_a_clock_that_was_ahead_is_brought_back() -> None:
    """Else baselines are not renewed until that day, and a drop is found late."""
    today = at(400).toordinal()
    state = final(evenly(0.9, 60), rules=HASTY)
    ahead = final(evenly(0.9, 60), state=state, first_day=at(765).toordinal(), rules=HASTY)
    found = kept(ahead, today=today)
    assert found is not None
    assert (found.day, found.began_day <= today, baseline_of(found).made_on <= today) == (today, True, True)
    assert all(day.number <= today for day in found.days)
    assert (found.seen, found.evidence) == (ahead.seen, ahead.evidence)


def test_one_that_has_no_baseline_yet_is_brought_back_too() -> None:
    found = kept(begin(day=at(765).toordinal()), today=at(400).toordinal())
    assert found is not None
    assert (found.day, found.baseline) == (at(400).toordinal(), None)
