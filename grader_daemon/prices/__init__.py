"""Prices of tokens, from the `genai-prices` lists in this package: no network, no key, no clock.

Those lists name hundreds of models, open ones too, which most people who use them run themselves. So only names that
none but their makers serve are looked up; a price that nobody pays would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from grader_daemon.domain.session import MOST_USD, Usage
from grader_daemon.prices.lists import PER, Rates, lists

_MAKERS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), maker)
    for pattern, maker in (
        (r"(?:(?:us|eu|apac|jp|au|global)\.)?anthropic\.claude-", "aws"),
        (r"(?:anthropic/)?claude-", "anthropic"),
        (r"(?:openai/)?(?:gpt-(?!oss)|chatgpt-|codex-|o[134](?:-|$))", "openai"),
        (r"(?:google/|models/)?gemini-", "google"),
        (r"(?:x-ai/)?grok-", "x-ai"),
    )
)
_LONGEST_NAME = 120


class Price(NamedTuple):
    """Price in US dollars, and the list that it is by: its name and version."""

    usd: float
    by: str


def price(usage: Iterable[Usage], *, at: datetime) -> Price | None:
    """Return what the calls of the models of one session cost by the lists of the time `at`.

    None where any of it is not known: a model, its price, or how many tokens of a kind that has a price of its own.
    """
    total = Decimal(0)
    priced = False
    for each in usage:
        if _is_nothing(each):
            continue
        cost = _cost(each, at.astimezone(UTC).date())
        if cost is None:
            return None
        total, priced = total + cost, True
    return Price(float(total), lists().name) if priced and total <= MOST_USD else None


def _is_nothing(usage: Usage) -> bool:
    """Return whether no token was used, which costs nothing whatever the model: calls that failed are noted so."""
    return (usage.input_tokens, usage.output_tokens) == (0, 0) and not (
        usage.cache_read_tokens or usage.cache_write_tokens
    )


def _cost(usage: Usage, day: date) -> Decimal | None:
    tokens = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    if usage.model is None or None in tokens[:2] or min(number or 0 for number in tokens) < 0:
        return None
    rates = _rates(usage.model, day) if len(usage.model) <= _LONGEST_NAME else None
    if rates is None:
        return None
    each = (rates.input, rates.output, rates.cache_read, rates.cache_write)
    if any(number is None and rate != rates.input for number, rate in zip(tokens[2:], each[2:], strict=True)):
        return None
    return sum(((number or 0) * rate for number, rate in zip(tokens, each, strict=True)), Decimal(0)) / PER


@lru_cache(maxsize=1024)
def _rates(model: str, day: date) -> Rates | None:
    """Look up a model; the lists are read for the first known name."""
    maker = next((maker for pattern, maker in _MAKERS if pattern.match(model)), None)
    return None if maker is None else lists().rates(maker, model.rpartition("/")[2], day)
