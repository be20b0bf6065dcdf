"""What `python -m tests.benchmarks.changes` makes of its worlds is what stands in them."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from tests.benchmarks.changes import WORLDS, main, sessions_of, told_of

pytestmark = pytest.mark.no_cover  # tracing would cost more than the tests


@pytest.mark.parametrize(
    ("world", "apart"),
    [
        ("nothing", 0.0),
        pytest.param("mix, 20 to 80 %", -0.21, id="six-tenths-of-35-points"),
        ("surer", 0.0),
        ("worse", -0.2),
        pytest.param("decline", -0.125, id="half-of-what-is-lost-in-all"),
    ],
)
def test_sessions_of_a_world_are_done_as_often_as_it_says(world: str, apart: float) -> None:
    made = [sessions_of(WORLDS[world], random.Random(seed)) for seed in range(10)]

    halves = [[each.completed for home in made for each in home[place : place + 300]] for place in (0, 300)]

    assert fmean(halves[1]) - fmean(halves[0]) == pytest.approx(apart, abs=0.035), "two standard errors"


def test_labels_are_of_both_sides_and_no_other_session_tells_what_came_of_it() -> None:
    chance = random.Random(1)

    effect = told_of(sessions_of(WORLDS["worse"], chance), 50, chance)

    assert (effect.completion.before.sample, effect.completion.now.sample) == (50, 50)
    assert effect.by_words


@pytest.mark.thorough
def test_a_table_and_targets_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--homes", "2"])

    printed = capsys.readouterr().out
    assert all(f"\n{world} " in printed for world in WORLDS)
    assert printed.count(": told") == 8
