from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.daemon.scheduler import PAUSES, may_run, pause_after
from tests.strategies import NOW, moments

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("failures", "minutes"),
    [
        pytest.param(1, 1, id="first"),
        pytest.param(2, 5, id="second"),
        pytest.param(3, 15, id="third"),
        pytest.param(4, 60, id="fourth"),
        pytest.param(5, 240, id="fifth"),
        pytest.param(6, 240, id="sixth"),
        pytest.param(1000, 240, id="all-that-follow"),
    ],
)
def test_pauses_grow_to_four_hours(failures: int, minutes: int) -> None:
    assert pause_after(failures) == minutes * MINUTE


@pytest.mark.parametrize("failures", range(1, len(PAUSES) + 2))
@pytest.mark.parametrize(
    ("late", "allowed"),
    [pytest.param(-SECOND, False, id="just-before"), pytest.param(0 * SECOND, True, id="at-its-end")],
)
def test_a_job_that_failed_runs_again_after_its_pause(failures: int, late: timedelta, allowed: bool) -> None:
    assert may_run(failures=failures, ended_at=NOW, now=NOW + pause_after(failures) + late) is allowed


def test_a_job_that_failed_this_moment_waits() -> None:
    assert not may_run(failures=1, ended_at=NOW, now=NOW)


@pytest.mark.parametrize(
    ("failures", "ended_at"),
    [
        pytest.param(0, None, id="never-ran"),
        pytest.param(0, NOW, id="went-well-just-now"),
        pytest.param(5, NOW + SECOND, id="failed-in-the-future"),
        pytest.param(5, NOW + timedelta(days=4000), id="failed-in-a-far-future"),
        pytest.param(1, None, id="failed-at-a-time-that-cannot-be-read"),
    ],
)
def test_a_job_may_run(failures: int, ended_at: datetime | None) -> None:
    assert may_run(failures=failures, ended_at=ended_at, now=NOW)


@given(failures=st.integers(0, 30), ended_at=st.none() | moments, now=moments)
def test_another_failure_never_lets_a_job_run_sooner(failures: int, ended_at: datetime | None, now: datetime) -> None:
    if may_run(failures=failures + 1, ended_at=ended_at, now=now):
        assert may_run(failures=failures, ended_at=ended_at, now=now)
