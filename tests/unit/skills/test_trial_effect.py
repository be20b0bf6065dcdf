"""The effect of a trial, looked at after every session."""

from __future__ import annotations

import pytest

from grader_daemon.skills.trial_effect import FEWEST_DRAWS, Drawn, effect_of
from tests.benchmarks.skill_trials import World, first_sure

HOMES = 200
SESSIONS = 60


def sure(world: World, homes: int) -> int:
    """Return how many homes were sure at any time, each looked at after every session."""
    return sum(first_sure(world, seed, draws=SESSIONS) is not None for seed in range(homes))


def test_a_trial_that_does_nothing_is_seldom_sure_however_often_it_is_looked_at() -> None:
    assert sure(World("nothing", 0.3), HOMES) <= 0.05 * HOMES


def test_a_large_effect_is_soon_sure() -> None:
    assert sure(World("50 points fewer", 0.7, -0.5), 40) >= 0.9 * 40


def test_the_difference_is_that_of_the_means_of_draws() -> None:
    """By hand: with it 0.25 of each ten draws, without 1 in two of ten; sessions of one draw are one value."""
    effect = effect_of([Drawn(True, 4, 1)] * 10 + [Drawn(False, 1, 1)] * 2 + [Drawn(False, 1, 0)] * 8)
    assert (effect.sessions_with, effect.sessions_without) == (40, 10)
    assert (effect.draws_with, effect.draws_without) == (10, 10)
    assert effect.failed.now.value == 0.25
    assert effect.failed.before.value == 0.2
    assert effect.failed.change.value == pytest.approx(0.05)
    assert not effect.is_sure


def test_the_range_is_that_of_the_source() -> None:
    """By hand: variances 1/160 and (1.6 + 1/16) / 10 of ten draws a side, so 0.345 of all 20; rho squared is 0.0439.

    Half of the range is sqrt(2 * 0.345 * 1.878 / (400 * 0.0439) * log(sqrt(1.878) / 0.05)) = 0.4943.
    """
    effect = effect_of([Drawn(True, 4, 1)] * 10 + [Drawn(False, 1, 1)] * 2 + [Drawn(False, 1, 0)] * 8)
    change = effect.failed.change
    assert change.low == pytest.approx(-0.4443, abs=5e-4)
    assert change.high == pytest.approx(0.5443, abs=5e-4)


def test_too_few_draws_tell_nothing_and_a_draw_without_sessions_is_none() -> None:
    side = [Drawn(True, 1, 1)] * 20
    for others in ([], [Drawn(False, 9, 0)] * (FEWEST_DRAWS - 1), [Drawn(False, 0, 0)] * 20):
        effect = effect_of(side + others)
        assert effect.failed.change.value is None
        assert not effect.is_sure


def test_sides_that_are_all_alike_are_no_certainty_at_once() -> None:
    assert not effect_of([Drawn(True, 1, 0)] * 10 + [Drawn(False, 1, 0)] * 10).is_sure
    assert effect_of([Drawn(True, 1, 0)] * 10 + [Drawn(False, 1, 1)] * 10).is_sure
