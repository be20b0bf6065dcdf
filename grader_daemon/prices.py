"""Prices of tokens, by the lists that come with the package `genai-prices`: no network, no key, no clock.

Those lists name hundreds of models, open ones too, which most people who use them run themselves. So only names that
none but their makers serve are looked up; a price that nobody pays would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from grader_daemon.domain.session import MOST_USD, Usage

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
_PER: Final = 1000
"""So few tokens cost what the lowest tier says. Tiers go by the length of one call, and known are only sums of many."""


class Price(NamedTuple):
    """Price in US dollars, and the list that it is by: its name and version."""

    usd: float
    by: str


class _Rates(NamedTuple):
    """US dollars for one token of each kind."""

    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    output: Decimal


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
    return Price(float(total), _list_name()) if priced and total <= MOST_USD else None


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
    return sum(((number or 0) * rate for number, rate in zip(tokens, each, strict=True)), Decimal(0))


@lru_cache(maxsize=1024)
def _rates(model: str, day: date) -> _Rates | None:
    """Look up a model; the package, which takes a tenth of a second to load, is loaded for the first known name."""
    maker = next((maker for pattern, maker in _MAKERS if pattern.match(model)), None)
    if maker is None:
        return None
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    def rate(**tokens: int) -> Decimal:
        found = calc_price(Counted(**tokens), model.rpartition("/")[2], provider_id=maker, genai_request_timestamp=noon)
        return found.total_price / _PER

    noon = datetime.combine(day, time(12), UTC)
    try:
        rates = _Rates(
            input=rate(input_tokens=_PER),
            cache_read=rate(input_tokens=_PER, cache_read_tokens=_PER),
            cache_write=rate(input_tokens=_PER, cache_write_tokens=_PER),
            output=rate(output_tokens=_PER),
        )
    except LookupError:
        return None
    return rates if rates.input and rates.output else None


@lru_cache(maxsize=1)
def _list_name() -> str:
    from genai_prices import __version__

    return f"genai-prices {__version__}"
