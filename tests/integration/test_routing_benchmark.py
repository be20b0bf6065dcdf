"""What `python -m tests.benchmarks.routing` says of a made world is what stands in it."""

from __future__ import annotations

import random

import pytest

from tests.benchmarks import routing_labels
from tests.benchmarks.routing import WAYS, Done, Key, home
from tests.benchmarks.routing_labels import Side
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


def test_each_model_has_the_mix_and_the_labels_that_it_is_to_have() -> None:
    sides = (Side("a", 0.9), Side("b", 0.1, gain=0.15))

    sessions, labels = routing_labels.home(sides, 50, random.Random(1))

    hard = {side.model: sum(each.model == side.model and each.task_type == "debugging" for each in sessions)
            for side in sides}  # fmt: skip
    assert hard == {"a": pytest.approx(180, abs=13), "b": pytest.approx(20, abs=13)}, "three standard deviations"
    assert len(labels) == sum(each.judged for each in sessions) == 100


def test_a_default_is_left_for_a_model_that_is_better_at_everything_by_labels() -> None:
    sides = (Side("poor", 0.5, gain=-0.4), Side("good", 0.5, gain=0.15))

    assert routing_labels.left(sides, 100, "1") == 1
    assert routing_labels.left(sides[::-1], 100, "1") == 0
