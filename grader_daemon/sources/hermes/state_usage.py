"""Tokens and money of a session in Hermes' ``state.db``.

``session_model_usage`` has a row for each model and task (its titles, its approvals); ``sessions`` has the main task
alone, and is what there is before schema 22. Each link of a compression chain has its own.
"""

from __future__ import annotations

import math

from grader_daemon.domain.session import Usage
from grader_daemon.sources.decoding import name_of
from grader_daemon.sources.hermes.state_records import SessionRow, Stored, UsageRow, count_of

_PRICED = frozenset({"estimated", "actual", "included"})
"""Values of `cost_status` for a known price. A price of 0 is one only then: "included" is in a subscription."""


def usage_of(stored: Stored) -> tuple[Usage, ...]:
    """Return the tokens of each model: of all its tasks where they are noted, else as its sessions sum them."""
    noted = {row.session_id for row in stored.usage}
    parts: list[tuple[str | None, tuple[int, ...]]] = [(name_of(row.model), _tokens(row)) for row in stored.usage]
    parts += [(name_of(row.model), _tokens(row)) for row in (stored.row, *stored.chain) if row.id not in noted]
    sums: dict[str | None, tuple[int, ...]] = {}
    for model, tokens in parts:
        if any(tokens):  # all 0: nothing was noted
            sums[model] = tuple(map(sum, zip(tokens, sums.get(model, (0,) * len(tokens)), strict=True)))
    return tuple(
        Usage(
            model=model, input_tokens=read, cache_read_tokens=cached, cache_write_tokens=kept, output_tokens=written,
            reasoning_tokens=reasoned,
        )
        for model, (read, cached, kept, written, reasoned) in sums.items()
    )  # fmt: skip


def _tokens(row: SessionRow | UsageRow) -> tuple[int, ...]:
    counted = (
        row.input_tokens, row.cache_read_tokens, row.cache_write_tokens, row.output_tokens, row.reasoning_tokens,
    )  # fmt: skip
    return tuple(map(count_of, counted))


def cost_of(stored: Stored) -> float | None:
    """Return what all tasks of all links cost; None where one of them that used tokens has no known price."""
    noted = {row.session_id for row in stored.usage}
    parts: list[SessionRow | UsageRow] = [*stored.usage]
    parts += [row for row in (stored.row, *stored.chain) if row.id not in noted]
    used = [part for part in parts if any(_tokens(part))]
    prices = [_price(part) for part in used]
    known = [price for price in prices if price is not None]
    return math.fsum(known) if known and len(known) == len(prices) else None


def _price(row: SessionRow | UsageRow) -> float | None:
    if row.cost_status not in _PRICED:
        return None
    price = row.actual_cost_usd if row.cost_status == "actual" and row.actual_cost_usd else row.estimated_cost_usd
    return float(price) if isinstance(price, int | float) and math.isfinite(price) and price >= 0 else None
