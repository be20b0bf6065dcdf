from __future__ import annotations

from datetime import date

from msgspec.structs import replace

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.usage_by_day import FailedSpending, UsageByDay, UsageSplit
from grader_daemon.patterns.groups import GroupSums, spending
from grader_daemon.patterns.usage_from_sums import usage_by_day, usage_of_group

FIRST, SECOND, THIRD = (date(2026, 11, day) for day in (20, 21, 22))
SPAN = Span(FIRST, THIRD)


def sums(sessions: int, dollars: int | None = None, *, tokens: int = 0) -> Sums:
    """So many tasks; with dollars or tokens those of all of them are known."""
    return Sums(
        sessions=sessions,
        priced=0 if dollars is None else sessions,
        cost_millionths=(dollars or 0) * 1_000_000,
        metered=sessions if tokens else 0,
        input_tokens=tokens,
    )


NOW: GroupSums = {
    (Dimension.OVERALL, ""): replace(sums(9, 5), failed=3, failed_priced=1, failed_millionths=500_000),
    (Dimension.MODEL, "large"): sums(2, 4),
    (Dimension.MODEL, "small"): replace(sums(3, 1), failed=2),
    (Dimension.MODEL, "local"): sums(1, tokens=90),
    (Dimension.MODEL, "mute"): sums(3),
    (Dimension.MODEL, "open"): Sums(open_sessions=1),
    (Dimension.AGENT, "hermes"): sums(4),
    (Dimension.AGENT, "claude-code"): sums(5, 5),
    (Dimension.KIND, "main"): sums(9, 5),
}


def used(before: GroupSums | None = None) -> UsageByDay:
    days = {FIRST: sums(2, 4), THIRD: sums(7, 1)}
    groups = {(FIRST, "large"): sums(2, 4), (THIRD, "small"): sums(3, 1), (THIRD, "mute"): sums(3)}
    return usage_by_day(NOW, before, days, groups, span=SPAN, split=UsageSplit.MODEL)


def test_groups_stand_by_cost_then_by_tokens_then_by_sessions() -> None:
    assert [group.name for group in used().groups] == ["large", "small", "local", "mute"]


def test_every_day_is_there_also_one_without_a_session() -> None:
    daily = used().daily
    assert [(day.day, day.spending.sessions, day.spending.cost_usd) for day in daily] == [
        *((FIRST, 2, 4.0), (SECOND, 0, None), (THIRD, 7, 1.0))
    ]
    assert [{name: spent.cost_usd for name, spent in day.groups.items()} for day in daily] == [
        *({"large": 4.0}, {}, {"small": 1.0, "mute": None})
    ]


def test_agents_and_kinds_are_told_whatever_the_split() -> None:
    assert list(used().agents) == ["claude-code", "hermes"]
    assert list(used().kinds) == ["main"]


def test_days_before_stand_beside_the_whole_and_each_group() -> None:
    earlier: GroupSums = {(Dimension.OVERALL, ""): sums(2, 2), (Dimension.MODEL, "large"): sums(2, 2)}
    found = used(earlier)

    assert found.before == spending(sums(2, 2))
    assert [None if each.before is None else each.before.sessions for each in found.groups] == [2, 0, 0, 0]


def test_without_days_before_nothing_is_compared() -> None:
    assert used().before is None
    assert {each.before for each in used().groups} == {None}


def test_whole_and_what_failed_are_handed_on() -> None:
    found = used()
    assert (found.days, found.first_day, found.last_day, found.split) == (3, FIRST, THIRD, UsageSplit.MODEL)
    assert (found.spending, found.failed) == (spending(sums(9, 5)), FailedSpending(sessions=3, priced=1, cost_usd=0.5))


def test_usage_of_a_group_is_its_part_of_the_whole() -> None:
    small = usage_of_group(used(), "small", NOW)

    assert (small.spending, small.failed) == (spending(sums(3, 1)), FailedSpending(sessions=2))
    assert [group.name for group in small.groups] == ["small"]
    assert [(day.spending.sessions, list(day.groups)) for day in small.daily] == [(0, []), (0, []), (3, ["small"])]
    assert (small.agents, small.kinds) == ({}, {})


def test_usage_of_an_agent_names_it_alone_and_that_of_nobody_is_nothing() -> None:
    by_agent = usage_by_day(NOW, None, {}, {}, span=SPAN, split=UsageSplit.AGENT)

    assert list(usage_of_group(by_agent, "hermes", NOW).agents) == ["hermes"]
    nobody = usage_of_group(by_agent, "nobody", NOW)
    assert (nobody.spending.sessions, nobody.groups, nobody.before) == (0, (), None)
    assert nobody.failed == FailedSpending()
