"""What `python -m tests.benchmarks.changes` says of a made world is what stands in it."""

from __future__ import annotations

import random
import statistics

import pytest

from tests.benchmarks.changes import Run, Swap, World, pools_of, tell
from tests.benchmarks.routing import Done
from tests.routed import finished

pytestmark = pytest.mark.no_cover  # tracing would cost more than the tests

RATES = {"strong": (0.9, 0.6, 0.4), "weak": (0.6, 0.3, 0.1)}
"""Of three kinds of work; the weak model completes 30 points less of each."""


@pytest.fixture(scope="module")
def world() -> World:
    chance = random.Random(3)
    return pools_of(
        [
            Done(task="", completed=completed, seen=finished(session_id=f"{kind}-{number}", model=model))
            for model, rates in RATES.items()
            for kind, rate in zip("abc", rates, strict=True)
            for number in range(2000)
            for completed in (chance.random() < rate,)
        ]
    )


@pytest.mark.thorough
def test_a_fall_by_thirty_points_is_found_within_sixty_sessions(world: World) -> None:
    told = [tell(world, Run(Swap("", "strong", "weak"), seed, is_judged=True)) for seed in range(100)]

    assert all(each.truth == pytest.approx(-0.3, abs=0.03) for each in told)
    assert sum(each.is_sure_soon for each in told) >= 95
    assert sum(each.low <= each.truth <= each.high for each in told) >= 89, "95, less three standard errors"
    assert statistics.fmean(each.naive for each in told) == pytest.approx(-0.4, abs=0.02), ".26 less (.76 + .56) / 2"


@pytest.mark.thorough
@pytest.mark.parametrize("shift", [200, 400])
def test_a_change_that_does_nothing_is_not_told_when_other_work_comes_in(world: World, shift: int) -> None:
    told = [tell(world, Run(Swap("", "strong", "strong", shift), seed, is_judged=True)) for seed in range(100)]

    assert sum(each.is_sure for each in told) <= 11, "5, and three standard errors"
    assert statistics.fmean(each.value for each in told) == pytest.approx(0.0, abs=0.02)
