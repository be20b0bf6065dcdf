"""The features of a session that a model reads, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

import msgspec

FEATURES_VERSION: Final = 5
"""Raised by one whenever a feature comes, goes or changes its meaning: then sessions are read again."""


class Features(msgspec.Struct, frozen=True, gc=False):
    """The numbers of a session: `measures`, and behind them `marks`, each a byte that is 0 or 1.

    Marks are most of the features and weigh nothing before labels do; a number each would be most of what is built,
    sent between processes and saved of a session.
    """

    measures: tuple[float, ...] = ()
    marks: bytes = b""

    def __len__(self) -> int:
        return len(self.measures) + len(self.marks)

    def __iter__(self) -> Iterator[float]:
        return chain(self.measures, self.marks)


NO_FEATURES: Final = Features()
"""Features of a session that is not read by a model."""
