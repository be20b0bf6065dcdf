"""What `python -m tests.benchmarks.routing_loop` says of a world is what stands in it."""

from __future__ import annotations

import random

import pytest

from tests.benchmarks.routing_loop.__main__ import Key, home_of, in_hindsight, lost
from tests.benchmarks.routing_loop.ways import Advised, Fixed, Task
from tests.benchmarks.routing_loop.worlds import CENT, MODELS, NEW, TYPES, world


@pytest.mark.parametrize("name", ["rest", "fall", "rise", "new", "prices"])
def test_one_model_loses_by_how_much_it_is_behind_the_best(name: str) -> None:
    made = home_of(Key(name, "exact", "1"))

    losses = [
        lost(made, Key(name, "exact", "1"), lambda of, chance, model=model: Fixed(of, chance, model), name=model)  # type: ignore[misc]
        for model in made.allowed(0)
    ]

    assert min(each.all for each in losses) == pytest.approx(in_hindsight(made).all, abs=0.02)
    assert all(each.all >= 0 for each in losses)


def test_what_a_world_is_named_for_happens_in_it() -> None:
    made = {name: world(name, random.Random(1)) for name in ("rest", "fall", "rise", "new", "prices")}
    before, after = ({name: each.best(day, "coding") for name, each in made.items()} for day in (0, 89))

    assert after["rest"] == before["rest"]
    assert after["fall"] <= before["fall"]
    assert (after["rise"] > before["rise"], after["new"] > before["new"]) == (True, True)
    assert made["new"].models(89) == (*MODELS, NEW)
    assert len(made["prices"].allowed(0)) == len(MODELS) - 2


def test_models_that_are_too_dear_are_asked_only_until_that_is_known() -> None:
    made = world("prices", random.Random(1))
    way, chance = Advised(made, random.Random(2), judged=True, most_usd=made.limit, explore=0.1), random.Random(3)
    dear: list[int] = []
    for day in range(12):
        for _ in range(12):
            task_type = chance.choice(TYPES)
            model = way.choose(day, task_type)
            dear += [day] if made.usd[model] > CENT else []
            way.learn(Task(day, task_type, model, chance.random() > made.rates(day)[task_type, model]))

    assert set(dear) == {0, 1}
