"""Sums of sessions as rates and means, each with its interval and the span before; and the patterns of a span."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import reduce

from msgspec.structs import replace

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.error_groups import ToolStep
from grader_daemon.domain.estimate import Estimate, Figure, combined_change, figure, proportion
from grader_daemon.domain.fleet_hosts import FleetHostState
from grader_daemon.domain.insight import DayFigures, DaySpending, Group, Patterns, Spending
from grader_daemon.domain.rollup import ESTIMATORS, Dimension, Sums
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.usage_by_day import FailedSpending
from grader_daemon.patterns.issues import alternatives

FEWEST_SESSIONS = 3
"""A group with fewer sessions has no rates and means: "too few"."""

GroupSums = Mapping[tuple[Dimension, str], Sums]
"""The sums of every group of a span."""
Completions = Mapping[tuple[Dimension, str], Estimate]
"""The completion of groups of a span, as random labels tell it."""
NO_COMPLETIONS: Completions = {}
"""Without any label."""

_NONE = Sums()
_SEVERAL = 2
_FEWEST_OF_A_STRATUM = 10
"""Fewest sessions of a host, on both sides, with which intervals hold what they promise (tests/unit/patterns)."""
_GROUPED: tuple[Dimension, ...] = tuple(
    each for each in Dimension if each not in {Dimension.OVERALL, Dimension.TASK_MODEL, Dimension.JOB}
)
PATTERN_DIMENSIONS = (Dimension.OVERALL, *_GROUPED)
"""Dimensions that patterns are made of."""
_WITHOUT_MONEY = {Dimension.TOOL, Dimension.CATEGORY}
_APART_FROM_SIDE = {Dimension.TASK_TYPE, Dimension.MODEL, Dimension.PLATFORM, Dimension.TASK_MODEL}
"""A sub-agent has a task type and a model of its own: what it costs is not a cost of the tasks of its group."""
_OF_A_DAY = ("ended_badly", "efficiency", "quality", "failure_rate")
"""Estimates that `DayFigures` have."""
_MILLION = 1_000_000


def share_of(found: int, sessions: int, found_before: int, sessions_before: int) -> Figure:
    """Compare how many of the sessions of a span something is true of with the span before."""
    now, before = (
        proportion(min(number, total), total, fewest=FEWEST_SESSIONS)
        for number, total in ((found, sessions), (found_before, sessions_before))
    )
    return figure(now, before)


def estimates(sums: Sums) -> dict[str, Estimate]:
    """Return what is estimated of a group, by the field of `Group`; nothing has a value for too few sessions."""
    return {name: estimate(sums, fewest=FEWEST_SESSIONS) for name, estimate in ESTIMATORS.items()}


def group(
    now: GroupSums, before: GroupSums, dimension: Dimension, name: str, *, completions: Completions = NO_COMPLETIONS
) -> Group:
    """Describe one group beside the span before."""
    sums, earlier = now.get((dimension, name), _NONE), before.get((dimension, name), _NONE)

    found, found_before = estimates(sums), estimates(earlier)
    if dimension is Dimension.CATEGORY:
        found["failure_rate"], found_before["failure_rate"] = _of_all_calls(sums, now), _of_all_calls(earlier, before)
    figures = {field: figure(found[field], found_before[field]) for field in found}
    if dimension is Dimension.OVERALL:
        strata = _strata(now, before)
        figures = {field: _within_hosts(field, each, strata) for field, each in figures.items()}
    return Group(
        name=name,
        sessions=sums.sessions,
        unanswered=sums.unanswered,
        sessions_before=earlier.sessions,
        calls=sums.calls,
        failures=sums.failures,
        failures_before=earlier.failures,
        **figures,
        spending=None if dimension in _WITHOUT_MONEY else spending(sums, dimension),
        done=sums.done,
        not_done=sums.not_done,
        unsure=sums.unsure,
        completion=completions.get((dimension, name), Estimate()),
    )


def day_figures(day: date, sums: Sums) -> DayFigures:
    """Describe one day."""
    found = {name: ESTIMATORS[name](sums, fewest=FEWEST_SESSIONS) for name in _OF_A_DAY}
    spent = spending(sums)
    return DayFigures(
        day=day,
        sessions=sums.sessions,
        done=sums.done,
        not_done=sums.not_done,
        unsure=sums.unsure,
        **found,
        cost_usd=spent.cost_usd,
        tasks=spent.tasks,
    )


def each_day(span: Span, known: Mapping[date, Sums]) -> tuple[DayFigures, ...]:
    """Describe every day of a span, also those of which no sums are known."""
    days = (span.first + timedelta(days=number) for number in range(span.days))
    return tuple(day_figures(day, known.get(day, _NONE)) for day in days)


def spending(sums: Sums, dimension: Dimension = Dimension.OVERALL) -> Spending:
    """Return what the sessions of a group of a dimension used and cost."""
    on_tasks = sums.cost_millionths - (sums.side_millionths if dimension in _APART_FROM_SIDE else 0)
    metered, priced = sums.metered > 0, sums.priced > 0
    return Spending(
        sessions=sums.finished,
        side=sums.side,
        metered=sums.metered,
        input_tokens=sums.input_tokens if metered else None,
        cache_read_tokens=sums.cache_read_tokens or None,  # 0 is, too, what agents add up to that say nothing of caches
        cache_write_tokens=sums.cache_write_tokens or None,
        output_tokens=sums.output_tokens if metered else None,
        priced=sums.priced,
        cost_usd=sums.cost_millionths / _MILLION if priced else None,
        side_usd=sums.side_millionths / _MILLION if priced else None,
        tasks=sums.priced_tasks,
        per_task_usd=on_tasks / _MILLION / sums.priced_tasks if sums.priced_tasks else None,
    )


def failed_spending(sums: Sums) -> FailedSpending:
    """Return what the failed sessions of a group cost."""
    priced = sums.failed_priced
    return FailedSpending(
        sessions=sums.failed, priced=priced, cost_usd=sums.failed_millionths / _MILLION if priced else None
    )


def groups(
    now: GroupSums, before: GroupSums, dimension: Dimension, *, completions: Completions = NO_COMPLETIONS
) -> tuple[Group, ...]:
    """Describe the groups of a dimension that had sessions: failing ones most failures first, others most sessions."""
    names = [name for (of, name), sums in now.items() if of is dimension and sums.finished]
    by_failures = dimension in {Dimension.TOOL, Dimension.CATEGORY}
    found = [group(now, before, dimension, name, completions=completions) for name in names]
    return tuple(sorted(found, key=lambda g: (-g.failures if by_failures else 0, -g.sessions, g.name)))


def find_patterns(
    now: GroupSums,
    before: GroupSums,
    steps: Iterable[ToolStep],
    *,
    span: Span,
    daily: Mapping[date, Sums],
    completions: Completions = NO_COMPLETIONS,
) -> Patterns:
    """Gather what the finished sessions of `span` have in common, beside those of the span before; `daily` are all."""
    whole = now.get((Dimension.OVERALL, ""), _NONE)
    found = {dimension: groups(now, before, dimension, completions=completions) for dimension in _GROUPED}
    tasks = sorted(
        ((score, name, sums.sessions) for name, sums in _of(now, Dimension.TASK_TYPE) if (score := sums.plain_score))
    )
    return Patterns(
        days=span.days,
        first_day=span.first,
        last_day=span.last,
        sessions=whole.sessions,
        open_sessions=whole.open_sessions,
        unanswered=whole.unanswered,
        scheduled=now.get((Dimension.KIND, SessionKind.CRON), _NONE).ended,
        task_scores={name: score for score, name, _ in tasks},
        task_sessions={name: sessions for _, name, sessions in tasks},
        tool_errors={each.name: each.failures for each in found[Dimension.TOOL] if each.failures},
        error_types={each.name: each.failures for each in found[Dimension.CATEGORY]},
        overall=group(now, before, Dimension.OVERALL, "", completions=completions),
        groups=found,
        alternatives=alternatives(steps, failures={each.name: each.failures for each in found[Dimension.TOOL]}),
        daily=tuple(DaySpending(day, spending(sums)) for day, sums in daily.items()),
    )


def with_users(found: GroupSums, hosts: Iterable[FleetHostState]) -> GroupSums:
    """Return sums with those of the users of a fleet, which are made of the sums of their hosts."""
    users: dict[tuple[Dimension, str], Sums] = {}
    for host in hosts:
        sums = found.get((Dimension.HOST, host.host))
        if host.user is not None and sums is not None:
            key = (Dimension.USER, host.user)
            users[key] = users[key].plus(sums) if key in users else sums
    return {**found, **users}


def _within_hosts(field: str, whole: Figure, strata: Sequence[tuple[Sums, Sums]] | None) -> Figure:
    """Return a figure of a fleet whose change compares each of its `strata` with itself, by the sessions it has now."""
    if strata is None:
        return whole
    estimate = ESTIMATORS[field]
    compared = [figure(estimate(now), estimate(before)) for now, before in strata]
    return replace(whole, change=combined_change([(each.now.sample, each.change) for each in compared]))


def _strata(now: GroupSums, before: GroupSums) -> list[tuple[Sums, Sums]] | None:
    """Return the hosts of a fleet as strata, each now and before; None where there are not several.

    Hosts do other work, and their rates lie apart: else the whole would change when one of them does more. Those with
    few sessions in one of the spans are one stratum together: intervals of a handful add up to one that is too short.
    """
    names = list(dict.fromkeys(name for sums in (now, before) for of, name in sums if of is Dimension.HOST))
    if len(names) < _SEVERAL:
        return None
    hosts = [(now.get((Dimension.HOST, name), _NONE), before.get((Dimension.HOST, name), _NONE)) for name in names]
    both = [(later, earlier) for later, earlier in hosts if later.sessions and earlier.sessions]
    large = [pair for pair in both if min(pair[0].sessions, pair[1].sessions) >= _FEWEST_OF_A_STRATUM]
    small = [pair for pair in both if pair not in large]
    return [*large, *([(_together(each[0] for each in small), _together(each[1] for each in small))] if small else [])]


def _together(sums: Iterable[Sums]) -> Sums:
    return reduce(Sums.plus, sums)


def _of_all_calls(sums: Sums, whole: GroupSums) -> Estimate:
    """Return the failures of a category by the calls of all sessions."""
    return sums.failure_rate(whole.get((Dimension.OVERALL, ""), _NONE), fewest=FEWEST_SESSIONS)


def _of(sums: GroupSums, dimension: Dimension) -> list[tuple[str, Sums]]:
    return [(name, each) for (of, name), each in sums.items() if of is dimension and each.sessions]
