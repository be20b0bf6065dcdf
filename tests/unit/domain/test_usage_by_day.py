from __future__ import annotations

import pytest

from grader_daemon.domain.insight import Spending
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.usage_by_day import (
    UsageMeasure,
    UsageSplit,
    all_tokens,
    amount,
    cache_share,
    change,
    known_of,
    share,
)

COST, TOKENS, SESSIONS = UsageMeasure.COST, UsageMeasure.TOKENS, UsageMeasure.SESSIONS


def spent(**changes: object) -> Spending:
    """Ten sessions: the tokens of eight of them are known, and the cost of five."""
    known = {
        "sessions": 10,
        "side": 0,
        "metered": 8,
        "input_tokens": 100,
        "cache_read_tokens": 700,
        "cache_write_tokens": 200,
        "output_tokens": 50,
        "priced": 5,
        "cost_usd": 2.0,
        "side_usd": 0.0,
        "tasks": 5,
        "per_task_usd": 0.4,
    }
    return Spending(**(known | changes))  # type: ignore[arg-type]


NOTHING = spent(
    metered=0,
    input_tokens=None,
    cache_read_tokens=None,
    cache_write_tokens=None,
    output_tokens=None,
    priced=0,
    cost_usd=None,
)


def test_each_split_is_a_dimension_of_the_sums() -> None:
    assert [each.dimension for each in UsageSplit] == [
        *(Dimension.MODEL, Dimension.PROJECT, Dimension.AGENT, Dimension.KIND, Dimension.TASK_TYPE)
    ]


@pytest.mark.parametrize(
    ("measure", "value", "known"),
    [
        pytest.param(COST, 2.0, 5, id="dollars-of-priced-sessions"),
        pytest.param(TOKENS, 1050, 8, id="all-tokens-of-metered-sessions"),
        pytest.param(SESSIONS, 10, 10, id="every-session"),
    ],
)
def test_amount_stands_beside_the_sessions_that_it_is_known_of(measure: UsageMeasure, value: float, known: int) -> None:
    assert (amount(spent(), measure), known_of(spent(), measure)) == (value, known)


def test_what_is_not_known_is_no_amount() -> None:
    assert amount(NOTHING, COST) is amount(NOTHING, TOKENS) is None
    assert amount(spent(sessions=0), SESSIONS) is None


def test_kinds_of_tokens_that_nobody_knows_add_nothing() -> None:
    assert all_tokens(spent(cache_read_tokens=None, cache_write_tokens=None)) == 150


def test_cache_share_is_of_all_that_was_read() -> None:
    assert cache_share(spent()) == 0.7  # 700 of 100 + 700 + 200
    assert cache_share(spent(cache_write_tokens=None)) == 0.875  # 700 of 100 + 700
    assert cache_share(spent(cache_read_tokens=None)) is None
    assert cache_share(NOTHING) is None


def test_share_of_nothing_is_not_known() -> None:
    assert share(1.0, 4.0) == 0.25
    assert share(None, 4.0) is share(1.0, None) is share(0.0, 0.0) is None


def test_change_is_the_part_by_which_an_amount_grew() -> None:
    assert change(spent(cost_usd=3.0), spent(), COST) == 0.5
    assert change(spent(sessions=5), spent(), SESSIONS) == -0.5


def test_change_needs_an_amount_on_both_sides() -> None:
    assert change(spent(), None, COST) is None
    assert change(spent(), NOTHING, COST) is None
    assert change(NOTHING, spent(), COST) is None
    assert change(spent(), spent(cost_usd=0.0), COST) is None


def test_sums_that_are_known_of_another_share_of_sessions_are_not_compared() -> None:
    assert change(spent(priced=6), spent(), COST) == 0.0
    assert change(spent(priced=7), spent(), COST) is None
