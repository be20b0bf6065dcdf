"""A feature and its measure."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p
from typing import Final

HIGHEST: Final = 12.0
"""Highest value of a feature: the logarithm of 160,000, for whatever is counted."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A number from 0 to `most`: a share or a yes goes up to 1, the logarithm of a count up to `HIGHEST`.

    `direction` is what reason expects of it, before any data: above 0 when more of it speaks for a completed task,
    below when against, half as much when it is weak, 0 when it depends on the kind of work.
    """

    name: str
    meaning: str
    direction: float = 0.0
    most: float = 1.0


def log(count: int) -> float:
    """Return the logarithm of one more than a count, 0 to `HIGHEST`, to a thousandth."""
    return _LOGARITHMS[count] if count < _TABLED else round(min(log1p(count), HIGHEST), 3)


def share(part: int, whole: int) -> float:
    """Return a part of a whole, 0 of nothing, to a thousandth."""
    return part * 1000 // whole / 1000 if whole else 0.0


_TABLED: Final = 4_096
_LOGARITHMS: Final = tuple(round(log1p(count), 3) for count in range(_TABLED))
"""Most counts are small, and the call of a function takes longer than a look at a table."""
