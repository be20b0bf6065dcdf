from __future__ import annotations

import pytest

from grader_daemon.daemon.health import Pulse


class Watch:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("rest_seconds", "after_seconds", "alive"),
    [
        pytest.param(0, 10, True, id="within-its-patience"),
        pytest.param(0, 10.1, False, id="later-than-its-patience"),
        pytest.param(60, 70, True, id="within-its-rest-and-patience"),
        pytest.param(60, 70.1, False, id="later-than-both"),
    ],
)
def test_a_thread_lives_while_its_next_beat_is_not_overdue(
    rest_seconds: float, after_seconds: float, alive: bool
) -> None:
    watch = Watch()
    pulse = Pulse("worker", patience_seconds=10, clock=watch)
    watch.now += 1000
    pulse.beat(next_within_seconds=rest_seconds)
    watch.now += after_seconds
    assert pulse.alive is alive


def test_a_thread_that_has_not_begun_does_not_hang() -> None:
    watch = Watch()
    pulse = Pulse("scheduler", patience_seconds=10, clock=watch)
    watch.now += 1000
    assert pulse.alive
