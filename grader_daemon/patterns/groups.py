"""Sums of sessions as rates and means, each with its interval and the span before; and the patterns of a span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.estimate import Estimate, Figure, figure, proportion
from grader_daemon.domain.insight import Group, Patterns, ToolStep
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.patterns.issues import alternatives

FEWEST_SESSIONS = 3
"""A group with fewer sessions has no rates and means: "too few"."""

GroupSums = Mapping[tuple[Dimension, str], Sums]
"""The sums of every group of a span."""

_NONE = Sums()
_GROUPED = (Dimension.TASK_TYPE, Dimension.TOOL, Dimension.MODEL, Dimension.PLATFORM, Dimension.CATEGORY)


def completion(sums: Sums) -> Estimate:
    """Rate of completed sessions, 0 to 1."""
    return sums.completion_rate(fewest=FEWEST_SESSIONS)


def recovery(sums: Sums) -> Estimate:
    """Rate of sessions that recovered, 0 to 1, of those that had failures."""
    return proportion(sums.recovered, sums.with_errors, fewest=FEWEST_SESSIONS)


def efficiency(sums: Sums) -> Estimate:
    """Mean tool efficiency, 1 to 5."""
    return sums.mean_efficiency(fewest=FEWEST_SESSIONS)


def quality(sums: Sums) -> Estimate:
    """Mean response quality, 1 to 5."""
    return sums.mean_quality(fewest=FEWEST_SESSIONS)


def score(sums: Sums) -> Estimate:
    """Mean session score, 1 to 5."""
    return sums.mean_score(_thrice_score(sums) / 3, sums.score_squares / 9, fewest=FEWEST_SESSIONS)


def failure_rate(sums: Sums, whole: Sums | None = None) -> Estimate:
    """Failures per tool call, 0 to 1; `whole` are the sums whose calls count, if not the group's own."""
    return sums.failure_rate(whole, fewest=FEWEST_SESSIONS)


def plain_score(sums: Sums) -> float | None:
    """Mean session score, 1 to 5, however few the sessions; None without any."""
    return _thrice_score(sums) / (3 * sums.sessions) if sums.sessions else None


def group(now: GroupSums, before: GroupSums, dimension: Dimension, name: str) -> Group:
    """Describe one group beside the span before."""
    sums, earlier = now.get((dimension, name), _NONE), before.get((dimension, name), _NONE)

    def both(estimate: Callable[[Sums], Estimate]) -> Figure:
        return figure(estimate(sums), estimate(earlier))

    return Group(
        name=name,
        sessions=sums.sessions,
        unanswered=sums.unanswered,
        sessions_before=earlier.sessions,
        completion=both(completion),
        score=both(score),
        efficiency=both(efficiency),
        quality=both(quality),
        recovery=both(recovery),
        calls=sums.calls,
        failures=sums.failures,
        failures_before=earlier.failures,
        failure_rate=_failure_figure(now, before, dimension, name),
    )


def groups(now: GroupSums, before: GroupSums, dimension: Dimension) -> tuple[Group, ...]:
    """Describe the groups of a dimension that had sessions: failing ones most failures first, others most sessions."""
    names = [name for (of, name), sums in now.items() if of is dimension and (sums.sessions or sums.unanswered)]
    by_failures = dimension in {Dimension.TOOL, Dimension.CATEGORY}
    found = [group(now, before, dimension, name) for name in names]
    return tuple(sorted(found, key=lambda g: (-g.failures if by_failures else 0, -g.sessions, g.name)))


def find_patterns(now: GroupSums, before: GroupSums, steps: Iterable[ToolStep], *, span: Span) -> Patterns:
    """Gather what the finished sessions of `span` have in common, beside those of the span before."""
    whole = now.get((Dimension.OVERALL, ""), _NONE)
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


def _failure_figure(now: GroupSums, before: GroupSums, dimension: Dimension, name: str) -> Figure:
    """Failures of a category are counted against the calls of all sessions."""
    wholes = [
        sums.get((Dimension.OVERALL, ""), _NONE) if dimension is Dimension.CATEGORY else None for sums in (now, before)
    ]
    return figure(
        failure_rate(now.get((dimension, name), _NONE), wholes[0]),
        failure_rate(before.get((dimension, name), _NONE), wholes[1]),
    )


def _thrice_score(sums: Sums) -> int:
    return sums.efficiency + sums.quality + sums.sessions + 4 * sums.completed


def _of(sums: GroupSums, dimension: Dimension) -> list[tuple[str, Sums]]:
    return [(name, each) for (of, name), each in sums.items() if of is dimension and each.sessions]
