"""The last turn of each model: votes of before tell nothing of a model that does better or worse since.

A model turned where the sum of its votes so far, each less the mean of its type, strays farther from nothing than in
one of a hundred histories without a turn (the supremum of the LM statistic; Andrews, Econometrica 61, 1993).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import Final

from grader_daemon.domain.routing import Cell
from grader_daemon.patterns.votes import Vote

_FEWEST: Final = 10
"""Fewest votes before a turn, and since."""
_EDGE: Final = 20
"""Nor is a turn looked for in the first or the last of so many equal parts of a history."""
_STRAYED: Final = 13.0
"""The statistic that one of a hundred histories without a turn exceeds: `test_change_points` draws some."""


def since_change_points(votes: Mapping[Cell, Sequence[Vote]]) -> dict[Cell, list[Vote]]:
    """Return the votes of each model since its last turn; all, where it never turned."""
    types: dict[str, list[Sequence[Vote]]] = {}
    for (_, model), each in votes.items():
        types.setdefault(model, []).append(each)
    before = {model: _last_turn(each) for model, each in types.items()}
    return {cell: [vote for vote in each if vote.weight > before[cell[1]]] for cell, each in votes.items()}


def _last_turn(types: Sequence[Sequence[Vote]]) -> float:
    """Return the weight of the last vote before the last turn of a model, which those since exceed; 0 without one."""
    found = 0.0
    while (turn := _turn([[vote for vote in each if vote.weight > found] for each in types])) is not None:
        found = turn
    return found


def _turn(types: Sequence[Sequence[Vote]]) -> float | None:
    """Return the weight of the last vote before the turn that is seen best; None if none is."""
    means = [fmean([vote.value for vote in each]) if each else 0.0 for each in types]
    off = sorted((vote.weight, vote.value - mean) for each, mean in zip(types, means, strict=True) for vote in each)
    votes, squares = len(off), sum(value * value for _, value in off)
    edge = max(_FEWEST, votes // _EDGE)
    sums = list(accumulate(value for _, value in off))
    strayed = [
        (sums[place - 1] ** 2 * votes * votes / (squares * place * (votes - place)), off[place - 1][0])
        for place in range(edge, votes - edge + 1)
        if squares and off[place - 1][0] < off[place][0]
    ]
    far, weight = max(strayed, default=(0.0, 0.0))
    return weight if far > _STRAYED else None
