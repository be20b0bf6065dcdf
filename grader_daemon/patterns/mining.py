"""Patterns of a span of days, out of its sums."""

from __future__ import annotations

from collections.abc import Iterable

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.insight import Patterns, ToolStep
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.patterns.groups import GroupSums, group, groups, plain_score
from grader_daemon.patterns.issues import alternatives

_GROUPED = (Dimension.TASK_TYPE, Dimension.TOOL, Dimension.MODEL, Dimension.PLATFORM, Dimension.CATEGORY)


def find_patterns(now: GroupSums, before: GroupSums, steps: Iterable[ToolStep], *, span: Span) -> Patterns:
    """Gather what the finished sessions of `span` have in common, beside those of the span before."""
    whole = now.get((Dimension.OVERALL, ""), Sums())
    found = {dimension: groups(now, before, dimension) for dimension in _GROUPED}
    tasks = sorted(
        ((score, name, sums.sessions) for name, sums in _of(now, Dimension.TASK_TYPE) if (score := plain_score(sums))),
    )
    return Patterns(
        days=span.days,
        first_day=span.first,
        last_day=span.last,
        sessions=whole.sessions,
        open_sessions=whole.open_sessions,
        unanswered=whole.unanswered,
        task_scores={name: score for score, name, _ in tasks},
        task_sessions={name: sessions for _, name, sessions in tasks},
        tool_errors={each.name: each.failures for each in found[Dimension.TOOL] if each.failures},
        error_types={each.name: each.failures for each in found[Dimension.CATEGORY]},
        overall=group(now, before, Dimension.OVERALL, ""),
        groups=found,
        alternatives=alternatives(steps, failures={each.name: each.failures for each in found[Dimension.TOOL]}),
    )


def _of(sums: GroupSums, dimension: Dimension) -> list[tuple[str, Sums]]:
    return [(name, each) for (of, name), each in sums.items() if of is dimension and each.sessions]
