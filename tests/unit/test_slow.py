"""Tests for `tests.slow`."""

from __future__ import annotations

from pathlib import Path

from tests.slow import slow_functions, slowest

_ROOT = Path(__file__).parents[2]


def test_the_quickest_stay_as_long_as_a_fifth_of_the_time_is_enough() -> None:
    seconds = {"quick": [1.0], "many quick cases": [1.0] * 18, "slow": [80.0], "next": [2.0]}
    assert slowest(seconds) == ["next", "slow"]


def test_the_list_names_files_that_are_there() -> None:
    assert [each for each in slow_functions() if not (_ROOT / each.partition("::")[0]).is_file()] == []
