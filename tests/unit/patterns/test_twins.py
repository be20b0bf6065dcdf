"""Twins: which two sessions are the nearest, and that their ends do not matter."""

from __future__ import annotations

from datetime import timedelta

import pytest

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.wording import BYTES
from grader_daemon.patterns.twins import Nearness, twins
from tests.strategies import NOW, grade

_PLAIN = {"task_type": "debugging", "request": None, "wording": None, "project": None}


def _at(hours: float, **changes: object) -> Grade:
    return grade(**{"session_id": f"s{hours:g}", "ended_at": NOW - timedelta(hours=hours), **_PLAIN, **changes})


@pytest.mark.parametrize(
    ("alike", "nearness"),
    [
        pytest.param({"request": 7}, Nearness.SAME_REQUEST, id="request"),
        pytest.param({"wording": bytes(BYTES)}, Nearness.LIKE_REQUEST, id="wording"),
        pytest.param({"project": "/shop"}, Nearness.SAME_PROJECT, id="project"),
        pytest.param({}, Nearness.SAME_TYPE, id="type-alone"),
    ],
)
def test_the_nearest_task_comes_before_the_nearest_time(alike: dict[str, object], nearness: Nearness) -> None:
    other = {"project": "/other", "wording": bytes(range(BYTES)), "request": 1}
    found = twins([_at(9, **alike), _at(3, **other)], [_at(1, **alike)])

    assert found is not None
    assert (found.nearness, found.before.session_id) == (nearness, "s9" if alike else "s3")


def test_of_equals_those_least_apart_are_taken_however_they_ended() -> None:
    before = [_at(9, task_completed=True), _at(4, task_completed=False)]
    found = twins(before, [_at(1), _at(2)])

    assert found is not None
    assert (found.before.session_id, found.since.session_id) == ("s4", "s2")


def test_other_types_of_task_and_a_session_itself_are_no_twins() -> None:
    assert twins([_at(4)], [_at(1, task_type="research"), _at(4)]) is None
