from __future__ import annotations

import pytest

from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.patterns.groups import group, spending
from grader_daemon.reports.money import (
    agents_words,
    cost_words,
    price_words,
    spending_words,
    tokens_words,
    usd_words,
    used_words,
)
from tests.strategies import grade

# 40 tasks and 3 sub-agents of 43 finished sessions; the cost of 31 is known, of 29 tasks and 2 sub-agents
_SUMS = Sums(
    sessions=38,
    unanswered=2,
    completed=28,
    side=3,
    metered=33,
    input_tokens=1_200_000,
    cache_read_tokens=5_600_000,
    output_tokens=80_000,
    priced=31,
    cost_millionths=4_200_000,
    side_millionths=200_000,
    priced_tasks=29,
)


def test_money_is_told_with_the_sessions_that_it_is_known_of() -> None:
    assert cost_words(spending(_SUMS)) == "$4.20 for 31 of 43 sessions"
    assert cost_words(spending(Sums(sessions=2, priced=2, cost_millionths=1))) == "<$0.01 for all 2 sessions"
    assert cost_words(spending(Sums(sessions=2))) == "unknown for all 2 sessions"


def test_what_a_task_costs_holds_all_that_was_spent() -> None:
    # 4.20 $ on 31 sessions, 29 of them tasks, whether done or not
    assert spending(_SUMS).per_task_usd == pytest.approx(4.2 / 29)


@pytest.mark.parametrize("dimension", [Dimension.MODEL, Dimension.TASK_TYPE, Dimension.TASK_MODEL, Dimension.PLATFORM])
def test_where_sub_agents_are_elsewhere_their_money_is_not_that_of_tasks(dimension: Dimension) -> None:
    # 4.20 $ - 0.20 $, by 29
    assert spending(_SUMS, dimension).per_task_usd == pytest.approx(4 / 29)


def test_what_nothing_is_known_of_is_unknown_and_not_nothing() -> None:
    spent = spending(Sums(sessions=40, completed=40))
    assert (spent.cost_usd, spent.input_tokens, spent.output_tokens, spent.per_task_usd) == (None,) * 4
    assert spending_words(spent, days=7) == ()
    assert (spent.sessions, spent.priced, spent.metered) == (40, 0, 0)


def test_without_a_priced_task_there_is_no_price_of_one() -> None:
    spent = spending(Sums(sessions=2, priced=2, cost_millionths=3_000_000))
    assert spending_words(spent, days=3) == ("$3.00 for all 2 sessions, $1.00 a day",)


def test_a_group_by_tool_knows_no_money() -> None:
    sums = {(Dimension.TOOL, "terminal"): _SUMS}
    assert group(sums, {}, Dimension.TOOL, "terminal").spending is None


def test_spending_is_told_in_sentences() -> None:
    assert spending_words(spending(_SUMS), days=7) == (
        "$4.20 for 31 of 43 sessions, $0.60 a day",
        "$0.14 for each of 29 tasks, done or not",
        "$0.20 from 3 sub-agent or scheduled sessions",
        "tokens of 33 of 43 sessions: 1.2 M read, 5.6 M from caches, 80.0 k written",
    )


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        pytest.param(None, "-", id="unknown"),
        pytest.param(0.0, "$0.00", id="nothing"),
        pytest.param(0.000001, "<$0.01", id="hardly-anything"),
        pytest.param(0.014, "$0.01", id="cents"),
        pytest.param(12.5, "$12.50", id="dollars"),
        pytest.param(1234.5, "$1,234", id="many-dollars"),
    ],
)
def test_an_amount_reads_as_money(usd: float | None, words: str) -> None:
    assert usd_words(usd) == words


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        pytest.param(None, "-", id="unknown"),
        pytest.param(0, "0", id="none"),
        pytest.param(999, "999", id="few"),
        pytest.param(12_345, "12.3 k", id="thousands"),
        pytest.param(1_200_000, "1.2 M", id="millions"),
    ],
)
def test_numbers_of_tokens_are_short(tokens: int | None, words: str) -> None:
    assert tokens_words(tokens) == words


def test_of_a_grade_only_known_tokens_are_told() -> None:
    assert used_words(grade(input_tokens=10, output_tokens=5)) == "10 read, 5 written"
    assert used_words(grade()) is None


@pytest.mark.parametrize(
    ("by", "words"),
    [
        pytest.param("agent", "$0.12 by the agent's own record", id="agent"),
        pytest.param("genai-prices 0.2.3", "$0.12 by genai-prices 0.2.3", id="list"),
    ],
)
def test_a_price_says_who_says_so(by: str, words: str) -> None:
    assert price_words(grade(cost_usd=0.12, cost_by=by)) == words


def test_agents_are_named_where_there_are_several() -> None:
    sums = {(Dimension.AGENT, "hermes"): Sums(sessions=12), (Dimension.AGENT, "claude-code"): Sums(sessions=40)}
    both = [group(sums, {}, Dimension.AGENT, name) for name in ("hermes", "claude-code")]
    assert agents_words(both) == "claude-code 40, hermes 12"
    assert agents_words(both[:1]) == ""


def test_an_agent_of_which_only_sub_agents_ran_is_no_second_one() -> None:
    sums = {(Dimension.AGENT, "hermes"): Sums(sessions=12), (Dimension.AGENT, "codex"): Sums(side=1)}
    assert agents_words([group(sums, {}, Dimension.AGENT, name) for name in ("hermes", "codex")]) == ""


def test_a_session_whose_cost_nobody_knows_has_no_price() -> None:
    assert price_words(grade(cost_usd=None)) is None
