from __future__ import annotations

from datetime import date

import msgspec
import pytest

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.usage_by_day import FailedSpending, UsageByDay, UsageGroup, UsageMeasure, UsageSplit
from grader_daemon.patterns.groups import spending
from grader_daemon.patterns.usage_from_sums import usage_by_day
from grader_daemon.reports.usage_words import (
    amount_words,
    before_words,
    cache_words,
    change_words,
    failed_words,
    group_words,
    growth_words,
    kinds_words,
    known_words,
    scale_words,
    share_words,
    span_words,
    unknown_words,
)

COST, TOKENS, SESSIONS = UsageMeasure.COST, UsageMeasure.TOKENS, UsageMeasure.SESSIONS
WEEK = Span(date(2026, 11, 16), date(2026, 11, 22))

# 40 sessions: 31 have a price, 33 tokens
SUMS = Sums(
    sessions=40,
    metered=33,
    input_tokens=1_000_000,
    cache_read_tokens=3_000_000,
    output_tokens=80_000,
    priced=31,
    cost_millionths=4_200_000,
)
MUTE = Sums(sessions=40)
METERED = Sums(sessions=40, metered=40, input_tokens=5, output_tokens=5)
WHOLE = (Dimension.OVERALL, "")


def used(
    sums: Sums = SUMS,
    before: Sums | None = None,
    *,
    agents: dict[str, Sums] | None = None,
    kinds: dict[str, Sums] | None = None,
    failed: FailedSpending | None = None,
    span: Span = WEEK,
) -> UsageByDay:
    now = {WHOLE: sums}
    now |= {(Dimension.AGENT, name): each for name, each in (agents or {"hermes": sums}).items()}
    now |= {(Dimension.KIND, name): each for name, each in (kinds or {"main": sums}).items()}
    earlier = None if before is None else {WHOLE: before}
    made = usage_by_day(now, earlier, {}, {}, span=span, split=UsageSplit.MODEL)
    return msgspec.structs.replace(made, failed=failed or FailedSpending())


def test_kinds_have_words_of_their_own_and_other_groups_their_names() -> None:
    assert [group_words(name, UsageSplit.KIND) for name in ("main", "sub_agent", "cron", "review", "new")] == [
        *("yours", "sub-agents", "scheduled", "reviews", "new")
    ]
    assert group_words("writing_code", UsageSplit.TASK_TYPE) == "writing code"
    assert group_words("my_model", UsageSplit.MODEL) == "my_model"


def test_amounts_are_told_in_their_units_and_the_unknown_as_such() -> None:
    assert [amount_words(1234.5, each) for each in UsageMeasure] == ["$1,234", "1.2 k", "1,234"]
    assert [amount_words(None, each) for each in UsageMeasure] == ["-", "-", "-"]


def test_scales_are_as_short_as_their_numbers() -> None:
    assert [scale_words(value, COST) for value in (0.0, 0.0005, 0.5, 2.5, 2000.0)] == [
        *("$0", "$0.0005", "$0.50", "$2.50", "$2,000")
    ]
    assert [scale_words(value, TOKENS) for value in (0.0, 2_000_000.0, 1500.0)] == ["0", "2 M", "1.5 k"]


def test_shares_are_never_rounded_to_nothing_or_to_all() -> None:
    assert [share_words(part) for part in (None, 0.0, 0.001, 0.333, 0.999, 1.0)] == [
        *("-", "0 %", "<1 %", "33 %", ">99 %", "100 %")
    ]


def test_growth_has_a_sign_and_is_told_in_times_from_ten_on() -> None:
    assert [growth_words(part) for part in (None, 0.22, -0.05, 0.001, 8.5, 11.0)] == [
        *("-", "+22 %", "\N{MINUS SIGN}5 %", "0 %", "+850 %", "\N{MULTIPLICATION SIGN} 12")
    ]


def test_group_that_had_no_session_before_is_new() -> None:
    now, nothing = spending(SUMS), spending(Sums())
    changed = [change_words(UsageGroup(name="m", spending=now, before=before), COST) for before in (nothing, now, None)]
    assert changed == ["new", "0 %", "-"]


def test_amount_says_of_how_many_sessions_it_is_known() -> None:
    assert known_words(spending(SUMS), COST) == "known for 31 of 40 sessions (78 %)"
    assert known_words(spending(SUMS), SESSIONS) == "known for all 40 sessions"


def test_span_says_what_it_is_compared_with() -> None:
    assert span_words(used(before=SUMS)) == "2026-11-16 to 2026-11-22, beside the 7 days before"
    assert span_words(used()) == ("2026-11-16 to 2026-11-22; no comparison: not all of the 7 days before have sessions")
    assert span_words(used(before=SUMS, span=Span(WEEK.last, WEEK.last))) == "2026-11-22, beside the day before"


@pytest.mark.parametrize(
    ("before", "words"),
    [
        pytest.param(None, "", id="nothing-where-nothing-is-compared"),
        pytest.param(MUTE, "none known the 7 days before", id="not-known-before"),
        pytest.param(
            msgspec.structs.replace(SUMS, cost_millionths=2_100_000),
            "$2.10 the 7 days before (+100 %)",
            id="known-on-both-sides",
        ),
        pytest.param(
            msgspec.structs.replace(SUMS, priced=10),
            "$4.20 the 7 days before (known for 10 of 40 sessions (25 %))",
            id="known-of-other-shares",
        ),
    ],
)
def test_amount_before_stands_with_its_change_or_why_there_is_none(before: Sums | None, words: str) -> None:
    assert before_words(used(before=before), COST) == words


def test_kinds_are_told_where_some_sessions_are_nobodys() -> None:
    assert kinds_words(used()) == ""
    assert kinds_words(used(kinds={"cron": Sums(sessions=9), "main": SUMS})) == "40 yours, 9 scheduled"


def test_cache_share_is_told_where_a_cache_is_known_of() -> None:
    assert cache_words(spending(SUMS)) == "75 % of the input came from caches"
    assert cache_words(spending(MUTE)) == ""


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        pytest.param(
            FailedSpending(sessions=8, priced=6, cost_usd=2.1),
            "$2.10 went to 8 sessions (known for 6) that were not done or ended badly, 50 % of the cost.",
            id="several",
        ),
        pytest.param(
            FailedSpending(sessions=1, priced=1, cost_usd=0.01),
            "$0.01 went to 1 session that was not done or ended badly, <1 % of the cost.",
            id="one",
        ),
        pytest.param(
            FailedSpending(sessions=3),
            "The cost of the failed sessions is unknown.",
            id="none-with-a-price",
        ),
        pytest.param(FailedSpending(), "No session is known to have failed.", id="none"),
    ],
)
def test_money_of_sessions_that_failed_is_a_sentence(failed: FailedSpending, words: str) -> None:
    assert failed_words(used(failed=failed)) == words


def test_money_of_sessions_that_failed_is_not_told_where_no_cost_is_known() -> None:
    assert failed_words(used(MUTE, failed=FailedSpending(sessions=3))) == ""


def test_free_sessions_have_no_share_of_the_cost() -> None:
    free = Sums(sessions=2, priced=2)
    assert failed_words(used(free, failed=FailedSpending(sessions=1, priced=1, cost_usd=0.0))) == (
        "$0.00 went to 1 session that was not done or ended badly."
    )


@pytest.mark.parametrize(
    ("found", "measure", "words"),
    [
        pytest.param(used(MUTE), COST, "No cost known: hermes does not record tokens.", id="no-tokens"),
        pytest.param(used(MUTE), TOKENS, "No tokens known: hermes does not record tokens.", id="tokens"),
        pytest.param(
            used(METERED, agents={"unknown": METERED}),
            COST,
            "No cost known: the price list lacks the models of an unnamed agent.",
            id="no-price",
        ),
        pytest.param(
            used(agents={"codex": SUMS, "hermes": MUTE}),
            COST,
            "No cost known for some sessions: hermes does not record tokens.",
            id="one-agent-of-two",
        ),
        pytest.param(used(), COST, "", id="known"),
        pytest.param(used(Sums()), COST, "No cost known: no session finished in these days.", id="no-session"),
        pytest.param(used(Sums()), SESSIONS, "No session finished in these days.", id="no-session-to-count"),
        pytest.param(used(MUTE), SESSIONS, "", id="sessions"),
    ],
)
def test_what_is_not_known_has_a_reason(found: UsageByDay, measure: UsageMeasure, words: str) -> None:
    assert unknown_words(found, measure) == words
