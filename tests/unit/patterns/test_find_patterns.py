from __future__ import annotations

import pytest

from grader_daemon.domain.calendar import last_days
from grader_daemon.domain.error_groups import ToolStep
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.patterns.groups import find_patterns
from tests.strategies import NOW

SPAN = last_days(7, NOW.date())


def sums(sessions: int = 3, *, quality: int = 3, failures: int = 0, open_sessions: int = 0) -> Sums:
    """Sessions of efficiency 5 that did not complete."""
    return Sums(
        sessions=sessions,
        open_sessions=open_sessions,
        efficiency=5 * sessions,
        efficiency_squares=25 * sessions,
        quality=quality * sessions,
        quality_squares=quality**2 * sessions,
        score_squares=(6 + quality) ** 2 * sessions,
        calls=10 * sessions,
        calls_squares=100 * sessions,
        failures=failures,
    )


def test_the_days_are_those_of_the_span() -> None:
    found = find_patterns({}, {}, [], span=SPAN, daily={})
    assert (found.days, found.first_day, found.last_day) == (7, SPAN.first, SPAN.last)


def test_nothing_has_nothing_in_common() -> None:
    found = find_patterns({}, {}, [], span=SPAN, daily={})
    assert (found.sessions, found.open_sessions) == (0, 0)
    assert (found.task_scores, found.task_sessions, found.tool_errors, found.error_types) == ({}, {}, {}, {})
    assert set(found.groups) == set(Dimension) - {Dimension.OVERALL, Dimension.TASK_MODEL, Dimension.JOB}
    assert all(each == () for each in found.groups.values())
    assert found.alternatives == ()
    assert found.overall.completion.value is None
    assert found.overall.ended_badly.now.value is None


def test_task_types_come_lowest_score_first_however_few_their_sessions() -> None:
    now = {
        (Dimension.TASK_TYPE, "testing"): sums(9, quality=4),
        (Dimension.TASK_TYPE, "debugging"): sums(1, quality=1),
        (Dimension.TASK_TYPE, "research"): sums(2, quality=4),
        (Dimension.TASK_TYPE, "general"): Sums(open_sessions=1),
    }
    found = find_patterns(now, {}, [], span=SPAN, daily={})
    assert list(found.task_scores) == ["debugging", "research", "testing"]
    assert list(found.task_scores.values()) == pytest.approx([7 / 3, 10 / 3, 10 / 3])
    assert found.task_sessions == {"debugging": 1, "research": 2, "testing": 9}
    assert list(found.task_sessions) == list(found.task_scores)


def test_tools_and_errors_come_with_their_failures_most_first() -> None:
    now = {
        (Dimension.OVERALL, ""): sums(9, failures=7, open_sessions=2),
        (Dimension.TOOL, "browser"): sums(3, failures=2),
        (Dimension.TOOL, "terminal"): sums(3, failures=5),
        (Dimension.TOOL, "read_file"): sums(3),
        (Dimension.CATEGORY, "timeout"): sums(3, failures=6),
        (Dimension.CATEGORY, "network_error"): sums(3, failures=1),
    }
    found = find_patterns(now, {}, [], span=SPAN, daily={})
    assert list(found.tool_errors.items()) == [("terminal", 5), ("browser", 2)]
    assert list(found.error_types.items()) == [("timeout", 6), ("network_error", 1)]
    assert (found.sessions, found.open_sessions, found.overall.failures) == (9, 2, 7)
    assert found.task_scores == {}
    assert [group.name for group in found.groups[Dimension.TOOL]] == ["terminal", "browser", "read_file"]


def test_groups_stand_beside_the_span_before() -> None:
    key = (Dimension.MODEL, "m")
    found = find_patterns({key: sums(4)}, {key: sums(3, quality=1)}, [], span=SPAN, daily={})
    (group,) = found.groups[Dimension.MODEL]
    assert (group.sessions, group.sessions_before) == (4, 3)
    assert group.quality.change.value == pytest.approx(2.0)


def test_what_helped_is_told_for_each_tool_with_its_failures() -> None:
    now = {(Dimension.TOOL, "terminal"): sums(3, failures=5)}
    steps = [ToolStep("terminal", "browser", None, False, 6, 4, 2), ToolStep("gone", "x", None, False, 6, 4, 2)]
    found = find_patterns(now, {}, steps, span=SPAN, daily={})
    assert [(each.tool, each.failures) for each in found.alternatives] == [("terminal", 5), ("gone", 0)]
