from __future__ import annotations

import pytest

from grader_daemon.daemon.health import Lag


@pytest.mark.parametrize(
    ("waited", "news"),
    [
        pytest.param([0, 2, 59.9], [], id="a-moment-is-none"),
        pytest.param([0, 59.9, 60, 400], [(2, True)], id="a-minute-is-told-once"),
        pytest.param([60, 59, 5, 60], [(0, True)], id="at-the-limit-it-has-not-caught-up"),
        pytest.param([60, 4.9, 59], [(0, True), (1, False)], id="it-has-when-files-hardly-wait"),
        pytest.param([60, 0, 60], [(0, True), (1, False), (2, True)], id="and-may-fall-behind-again"),
    ],
)
def test_falling_behind_and_catching_up_are_each_told_once(waited: list[float], news: list[tuple[int, bool]]) -> None:
    lag = Lag()

    assert [(number, lag.is_behind) for number, seconds in enumerate(waited) if lag.note(seconds)] == news
