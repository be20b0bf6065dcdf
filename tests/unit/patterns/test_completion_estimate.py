from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.feedback import FEWEST_DRAWN
from grader_daemon.domain.rollup import MILLIONTHS, Sums
from grader_daemon.patterns.completion_estimate import WINDOW_DAYS, estimate_completion
from tests.feedback_examples import reviewed

WEEK = Span(date(2026, 11, 16), date(2026, 11, 22))


def sums(sessions: int, completed: int) -> Sums:
    """Sessions of which so many are predicted to be completed."""
    return Sums(sessions=sessions, completed=completed, predicted_millionths=completed * MILLIONTHS)


def test_sessions_that_a_person_judged_count_as_judged() -> None:
    labels = [reviewed(completed=False)] * 20

    found = estimate_completion(sums(20, 0), labels, WEEK)

    assert found == Estimate(value=0.0, low=0.0, high=0.0, sample=20)


@pytest.mark.parametrize(
    ("changes", "sample"),
    [
        pytest.param({}, 20, id="all"),
        pytest.param({"has_scores": False}, 0, id="of-interrupted-sessions"),
        pytest.param({"drawn_at_random": False}, 0, id="not-drawn-at-random"),
        pytest.param({"went_on": True}, 0, id="judged-before-the-session-went-on"),
        pytest.param({"is_finished": False}, 0, id="still-open"),
        pytest.param({"completed": None, "quality": 3}, 0, id="quality-only"),
        pytest.param({"ended_on": "2026-11-23"}, 0, id="after-the-week"),
        pytest.param({"ended_on": (WEEK.last - timedelta(days=WINDOW_DAYS - 1)).isoformat()}, 20, id="eight-weeks-ago"),
        pytest.param({"ended_on": (WEEK.last - timedelta(days=WINDOW_DAYS)).isoformat()}, 0, id="longer-ago"),
    ],
)
def test_labels_of_eight_weeks_drawn_at_random_check_the_rate(changes: dict[str, object], sample: int) -> None:
    found = estimate_completion(sums(40, 30), [reviewed(**changes)] * 20, WEEK)

    assert found.sample == sample
    assert (found.value is None) == (sample < FEWEST_DRAWN)


def test_labels_of_earlier_weeks_alone_leave_much_open() -> None:
    older = [reviewed(completed=number % 2 == 0, ended_on="2026-11-10") for number in range(40)]
    own = [reviewed(completed=number % 2 == 0) for number in range(20)]

    alone, helped = (estimate_completion(sums(400, 200), [*older, *own[:count]], WEEK) for count in (0, 20))

    assert width(alone) > 0.6
    assert width(helped) < 0.4


def test_nineteen_labels_give_no_rate() -> None:
    found = estimate_completion(sums(40, 30), [reviewed()] * (FEWEST_DRAWN - 1), WEEK)

    assert found == Estimate(sample=FEWEST_DRAWN - 1)


@given(
    cut_short=st.integers(1, 200), stopped=st.integers(0, 200), truth=st.lists(st.booleans(), min_size=20, max_size=40)
)
def test_sessions_that_were_cut_short_never_raise_the_rate(cut_short: int, stopped: int, truth: list[bool]) -> None:
    labels = [reviewed(completed=told) for told in truth]
    before = sums(60, 30)
    interrupted = Sums(sessions=cut_short + stopped, interrupted=cut_short + stopped, interrupted_judged=cut_short)

    rates = [estimate_completion(each, labels, WEEK).value for each in (before, before.plus(interrupted))]

    assert rates[0] is not None
    assert rates[1] is not None
    assert rates[1] <= rates[0]


def test_a_longer_span_is_checked_by_all_of_its_labels() -> None:
    long = Span(date(2026, 1, 1), WEEK.last)

    found = estimate_completion(sums(40, 30), [reviewed(ended_on="2026-01-02")] * 20, long)

    assert found.sample == 20


def test_labels_at_the_end_of_a_long_span_say_less_of_it_than_of_its_end() -> None:
    labels = [reviewed(completed=number % 2 == 0) for number in range(40)]
    long = Span(date(2026, 1, 1), WEEK.last)

    of_year, since_it_began = (
        estimate_completion(sums(400, 200), labels, long, began=began) for began in (None, WEEK.first)
    )

    assert width(of_year) > 1.2 * width(since_it_began)


def test_predictions_weigh_where_the_probability_tells_something() -> None:
    told = [reviewed(completed=number % 2 == 0, p_completed=0.9 if number % 2 == 0 else 0.1) for number in range(20)]

    few, many = (estimate_completion(sums(400, predicted), told, WEEK) for predicted in (120, 280))

    assert few.value is not None
    assert many.value is not None
    assert few.value + 0.3 < many.value


def test_a_guess_stands_in_until_there_are_enough_labels() -> None:
    told = [reviewed(completed=False)] * 20

    rates = [estimate_completion(sums(400, 300), told[:count], WEEK, guess=0.9).value for count in (0, 10, 20)]

    assert rates[0] == pytest.approx(0.9)
    assert rates[2] == estimate_completion(sums(400, 300), told, WEEK).value
    assert rates[1] is not None
    assert 0.0 < rates[1] < 0.5


def width(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_sums_that_are_older_than_the_labels_do_no_harm() -> None:
    found = estimate_completion(sums(3, 1), [reviewed()] * 20, WEEK)

    assert found == Estimate(value=1.0, low=1.0, high=1.0, sample=20)
