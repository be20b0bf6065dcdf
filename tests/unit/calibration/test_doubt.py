from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.calibration.doubt import Seen, doubtful

seen = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40)


def told(likely: float, *, done: int, of: int) -> Seen:
    return [(likely, number < done) for number in range(of)]


def drawn(count: int, *, shift: float) -> Seen:
    """Sessions that are completed less often by `shift` than is said of them."""
    chance = random.Random(3)
    likely = [chance.random() for _ in range(count)]
    return [(p, chance.random() < p - shift) for p in likely]


@pytest.mark.parametrize(
    ("shift", "low", "high"),
    [pytest.param(0.0, 0.4, 0.6, id="right"), pytest.param(0.2, 0.6, 0.8, id="too-high-by-a-fifth")],
)
def test_the_ends_are_where_two_and_three_of_five_were_completed(shift: float, low: float, high: float) -> None:
    assert doubtful([drawn(20_000, shift=shift)]) == pytest.approx((low, high), abs=0.03)


def test_without_sessions_a_probability_is_taken_at_its_word() -> None:
    # The grid of a twentieth: the first step above 0.4 is 0.425, the first that is not below 0.6 is 0.625.
    assert doubtful([]) == doubtful([[]]) == (0.425, 0.625)


def test_one_session_does_not_say_otherwise() -> None:
    # Put together with its neighbours from 0.675 on, 3.9 of 6 sessions were completed: still three of five.
    assert doubtful([told(0.9, done=0, of=1)]) == (0.425, 0.625)


def test_where_hardly_any_is_completed_no_probability_is_sure_that_one_was() -> None:
    assert doubtful([told(0.2, done=0, of=500), told(0.97, done=50, of=500)]) == (0.975, 0.975)


def test_where_nearly_all_are_completed_nothing_that_was_seen_is_doubtful() -> None:
    assert doubtful([told(0.1, done=900, of=1000), told(0.9, done=990, of=1000)]) == (0.1, 0.1)


def test_a_place_with_few_sessions_has_as_much_say_as_one_with_many() -> None:
    # At 0.5, 10 of 10 in one place and 200 of 1000 in the other: 60 % of both alike, 21 % of all sessions.
    assert doubtful([told(0.5, done=10, of=10), told(0.5, done=220, of=1000)])[1] <= 0.5


@given(places=st.lists(seen, max_size=4))
def test_the_ends_are_in_order_whatever_was_seen(places: list[Seen]) -> None:
    low, high = doubtful(places)
    assert 0 <= low <= high <= 1
