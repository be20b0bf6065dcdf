"""Probabilities at which a verdict is little better than a guess: where two, and three, of five were completed.

A probability is seldom right where nobody checked it. So it is held against what became of sessions that the model had
not seen: the rate of completion as a function of the probability that never falls (isotonic regression: Ayer, Brunk,
Ewing, Reid and Silverman, Annals of Mathematical Statistics 26, 1955; for probabilities: Zadrozny and Elkan, KDD 2002).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from grader_daemon.domain.completion_model import AT_ITS_WORD

_SESSIONS_AT_ITS_WORD = 20
"""Weight of the prior assumption that probabilities are right, in sessions: a few by chance do not say otherwise."""

_GRID = 20

Seen = Sequence[tuple[float, bool]]
"""Probabilities of sessions of one place that the model had not seen, and whether they were completed."""


class _Block(msgspec.Struct):
    """Probabilities from `start` to the next block: how many sessions (weighted), and how many of them completed."""

    start: float
    completed: float
    sessions: float

    @property
    def rate(self) -> float:
        return self.completed / self.sessions


def doubtful(places: Sequence[Seen]) -> tuple[float, float]:
    """Return the probabilities from which on more than two, and at least three, of five sessions were completed.

    Each place that has sessions has as much say as any other. Where it is never so many, 1.
    """
    blocks = _rising([place for place in places if place])
    low, high = AT_ITS_WORD
    return (
        next((block.start for block in blocks if block.rate > low), 1.0),
        next((block.start for block in blocks if block.rate >= high), 1.0),
    )


def _rising(places: Sequence[Seen]) -> list[_Block]:
    """Join neighbours until the rate rises from block to block (pool adjacent violators)."""
    blocks: list[_Block] = []
    for block in sorted(_points(places), key=lambda point: point.start):
        blocks.append(block)
        while len(blocks) > 1 and (blocks[-1].start == blocks[-2].start or blocks[-1].rate <= blocks[-2].rate):
            last, before = blocks.pop(), blocks.pop()
            blocks.append(_Block(before.start, before.completed + last.completed, before.sessions + last.sessions))
    blocks[0].start = 0.0
    return blocks


def _points(places: Sequence[Seen]) -> Iterator[_Block]:
    sessions = sum(map(len, places))
    for place in places:
        weight = sessions / len(places) / len(place)
        for likely, completed in place:
            yield _Block(likely, weight * completed, weight)
    weight = _SESSIONS_AT_ITS_WORD / _GRID
    for step in range(_GRID):
        likely = (step + 0.5) / _GRID
        yield _Block(likely, weight * likely, weight)
