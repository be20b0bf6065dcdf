from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.alerts.baseline import Baseline, Day, Totals, a_month, is_due, make_baseline, stake, total
from tests.alert_examples import SHIPPED, totals

RULES = msgspec.structs.replace(SHIPPED, baseline_days=28, baseline_sessions=200)
unit = st.floats(min_value=0, max_value=1)
day_lists = st.lists(st.lists(unit, min_size=1, max_size=12), min_size=1, max_size=8).map(
    lambda days: [Day(number, totals(*values)) for number, values in enumerate(days)]
)
whole_totals = st.builds(Totals, *[st.integers(0, 10_000)] * 3)


def days_of(*good: int, sessions: int = 20) -> list[Day]:
    """Days on each of which so many of the sessions went well."""
    return [Day(number, Totals(sessions, count, count)) for number, count in enumerate(good)]


def made(days: list[Day], *, floor: float = 0.0) -> Baseline:
    return make_baseline(days, made_on=len(days), floor=floor, rules=RULES)


# -- sums ----------------------------------------------------------------------------------------------------------


@given(one=whole_totals, other=whole_totals)
def test_what_is_added_can_be_taken_away(one: Totals, other: Totals) -> None:
    assert one + other - other == one
    assert one + Totals() == one


def test_days_are_added_up() -> None:
    assert total([Day(1, totals(0.5, 1.0)), Day(2, totals(0.25))]) == totals(0.5, 1.0, 0.25)
    assert total([]) == Totals()


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([], id="nothing"),
        pytest.param([0.0] * 1000, id="only-the-worst"),
        pytest.param([1.0] * 1000, id="only-the-best"),
        pytest.param([0.5] * 1000, id="all-alike"),
    ],
)
def test_the_mean_is_never_at_an_end_and_the_variance_never_zero(values: list[float]) -> None:
    mean, variance = totals(*values).moments()
    assert 0 < mean < 1
    assert 0 < variance <= 0.25


@given(values=st.lists(unit, max_size=50))
def test_moments_are_those_of_the_values_and_half_a_value_at_each_end(values: list[float]) -> None:
    mean, variance = totals(*values).moments()
    weight = len(values) + 1
    expected = (sum(values) + 0.5) / weight
    assert mean == pytest.approx(expected)
    spread = (sum((value - expected) ** 2 for value in values) + 0.5 * (expected**2 + (1 - expected) ** 2)) / weight
    assert variance == pytest.approx(max(spread, 0.25 / weight**2), abs=1e-9)


# -- a baseline ----------------------------------------------------------------------------------------------------


@given(days=day_lists, floor=unit.map(lambda part: part * 0.9))
def test_a_baseline_keeps_its_promises(days: list[Day], floor: float) -> None:
    baseline = made(days, floor=floor)
    mean, _ = baseline.values.moments()
    assert baseline.floor >= floor
    assert baseline.floor <= baseline.bound < 1
    assert baseline.bound <= max(floor, mean)
    assert baseline.dispersion >= 1
    assert baseline.days == len(days)
    assert len(baseline.stakes) == len(RULES.drops)
    assert list(baseline.stakes) == sorted(baseline.stakes)


@given(days=day_lists, value=unit)
def test_no_value_takes_all_evidence_away(days: list[Day], value: float) -> None:
    baseline = made(days)
    assert all(1 + amount * (baseline.bound - value) > 0 for amount in baseline.stakes)


@given(days=day_lists)
def test_a_baseline_round_trips(days: list[Day]) -> None:
    baseline = made(days)
    assert msgspec.json.decode(msgspec.json.encode(baseline), type=Baseline) == baseline


def test_more_days_make_the_bound_more_certain() -> None:
    few, many = made(days_of(*[17] * 5)), made(days_of(*[17] * 10))
    assert few.bound < many.bound < 0.85
    assert few.floor < many.floor < many.bound


def test_days_that_differ_are_dispersed_and_the_bound_is_lower() -> None:
    alike, differing = made(days_of(*[15] * 10)), made(days_of(*[10, 20] * 5))
    assert differing.dispersion > alike.dispersion
    assert differing.bound < alike.bound


def test_the_mean_is_of_the_newest_days_and_the_dispersion_of_all() -> None:
    old_and_new = made(days_of(*[4] * 10, *[18] * 10))
    assert old_and_new.values == total(days_of(*[18] * 10))
    assert old_and_new.dispersion > made(days_of(*[18] * 10)).dispersion
    assert old_and_new.days == 20


def test_a_day_is_taken_whole() -> None:
    assert made(days_of(*[10] * 4, sessions=150)).values.sessions == 300


def test_all_days_are_taken_when_they_hold_too_few_sessions() -> None:
    assert made(days_of(*[17] * 5)).values.sessions == 100


def test_the_bound_never_sinks_below_the_floor_that_the_stream_had() -> None:
    declined = made(days_of(*[10] * 10), floor=0.8)
    assert (declined.floor, declined.bound) == (0.8, 0.8)


def test_a_better_time_lifts_the_floor() -> None:
    assert made(days_of(*[19] * 10), floor=0.1).floor > 0.1


# -- stakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "ratio"),
    [
        pytest.param(1.0, 0.75 / 0.85, id="a-good-value-speaks-for-the-old-mean"),
        pytest.param(0.0, 0.25 / 0.15, id="a-bad-value-speaks-for-the-new-mean"),
    ],
)
def test_a_bet_on_values_of_0_and_1_is_the_likelihood_ratio(value: float, ratio: float) -> None:
    mean = 0.85
    amount = stake(0.1, variance=mean * (1 - mean), room=1 - mean)
    assert 1 + amount * (mean - value) == pytest.approx(ratio)


@given(change=st.floats(0.001, 1), variance=st.floats(1e-6, 0.25), room=st.floats(1e-6, 1))
def test_a_bet_never_loses_all(change: float, variance: float, room: float) -> None:
    assert 0 < 1 - stake(change, variance=variance, room=room) * room < 1


# -- a new one -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "today", "expected"),
    [
        pytest.param(10, 10, False, id="nothing-new"),
        pytest.param(19, 19, False, id="some-more-days"),
        pytest.param(20, 20, True, id="twice-as-many-days"),
        pytest.param(10, 37, False, id="not-yet-of-another-time"),
        pytest.param(10, 38, True, id="of-another-time"),
        pytest.param(5, 20, False, id="fewer-days-after-an-alarm"),
    ],
)
def test_a_baseline_is_due_when_there_is_more_to_know(days: int, today: int, expected: bool) -> None:
    baseline = made(days_of(*[17] * 10))
    assert is_due(baseline, days_of(*[17] * days), today=today, rules=RULES) is expected


@pytest.mark.parametrize(
    ("days", "expected"),
    [pytest.param(27, False, id="not-all-days"), pytest.param(28, True, id="all-days-that-there-can-be")],
)
def test_a_baseline_is_due_when_all_days_are_known(days: int, expected: bool) -> None:
    baseline = made(days_of(*[17] * 20))
    assert is_due(baseline, days_of(*[17] * days), today=28, rules=RULES) is expected


def test_a_baseline_that_knows_all_days_waits_for_another_time() -> None:
    days = days_of(*[17] * 28)
    assert not is_due(made(days), days, today=55, rules=RULES)


# -- a month -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "until", "expected"),
    [
        pytest.param(days_of(*[9] * 10), 10, 600, id="twenty-a-day"),
        pytest.param(days_of(*[9] * 10), 20, 300, id="days-without-sessions-count"),
        pytest.param(days_of(9, sessions=50), 1, 1500, id="one-day"),
        pytest.param(days_of(9, sessions=50), 0, 1500, id="the-day-itself"),
        pytest.param(days_of(1, sessions=4), 30, 100, id="a-hundred-at-least"),
    ],
)
def test_a_month_is_estimated_from_the_days(days: list[Day], until: int, expected: float) -> None:
    assert a_month(days, until=until, rules=SHIPPED) == expected
