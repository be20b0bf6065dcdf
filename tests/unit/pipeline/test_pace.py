from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.pipeline import pace
from grader_daemon.pipeline.pace import Pace
from tests.units import unit

QUIET = 2.0
MB = 1_000_000
SESSION = unit("/s/a")


def _graded(size: int, at: float = 0.0) -> Pace:
    made = Pace(quiet_seconds=QUIET)
    made.note(SESSION, size, at)
    return made


def test_a_small_session_never_waits() -> None:
    made = _graded(MB // 2)

    assert not made.remembers(SESSION)
    assert made.wait_seconds(SESSION, MB // 2 + 1, quiet_for=QUIET, at=3.0) == 0


def test_a_large_one_waits_until_it_was_quiet_in_proportion_to_its_size() -> None:
    made = _graded(20 * MB)

    assert made.remembers(SESSION)
    assert [made.wait_seconds(SESSION, 21 * MB, quiet_for=seconds, at=30.0) for seconds in (2.0, 80.0, 84.0)] == [
        82.0,
        4.0,
        0.0,
    ]


def test_or_has_grown_by_half() -> None:
    made = _graded(20 * MB)

    assert made.wait_seconds(SESSION, 30 * MB - 1, quiet_for=QUIET, at=3.0) > 0
    assert made.wait_seconds(SESSION, 30 * MB, quiet_for=QUIET, at=3.0) == 0


def test_one_that_was_rewritten_smaller_waits_as_its_size_asks_for() -> None:
    assert _graded(20 * MB).wait_seconds(SESSION, MB // 2, quiet_for=QUIET, at=3.0) == 0
    assert _graded(20 * MB).wait_seconds(SESSION, 3 * MB, quiet_for=QUIET, at=3.0) == 10.0


def test_one_that_never_rests_is_graded_now_and_then() -> None:
    made = _graded(20 * MB, at=100.0)

    assert made.wait_seconds(SESSION, 20 * MB, quiet_for=QUIET, at=2499.0) > 0
    assert made.wait_seconds(SESSION, 20 * MB, quiet_for=QUIET, at=2500.0) == 0


def test_a_time_in_the_future_has_nothing_wait() -> None:
    assert _graded(20 * MB).wait_seconds(SESSION, 20 * MB, quiet_for=-5.0, at=3.0) == 0


def test_what_is_remembered_is_bounded() -> None:
    made = _graded(20 * MB)
    for number in range(pace._MOST_UNITS):
        made.note(unit(f"/s/{number}"), 20 * MB, 1.0)

    assert not made.remembers(SESSION)


@given(seconds=st.floats(QUIET, 3.0))
def test_20_mb_written_in_500_steps_cost_at_most_four_times_grading_them_once(seconds: float) -> None:
    """Each step comes when the session was quiet for long enough to be graded if it were small."""
    made = Pace(quiet_seconds=QUIET)
    read = 0
    for step in range(1, 501):
        size = step * 40_000
        if made.wait_seconds(SESSION, size, quiet_for=seconds, at=step * seconds) == 0:
            made.note(SESSION, size, step * seconds)
            read += size

    assert read <= 4 * 20 * MB


@given(seconds=st.floats(QUIET, 1000.0), steps=st.integers(2, 500))
def test_however_slowly_it_grows_a_second_is_read_for_at_most_a_quarter_of_a_mb(seconds: float, steps: int) -> None:
    """Or what grading by halves takes, three times the session."""
    made = Pace(quiet_seconds=QUIET)
    read = 0
    for step in range(1, steps + 1):
        size = step * 40_000
        if made.wait_seconds(SESSION, size, quiet_for=seconds, at=step * seconds) == 0:
            made.note(SESSION, size, step * seconds)
            read += size

    assert read <= steps * seconds * MB / 4 + 3 * steps * 40_000
