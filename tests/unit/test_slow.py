"""Tests for `tests.slow`."""

from __future__ import annotations

from tests.slow import slowest


def test_the_quickest_stay_as_long_as_a_sixth_of_the_time_is_enough() -> None:
    seconds = {"quick": [1.0], "many quick cases": [1.0] * 15, "slow": [80.0], "next": [2.0]}
    assert slowest(seconds) == ["next", "slow"]
