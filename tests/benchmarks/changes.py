"""How often `grader-daemon changes` tells a change, in simulated homes where it is known what happened.

Run it as ``python -m tests.benchmarks.changes [--homes N]``; it needs nothing beside the repository. A home has 600
sessions in eight weeks, debugging (.45 done) and general work (.8 done), and a new model from the middle on. One in six
failed sessions ends badly, one in a hundred of the others. The exit code is 1 where a target is missed.

| world | from the change on |
|---|---|
| nothing | as before |
| mix, 30 to 50 % and 20 to 80 % | the share of debugging moves |
| surer | the probabilities are higher, and nothing else |
| worse, harder | 20 points less: by the model, or by harder tasks of the same types, which looks the same |
| decline | as before: 25 points less from the first session to the last |
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Final, NamedTuple

from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.setup_changes import SetupChange, SetupEffect, SetupKind
from grader_daemon.reports.numbers import COMPLETION, direction_of
from grader_daemon.skills.read_changes import told
from tests.benchmarks import machine
from tests.benchmarks.machine import Figure
from tests.routed import finished

_BEGAN: Final = datetime(2026, 10, 1, tzinfo=UTC)
_SIDE: Final = 300
_APART: Final = timedelta(days=56) / (2 * _SIDE)
_DONE: Final = {"debugging": 0.45, "general": 0.8}
_CHANGE: Final = SetupChange(at=_BEGAN + _SIDE * _APART, kind=SetupKind.MODEL, agent="a", before="old", after="new")
_LABELS: Final = (0, 20, 50, _SIDE)
_FALSE: Final = 0.05
_FOUND: Final = {20: 0.6, _SIDE: 0.95}
"""How often a change should be told, by the labels of each side."""


class World(NamedTuple):
    """The share of debugging before and after, and by how much sessions are done more often, or sound surer."""

    hard: tuple[float, float] = (0.3, 0.3)
    step: float = 0.0
    slope: float = 0.0
    surer: float = 0.0
    is_told: bool = False


WORLDS: Final = {
    "nothing": World(),
    "mix, 30 to 50 %": World(hard=(0.3, 0.5)),
    "mix, 20 to 80 %": World(hard=(0.2, 0.8)),
    "surer": World(surer=0.2),
    "worse": World(step=-0.2, is_told=True),
    "harder": World(step=-0.2, is_told=True),
    "decline": World(slope=-0.25),
}


def sessions_of(world: World, chance: random.Random) -> list[FinishedSession]:
    """Return the sessions of a home, all judged."""
    found = []
    for number in range(2 * _SIDE):
        since = number >= _SIDE
        task_type = "debugging" if chance.random() < world.hard[since] else "general"
        rate = _DONE[task_type] + since * world.step + world.slope * (number / (2 * _SIDE) - 0.5)
        completed = chance.random() < rate
        ended_badly = chance.random() < (0.01 if completed else 1 / 6)
        likely = chance.uniform(0.3, 0.6) + 0.1 * completed + since * world.surer
        known = finished(agent="a", task_type=task_type, completed=completed, ended_badly=ended_badly, judged=True)
        found.append(known._replace(session_id=str(number), ended_at=_BEGAN + number * _APART, p_completed=likely))
    return found


def told_of(sessions: Sequence[FinishedSession], labels: int, chance: random.Random) -> SetupEffect:
    """Return what is told of the change where so many sessions of each side, drawn by chance, have a label."""
    sides = sessions[:_SIDE], sessions[_SIDE:]
    fair = {session.session_id for side in sides for session in chance.sample(side, labels)}
    seen = [
        session if session.session_id in fair else session._replace(judged=False, completed=True, unsure=True)
        for session in sessions
    ]
    [effect] = told([_CHANGE], seen, fair, since=_BEGAN)
    return effect


def _alone(effects: Sequence[SetupEffect]) -> float:
    """Return how often labels would tell a change if there were no facts."""
    return fmean(direction_of(effect.completion, COMPLETION).is_clear for effect in effects)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how often each change is told; gives 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=int, default=200, help="homes of each world (default: %(default)s)")
    homes = parser.parse_args(arguments).homes
    rows, figures = [], []
    for name, world in WORLDS.items():
        chances = [random.Random(f"{name} {number}") for number in range(homes)]
        made = [(sessions_of(world, chance), chance) for chance in chances]
        found = {labels: [told_of(sessions, labels, chance) for sessions, chance in made] for labels in _LABELS}
        shares = {labels: fmean(effect.together_differ for effect in each) for labels, each in found.items()}
        rows.append((name, *(f"{share:.1%}" for share in shares.values()), f"{_alone(found[20]):.1%}"))
        if world.is_told:
            for labels, target in _FOUND.items():
                value = shares[labels]
                figures.append(
                    Figure(f"{name}: told, {labels} labels", f"{value:.3f}", f">= {target}", met=value >= target)
                )
        elif not world.slope:
            noise = 2 * (_FALSE * (1 - _FALSE) / homes) ** 0.5
            worst = max(shares.values())
            figures.append(machine.at_most(f"{name}: told", worst, target=round(_FALSE + noise, 3), unit="", digits=3))
    machine.print_table(("told in", *(f"{labels} labels a side" for labels in _LABELS), "20, by labels alone"), rows)
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
