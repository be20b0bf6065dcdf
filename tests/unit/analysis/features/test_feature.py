from __future__ import annotations

import math

import pytest

from grader_daemon.analysis.features.feature import HIGHEST, log


@pytest.mark.parametrize("count", [0, 1, 4_095, 4_096, 100_000])
def test_the_table_of_logarithms_gives_what_the_function_gives(count: int) -> None:
    assert log(count) == round(math.log1p(count), 3)


def test_no_count_is_too_large() -> None:
    assert log(10**12) == HIGHEST
