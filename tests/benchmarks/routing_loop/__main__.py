"""Loss of the route and LiteLLM's plugin where they make the sessions that they are told by: a closed loop, simulated.

Run it as ``python -m tests.benchmarks.routing_loop [--homes N] [--worlds NAME …] [--seen NAME …] [--choose]``; it needs
nothing beside the repository.

A home has five models and four types of task. How likely a model completes a type is drawn: on the logit scale a model
lies off the middle by 0.6, a model at a type by 0.3 more (standard deviations). Twelve tasks come a day for 90 days,
and every second day the route is made anew, of the sessions of 90 days. What is lost is how much less likely the chosen
model completes a task than the best one that may be asked; nothing is lost, or less, by one that is too dear.

| world | from day 40 on |
|---|---|
| rest | as before |
| fall | the best model does 35 points worse |
| rise | the worst model does 35 points better than the best |
| new | there is one more model, 17 points better than the best |
| prices | as before; two of the models, drawn at random, cost more than the operator allows |

| way | the model is |
|---|---|
| any | one drawn at random |
| default | always the one that the operator named, which was drawn at random |
| hindsight | always the one that proves best over all days and types |
| ε-greedy, Thompson, UCB | bandits that learn at once and know what may be asked, with the best constants of a grid |
| plugin | one of those that the plugin leaves |

``--choose`` chooses the constants of bandits on homes that nothing else is measured on, for the least that is lost over
all worlds, exact and noisy.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final, NamedTuple

from tests.benchmarks import machine
from tests.benchmarks.routing_loop.ways import (
    Advised,
    Bandit,
    EpsilonGreedy,
    Fixed,
    Setting,
    Task,
    Thompson,
    UpperBound,
    Way,
)
from tests.benchmarks.routing_loop.worlds import CHANGE, DAYS, MODELS, SEEN, TYPES, WORLDS, World, world
from tests.benchmarks.truth.processes import in_processes

_A_DAY: Final = 12
_HOMES: Final = 12
_CHOSEN_ON: Final = 6

_GRID: Final[Mapping[type[Bandit], list[Setting]]] = {
    EpsilonGreedy: [Setting(*each) for each in product((15, 30, 90), (True, False), (0.05, 0.1))],
    Thompson: [Setting(*each) for each in product((15, 30, 90), (True, False))],
    UpperBound: [Setting(*each) for each in product((15, 30, 90), (True, False), (0.1, 0.2, 0.5))],
}
_CHOSEN: Final[Mapping[str, tuple[type[Bandit], Setting]]] = {
    "ε-greedy": (EpsilonGreedy, Setting(15, False, 0.1)),
    "Thompson": (Thompson, Setting(30, False)),
    "UCB": (UpperBound, Setting(30, False, 0.2)),
}
"""By ``--choose``."""

_ADVISED: Final[Mapping[str, Mapping[str, Any]]] = {
    "plugin": {},
    "plugin, explore 0.1": {"explore": 0.1},
    "plugin, default set, explore 0.1": {"default": MODELS[0], "explore": 0.1},
}

Make = Callable[[World, random.Random], Way]


class Key(NamedTuple):
    """A home: its world, how outcomes are seen there, and its seed."""

    world: str
    seen: str
    seed: str


class Lost(NamedTuple):
    """Loss of a way in one home: the mean of all tasks, and of those since the change."""

    all: float
    late: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each way loses for each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=int, default=_HOMES, help="homes of each world (default: %(default)s)")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=WORLDS, help="worlds (default: all)")
    parser.add_argument("--seen", nargs="+", choices=SEEN, default=SEEN, help="how outcomes are seen (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--choose", action="store_true", help="choose the constants of the bandits")
    options = parser.parse_args(arguments)
    if options.choose:
        _print_choice(options.jobs)
        return 0
    machine.print_machine()
    for name, seen in product(options.worlds, options.seen):
        keys = [Key(name, seen, f"{name} {number}") for number in range(options.homes)]
        _print(f"{name}, {seen}", in_processes(home, None, keys, jobs=options.jobs))
    return 0


def ways(seen: str) -> dict[str, Make]:
    """Return all ways by their names."""
    return {
        "any": lambda made, chance: Fixed(made, chance, None),
        "default": lambda made, chance: Fixed(made, chance, made.allowed(0)[0]),
        **{name: partial(_bandit, *chosen) for name, chosen in _CHOSEN.items()},
        **{name: partial(_advised, seen != "facts", options) for name, options in _ADVISED.items()},
    }


def home_of(key: Key) -> World:
    """Return the world of a home."""
    return world(key.world, random.Random(f"world {key.seed}"))


def home(_: None, key: Key) -> dict[str, Lost]:
    """Return what each way loses in one home."""
    made = home_of(key)
    found = {way: lost(made, key, make, name=way) for way, make in ways(key.seen).items()}
    return {**found, "hindsight": in_hindsight(made)}


def lost(made: World, key: Key, make: Make, *, name: str) -> Lost:
    """Run a way through a world."""
    random.seed(f"{name} {key}")  # of the plugin
    coming, chance = random.Random(f"tasks {key.seed}"), random.Random(f"{name} {key.seen} {key.seed}")
    way = make(made, chance)
    losses: list[list[float]] = []
    for day in range(DAYS):
        of_day: list[float] = []
        for _ in range(_A_DAY):
            task_type = coming.choice(TYPES)
            model = way.choose(day, task_type)
            rate = made.rates(day)[task_type, model]
            of_day.append(made.best(day, task_type) - rate)
            failed = chance.random() < SEEN[key.seen][chance.random() >= rate]
            way.learn(Task(day, task_type, model, failed))
        losses.append(of_day)
    return _lost([statistics.fmean(of_day) for of_day in losses])


def _lost(of_days: Sequence[float]) -> Lost:
    return Lost(statistics.fmean(of_days), statistics.fmean(of_days[CHANGE:]))


def in_hindsight(made: World) -> Lost:
    """Return what the one model loses that loses least."""
    return min(
        _lost(
            [
                statistics.fmean(made.best(day, each) - made.rates(day)[each, model] for each in TYPES)
                for day in range(DAYS)
            ]
        )
        for model in made.allowed(0)
    )


def _bandit(kind: type[Bandit], setting: Setting, made: World, chance: random.Random) -> Bandit:
    return kind(made, chance, setting)


def _advised(judged: bool, options: Mapping[str, Any], made: World, chance: random.Random) -> Advised:
    return Advised(made, chance, judged=judged, most_usd=made.limit, **options)


# -- what comes of it --------------------------------------------------------------------------------------------------


def _print(title: str, homes: Sequence[Mapping[str, Lost]]) -> None:
    print(f"{title}\n")
    rows = [
        (way, *(words for part in (0, 1) for words in _with_error([each[way][part] for each in homes])))
        for way in homes[0]
    ]
    machine.print_table(("way", "lost a task", "±", "since day 40", "±"), rows)


def _with_error(values: Sequence[float]) -> tuple[str, str]:
    """Return the mean and its standard error."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.3f}", f"{error:.3f}"


def _print_choice(jobs: int) -> None:
    """Print the constants of each bandit with which least is lost over all worlds, exact and noisy."""
    keys = [
        Key(name, seen, f"choice {name} {number}")
        for name, seen, number in product(WORLDS, ("exact", "noisy"), range(_CHOSEN_ON))
    ]
    homes = in_processes(_tried, None, keys, jobs=jobs)
    for kind, settings in _GRID.items():
        means = {each: statistics.fmean(home[kind.__name__, each] for home in homes) for each in settings}
        for setting in sorted(settings, key=means.__getitem__)[:4]:
            print(f"{kind.__name__}: {means[setting]:.4f} with {setting}")


def _tried(_: None, key: Key) -> dict[tuple[str, Setting], float]:
    made = home_of(key)
    return {
        (kind.__name__, setting): lost(made, key, partial(_bandit, kind, setting), name=kind.__name__).all
        for kind, settings in _GRID.items()
        for setting in settings
    }


if __name__ == "__main__":
    sys.exit(main())
