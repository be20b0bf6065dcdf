"""What `python -m tests.benchmarks.routing` says of a made world is what stands in it."""

from __future__ import annotations

import random

import pytest

from tests.benchmarks.routing import WAYS, Done, Key, home
from tests.routed import finished


def world(*, rates: dict[str, float]) -> list[Done]:
    """Forty tasks of two types, each done by every model, with verdicts that are right."""
    chance = random.Random(1)
    found = []
    for number in range(40):
        for model, rate in rates.items():
            completed = chance.random() < rate
            task_type = "debugging" if number % 2 else "research"
            seen = finished(model=model, task_type=task_type, completed=completed, request=number)
            found.append(Done(task=str(number), completed=completed, seen=seen))
    return found


def test_a_model_that_is_better_at_everything_is_found_and_paid() -> None:
    made = {"w": world(rates={"good": 1.0, "poor": 0.0, "middling": 0.4})}

    homes = [home(made, Key("w", 100, seed, judged=False)) for seed in range(20)]

    assert all(one["route"] == 1.0 for one in homes)
    assert {one["default"] for one in homes} >= {0.0, 1.0}
    assert all(0.3 < one["any"] < 0.7 for one in homes)
    assert set(homes[0]) == {*WAYS, "speaks", "any"}


def test_where_all_models_are_equal_no_way_is_better() -> None:
    made = {"w": world(rates=dict.fromkeys("abcd", 0.5))}

    homes = [home(made, Key("w", 30, seed, judged=True)) for seed in range(60)]

    mean = {way: sum(one[way] for one in homes) / len(homes) for way in WAYS}
    assert mean == {way: pytest.approx(0.5, abs=0.1) for way in WAYS}
