"""How often a trial of a skill is sure of an effect that there is not, and how soon of one that there is.

Run it as ``python -m tests.benchmarks.skill_trials [--homes N] [--jobs N]``. Each made home has a trial of up to 300
draws with one session each, and is looked at after every one from the twentieth on. The exit code is 1 where more than
5 % of the homes without an effect are sure at any time, but for the noise of the homes.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Iterator, Sequence

import msgspec

from grader_daemon.skills.trial_effect import FEWEST_DRAWS, Drawn, effect_of
from tests.benchmarks.truth.processes import in_processes

_HOMES, _DRAWS = 200, 300
_FALSE_SHARE = 0.05
_MEMORY, _WANDERING = 0.95, 0.06
"""What is left of a wandering difficulty after a session, and what each session adds."""


class World(msgspec.Struct, frozen=True):
    """A share of sessions that fail without the skill, what the skill adds to it, and whether the share wanders."""

    name: str
    failed: float
    effect: float = 0.0
    wanders: bool = False


WORLDS = (
    World("nothing, 10 % fail", 0.1),
    World("nothing, 30 % fail", 0.3),
    World("nothing, 50 % fail", 0.5),
    World("nothing, difficulty wanders", 0.5, wanders=True),
    World("10 points fewer", 0.4, -0.1),
    World("20 points fewer", 0.4, -0.2),
    World("30 points fewer", 0.4, -0.3),
)


def first_sure(world: World, seed: int, *, draws: int = _DRAWS) -> int | None:
    """Return the draw at which the trial of a home is sure first; None if it never is."""
    drawn: list[Drawn] = []
    for number, draw in enumerate(_drawn(world, seed, draws), 1):
        drawn.append(draw)
        if number >= 2 * FEWEST_DRAWS and effect_of(drawn).is_sure:
            return number
    return None


def _drawn(world: World, seed: int, draws: int) -> Iterator[Drawn]:
    chance, level = random.Random(seed), 0.0
    for _ in range(draws):
        on = chance.random() < 0.5
        if world.wanders:
            level = _MEMORY * level + chance.gauss(0, _WANDERING)
        yield Drawn(on, 1, int(chance.random() < world.failed + level + world.effect * on))


def main(arguments: Sequence[str]) -> int:
    """Print a row for each world."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--homes", type=int, default=_HOMES)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    noise = 2 * math.sqrt(_FALSE_SHARE * (1 - _FALSE_SHARE) / options.homes)
    missed = False
    for world in WORLDS:
        found = in_processes(first_sure, world, range(options.homes), jobs=options.jobs)
        sure = [each for each in found if each is not None]
        share = len(sure) / options.homes
        after = f", half of these by draw {statistics.median(sure):.0f}" if sure and world.effect else ""
        print(f"{world.name}: sure in {share:.3f} of {options.homes} homes{after}", flush=True)
        missed |= not world.effect and share > _FALSE_SHARE + noise
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
