"""Price lists of the makers of models, read from `lists.json` beside this module.

They are those of the package `genai-prices`, which would bring a client of HTTP along; ``python -m tests.prices``
writes them anew, with their licence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from importlib import resources
from typing import Final

import msgspec

PER: Final = 1_000_000
"""So many tokens are what a rate is for."""

_COMPACT_DATE: Final = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
"""A date in the name of a model as routers write it."""


class Rates(msgspec.Struct, frozen=True):
    """US dollars for a million tokens of each kind, from a day on (UTC); no day is from ever."""

    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    output: Decimal
    since: date = date.min


class Match(msgspec.Struct, frozen=True, omit_defaults=True):
    """Names that are of one model, in small letters: those that any of these says, or all of `every`."""

    equals: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    every: tuple[Match, ...] = ()

    def holds(self, name: str) -> bool:
        """Return whether the name is one of these."""
        return (
            name in self.equals
            or name.startswith(self.starts)
            or name.endswith(self.ends)
            or any(part in name for part in self.contains)
            or any(re.search(pattern, name) for pattern in self.patterns)
            or (bool(self.every) and all(each.holds(name) for each in self.every))
        )


class Model(msgspec.Struct, frozen=True):
    """One model: its names, and its rates, the latest first; none where what is paid is not by tokens."""

    match: Match
    rates: tuple[Rates, ...]


class Lists(msgspec.Struct, frozen=True):
    """Models of each maker; of several that know a name the first is meant."""

    name: str
    """Name and version of the lists."""

    taken: date
    """Day on which they were taken over."""

    licence: str
    makers: Mapping[str, tuple[Model, ...]]

    def rates(self, maker: str, name: str, day: date) -> Rates | None:
        """Return what a model cost on a day (UTC); None where the lists do not know it."""
        name = name.lower()
        model = self._model(maker, name) or self._model(maker, _COMPACT_DATE.sub(r"-\1-\2-\3", name))
        return next((rates for rates in model.rates if rates.since <= day), None) if model else None

    def _model(self, maker: str, name: str) -> Model | None:
        return next((model for model in self.makers[maker] if model.match.holds(name)), None)


@lru_cache(maxsize=1)
def lists() -> Lists:
    """Read the lists, once in a process."""
    return msgspec.json.decode(resources.files(__package__).joinpath("lists.json").read_bytes(), type=Lists)
