"""Usage by day: what the finished sessions of a span cost and used, by day and group, beside the span before."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Final, assert_never

import msgspec

from grader_daemon.domain.insight import Spending
from grader_daemon.domain.rollup import Dimension

MOST_DAYS: Final = 366
"""Of so many days at most usage is told day by day."""

_COMPARABLE: Final = 0.1
"""Sums of two spans are compared where the shares of sessions of which they are known lie no further apart."""


class UsageSplit(StrEnum):
    """Dimension by which usage is split; each value is also one of `Dimension`."""

    MODEL = "model"
    PROJECT = "project"
    AGENT = "agent"
    KIND = "kind"
    TASK_TYPE = "task_type"

    @property
    def dimension(self) -> Dimension:
        """The dimension of the sums."""
        return Dimension(self.value)


class UsageMeasure(StrEnum):
    """Amount that is shown of usage."""

    COST = "cost"
    TOKENS = "tokens"
    SESSIONS = "sessions"


class UsageGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of a split. `before` is None if the stored sessions do not cover the whole previous span."""

    name: str
    spending: Spending
    before: Spending | None


class UsageDay(msgspec.Struct, frozen=True, kw_only=True):
    """A day, in total and by group."""

    day: date
    spending: Spending
    groups: Mapping[str, Spending]


class FailedSpending(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of failed sessions of every kind: not done, or ended badly and not known to be done.

    `cost_usd` is the cost of the `priced` ones; None if there are none.
    """

    sessions: int = 0
    priced: int = 0
    cost_usd: float | None = None


class UsageByDay(msgspec.Struct, frozen=True, kw_only=True):
    """Cost and tokens of the finished sessions of a span, of every kind.

    `daily` has all days in order, `groups` the groups of the split with sessions, the highest cost first, then most
    tokens. `agents` and `kinds` are the same sums by agent and kind, for any split. `before` covers the previous span
    of the same length, None if sessions do not cover all of it. `failed` is the part of sessions that failed.
    """

    days: int
    first_day: date
    last_day: date
    split: UsageSplit
    spending: Spending
    before: Spending | None
    failed: FailedSpending
    groups: tuple[UsageGroup, ...]
    agents: Mapping[str, Spending]
    kinds: Mapping[str, Spending]
    daily: tuple[UsageDay, ...]


def amount(spent: Spending, measure: UsageMeasure) -> float | None:
    """Return dollars, tokens of all kinds together, or sessions; None where that is not known of any session."""
    match measure:
        case UsageMeasure.COST:
            return spent.cost_usd
        case UsageMeasure.TOKENS:
            return all_tokens(spent)
        case UsageMeasure.SESSIONS:
            return spent.sessions or None
    assert_never(measure)


def known_of(spent: Spending, measure: UsageMeasure) -> int:
    """Return the number of sessions of which an amount is known."""
    match measure:
        case UsageMeasure.COST:
            return spent.priced
        case UsageMeasure.TOKENS:
            return spent.metered
        case UsageMeasure.SESSIONS:
            return spent.sessions
    assert_never(measure)


def all_tokens(spent: Spending) -> int | None:
    """Return the tokens of all kinds together; None where they are not known of any session."""
    kinds = (spent.input_tokens, spent.cache_read_tokens, spent.cache_write_tokens, spent.output_tokens)
    return sum(tokens or 0 for tokens in kinds) if spent.metered else None


def cache_share(spent: Spending) -> float | None:
    """Return the part of the tokens that models read which came from a cache; None where no cache is known of."""
    if not spent.metered or spent.cache_read_tokens is None:
        return None
    return spent.cache_read_tokens / (
        (spent.input_tokens or 0) + spent.cache_read_tokens + (spent.cache_write_tokens or 0)
    )


def share(part: float | None, whole: float | None) -> float | None:
    """Return a part of a whole, 0 to 1; None where either is unknown, or the whole is nothing."""
    return None if part is None or not whole else part / whole


def change(now: Spending, before: Spending | None, measure: UsageMeasure) -> float | None:
    """Return by which part of it an amount grew, 0.5 for half as much again.

    None where nothing can be compared: no amount before, or one that is known of another share of the sessions.
    """
    if before is None:
        return None
    later, earlier = amount(now, measure), amount(before, measure)
    if later is None or not earlier:
        return None
    shares = [known_of(spent, measure) / spent.sessions for spent in (now, before)]
    return later / earlier - 1 if abs(shares[0] - shares[1]) <= _COMPARABLE else None
