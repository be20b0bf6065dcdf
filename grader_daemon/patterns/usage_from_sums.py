"""Sums to usage by day: pure, from what the roll-ups hold of each dimension alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta

from msgspec.structs import replace

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.insight import Spending
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.usage_by_day import UsageByDay, UsageDay, UsageGroup, UsageSplit, all_tokens
from grader_daemon.patterns.groups import GroupSums, failed_spending, spending

DailySums = Mapping[date, Sums]
"""The sums over all sessions of each day that had any."""
DailyGroupSums = Mapping[tuple[date, str], Sums]
"""The sums of each group of one dimension on each day."""

_NONE = Sums()


def usage_by_day(
    now: GroupSums,
    before: GroupSums | None,
    daily: DailySums,
    daily_groups: DailyGroupSums,
    *,
    span: Span,
    split: UsageSplit,
) -> UsageByDay:
    """Describe what the sessions of a span cost and used; `before` is None where nothing can be compared with it."""
    return UsageByDay(
        days=span.days,
        first_day=span.first,
        last_day=span.last,
        split=split,
        spending=_of(now, Dimension.OVERALL, ""),
        before=None if before is None else _of(before, Dimension.OVERALL, ""),
        failed=failed_spending(now.get((Dimension.OVERALL, ""), _NONE)),
        groups=tuple(_groups(now, before, split.dimension)),
        agents=_by_name(now, Dimension.AGENT),
        kinds=_by_name(now, Dimension.KIND),
        daily=tuple(_days(daily, daily_groups, span, split.dimension)),
    )


def usage_of_group(used: UsageByDay, name: str, now: GroupSums) -> UsageByDay:
    """Return the part of a usage that one group of its split has; `now` are the sums that the usage was made of."""
    nothing = spending(_NONE, used.split.dimension)
    groups = tuple(group for group in used.groups if group.name == name)
    spent = {group.name: group.spending for group in groups}
    return replace(
        used,
        spending=spent.get(name, nothing),
        before=groups[0].before if groups else None,
        failed=failed_spending(now.get((used.split.dimension, name), _NONE)),
        groups=groups,
        agents=spent if used.split is UsageSplit.AGENT else {},
        kinds=spent if used.split is UsageSplit.KIND else {},
        daily=tuple(
            UsageDay(
                day=each.day,
                spending=each.groups.get(name, nothing),
                groups={of: spent for of, spent in each.groups.items() if of == name},
            )
            for each in used.daily
        ),
    )


def _of(sums: GroupSums, dimension: Dimension, name: str) -> Spending:
    return spending(sums.get((dimension, name), _NONE), dimension)


def _groups(now: GroupSums, before: GroupSums | None, dimension: Dimension) -> list[UsageGroup]:
    found = [
        UsageGroup(name=name, spending=spent, before=None if before is None else _of(before, dimension, name))
        for name, spent in _by_name(now, dimension).items()
    ]
    return sorted(found, key=lambda each: _order(each.name, each.spending))


def _order(name: str, spent: Spending) -> tuple[float, int, int, str]:
    return -(spent.cost_usd or 0.0), -(all_tokens(spent) or 0), -spent.sessions, name


def _by_name(sums: GroupSums, dimension: Dimension) -> dict[str, Spending]:
    """Return the groups of a dimension that had sessions, those with most first."""
    found = {name: spending(each, dimension) for (of, name), each in sums.items() if of is dimension and each.finished}
    return dict(sorted(found.items(), key=lambda one: (-one[1].sessions, one[0])))


def _days(daily: DailySums, groups: DailyGroupSums, span: Span, dimension: Dimension) -> Iterable[UsageDay]:
    """Yield every day of a span, also those without a session."""
    of_day: dict[date, dict[str, Spending]] = {}
    for (day, name), sums in groups.items():
        of_day.setdefault(day, {})[name] = spending(sums, dimension)
    for number in range(span.days):
        day = span.first + timedelta(days=number)
        yield UsageDay(day=day, spending=spending(daily.get(day, _NONE)), groups=of_day.get(day, {}))
