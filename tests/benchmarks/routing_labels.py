"""How often `grader-daemon route` leaves the default for another model, where some sessions have random labels.

Run it as ``python -m tests.benchmarks.routing_labels [--homes N]``; it needs nothing beside the repository. A home has
200 sessions of each of two models, debugging (.45 done) and general work (.8 done). One in six failed sessions ends
badly, and of each model so many sessions, drawn by chance, have a label. One model gets more of the debugging.

*Equal*: the default gets more of it, and the other model is as good. *Better*: the other gets more of it, and is better
by 15 points at both types.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from datetime import timedelta
from statistics import fmean
from typing import Final, NamedTuple

from grader_daemon.domain.feedback import Label
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.routing.choice import Router
from tests.benchmarks import machine
from tests.routed import finished
from tests.strategies import NOW, label

_SESSIONS: Final = 200
_DAYS: Final = 60
_DONE: Final = {"debugging": 0.45, "general": 0.8}
_SEEN: Final = 1 / 6
_LABELS: Final = (0, 20, 50, 100)
_MIXES: Final = ((0.5, 0.5), (0.7, 0.3), (0.9, 0.1))
_GAIN: Final = 0.15


class Side(NamedTuple):
    """A model of a home: its share of debugging, and by how much it is better."""

    model: str
    hard: float
    gain: float = 0.0


def home(sides: Sequence[Side], labels: int, chance: random.Random) -> tuple[list[FinishedSession], list[Label]]:
    """Return the sessions of a home and the labels on some."""
    sessions, given = [], []
    for side in sides:
        drawn = set(chance.sample(range(_SESSIONS), labels))
        for number in range(_SESSIONS):
            task_type = "debugging" if chance.random() < side.hard else "general"
            completed = chance.random() < _DONE[task_type] + side.gain
            session = finished(
                ended_at=NOW - timedelta(days=chance.random() * _DAYS),
                task_type=task_type,
                model=side.model,
                unsure=True,
                ended_badly=not completed and chance.random() < _SEEN,
            )
            if number in drawn:
                session = session._replace(completed=completed, judged=True)
                given.append(label(session_id=session.session_id, completed=completed, drawn_at_random=True))
            sessions.append(session)
    return sessions, given


def left(sides: Sequence[Side], labels: int, seed: str) -> float:
    """Return at how many of the types, 0 to 1, the second model is recommended in place of the first, the default."""
    router = Router(*home(sides, labels, random.Random(seed)), now=NOW)
    default, other = (side.model for side in sides)
    return fmean(router.route(each, default=default).recommended == other for each in _DONE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how often the default is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=int, default=100, help="homes of each kind (default: %(default)s)")
    homes = parser.parse_args(arguments).homes
    rows = []
    for most, least in _MIXES:
        equal = (Side("default", most), Side("other", least))
        better = (Side("default", least), Side("other", most, _GAIN))
        for name, sides in (("equal", equal), ("better", better)):
            shares = [fmean(left(sides, labels, f"{number}") for number in range(homes)) for labels in _LABELS]
            rows.append((name, f"{most:.0%} / {least:.0%}", *(f"{share:.0%}" for share in shares)))
    machine.print_table(("other", "debugging", *(f"{labels} labels" for labels in _LABELS)), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
