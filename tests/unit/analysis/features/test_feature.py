from __future__ import annotations

import math

import pytest

from grader_daemon.analysis.features.feature import HIGHEST, log, share


@pytest.mark.parametrize("count", [0, 1, 4_095, 4_096, 100_000])
def test_the_table_of_logarithms_gives_what_the_function_gives(count: int) -> None:
    assert log(count) == round(math.log1p(count), 3)


def test_no_count_is_too_large() -> None:
    assert log(10**12) == HIGHEST


@pytest.mark.parametrize(("part", "whole", "expected"), [(0, 0, 0.0), (1, 3, 0.333), (2, 2, 1.0)])
def test_share_is_cut_to_a_thousandth(part: int, whole: int, expected: float) -> None:
    assert share(part, whole) == expected
