"""Changes of a whole fleet, machines compared with themselves: ``python -m tests.benchmarks.hosts``.

Streams in which the rate of each machine is known. In most nothing changes on any machine, while some do more of the
work than before; a change that is called clear there is wrong. Beside it what comparing the whole as it is would say.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from random import Random
from typing import Final, NamedTuple

from grader_daemon.domain.estimate import figure
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.patterns.groups import GroupSums, group

_RUNS: Final = 2000
_WHOLE: Final = (Dimension.OVERALL, "")
_MIXED: Final = (0.95, 0.9, 0.4, 0.2, 0.6) * 10


class World(NamedTuple):
    """Machines with their rates of completion, how many sessions each had before and has now, and how all fell."""

    name: str
    rates: Sequence[float]
    before: Sequence[int]
    now: Sequence[int]
    fall: float = 0.0


class Outcome(NamedTuple):
    """How often, 0 to 1, the truth lay in the interval, and a change was called clear; and that for the whole as is."""

    covered: float
    clear: float
    clear_as_is: float


WORLDS: Final = (
    World("two, one does four times as much", (0.9, 0.4), (50, 50), (20, 80)),
    World("two, as much as before", (0.9, 0.4), (50, 50), (50, 50)),
    World("two with seven sessions", (0.9, 0.4), (7, 7), (7, 7)),
    World("three, one is new", (0.9, 0.4, 0.5), (50, 50, 0), (20, 80, 30)),
    World("fifty, some do more", _MIXED, (20,) * 50, (5, 10, 40, 40, 10) * 10),
    World("fifty with three sessions", _MIXED, (3,) * 50, (3,) * 50),
    World("fifty with ten sessions", _MIXED, (10,) * 50, (10,) * 50),
    World("fifty, all fell by ten points", _MIXED, (20,) * 50, (20,) * 50, fall=0.1),
)


def measure(world: World, *, runs: int, seed: int) -> Outcome:
    """Return what became of so many runs."""
    random = Random(seed)
    covered = clear = clear_as_is = 0
    for _ in range(runs):
        before = _counted(random, world.rates, world.before, fall=0)
        now = _counted(random, world.rates, world.now, fall=world.fall)
        change = group(now, before, *_WHOLE).ended_badly.change
        as_is = figure(now[_WHOLE].bad_endings(), before[_WHOLE].bad_endings()).change
        assert change.low is not None
        assert change.high is not None
        covered += change.low <= world.fall <= change.high
        clear += not change.low <= 0 <= change.high
        clear_as_is += not (as_is.low or 0) <= 0 <= (as_is.high or 0)
    return Outcome(covered / runs, clear / runs, clear_as_is / runs)


def _counted(random: Random, rates: Sequence[float], sessions: Sequence[int], *, fall: float) -> GroupSums:
    hosts = {
        (Dimension.HOST, str(name)): Sums(
            sessions=number,
            recorded=number,
            ended_badly=sum(random.random() >= rate - fall for _ in range(number)),
        )
        for name, (rate, number) in enumerate(zip(rates, sessions, strict=True))
        if number
    }
    return {**hosts, _WHOLE: reduce(Sums.plus, hosts.values())}


def main() -> None:
    """Print a line for each world."""
    print(f"{_RUNS:,} runs each; interval of the change of completion: covers the truth, excludes 0; as is: excludes 0")
    for world in WORLDS:
        found = measure(world, runs=_RUNS, seed=1)
        print(f"{world.name:34} {found.covered:6.3f} {found.clear:6.3f} {found.clear_as_is:6.3f}")


if __name__ == "__main__":
    main()
