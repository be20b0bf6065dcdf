from __future__ import annotations

import pytest

from grader_daemon.domain.difference import ColumnChange, ColumnDiff
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.grading.comparison import Comparison, column_changes
from tests.strategies import grade


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({}, {"task_completed": False}, ["task_completed"], id="the-verdict"),
        pytest.param({}, {"state_reason": "other"}, [], id="what-no-statistic-is-made-of"),
        pytest.param({"p_completed": 0.5}, {"p_completed": 0.54}, [], id="a-probability-that-moves-a-little"),
        pytest.param({"p_completed": 0.5}, {"p_completed": 0.56}, ["p_completed"], id="a-probability-that-moves"),
        pytest.param({}, {"p_completed": 0.01}, ["p_completed"], id="a-probability-where-there-was-none"),
        pytest.param({"p_completed": 0.01}, {}, ["p_completed"], id="a-probability-that-goes"),
        pytest.param(
            {}, {"response_quality": 1, "total_errors": 3}, ["response_quality", "total_errors"], id="several-columns"
        ),
    ],
)
def test_columns_that_differ(before: dict[str, object], after: dict[str, object], changed: list[str]) -> None:
    changes = column_changes(grade(**before), grade(**after))
    assert [change.column for change in changes] == changed


def test_rises_and_falls_are_counted_for_each_column() -> None:
    comparison = Comparison()
    comparison.add(grade(), grade(task_completed=False, p_completed=0.2))
    comparison.add(grade(task_completed=False, p_completed=0.9), grade())
    comparison.add(grade(task_completed=False), grade())
    comparison.add(grade(), grade())
    comparison.pass_over("still open")
    diff = comparison.diff()
    assert (diff.sessions, diff.changed, diff.unread) == (4, 3, {"still open": 1})
    assert diff.columns == (
        ColumnDiff(column="task_completed", rises=2, falls=1, before=0.5, after=0.75),
        ColumnDiff(column="tool_calls_efficient", rises=0, falls=0, before=5, after=5),
        ColumnDiff(column="response_quality", rises=0, falls=0, before=3, after=3),
        ColumnDiff(column="total_errors", rises=0, falls=0, before=0, after=0),
        ColumnDiff(column="p_completed", rises=1, falls=1, before=0.9, after=0.2),
    )
    assert (diff.completion_before.value, diff.completion_after.value) == (0.5, 0.75)


def test_verdicts_on_tasks_of_people_are_counted_before_and_after() -> None:
    comparison = Comparison()
    comparison.add(grade(), grade(unsure=True))
    comparison.add(grade(task_completed=False), grade(unsure=True, task_completed=False))
    comparison.add(grade(kind="cron"), grade(kind="cron", task_completed=False))
    comparison.add(grade(scored=False), grade())
    diff = comparison.diff()
    assert diff.verdicts_before == VerdictCounts(done=1, not_done=1, no_answer=1)
    assert diff.verdicts_after == VerdictCounts(done=1, unsure=2)


def test_what_is_not_known_is_no_part_of_a_mean() -> None:
    comparison = Comparison()
    comparison.add(grade(), grade(scored=False))
    comparison.add(grade(tool_calls_efficient=2), grade(tool_calls_efficient=2))
    diff = comparison.diff()
    (change,) = diff.largest
    assert diff.columns[1] == ColumnDiff(column="tool_calls_efficient", rises=0, falls=1, before=3.5, after=2)
    assert diff.columns[4] == ColumnDiff(column="p_completed", rises=0, falls=0, before=None, after=None)
    assert (diff.completion_before.sample, diff.completion_after.sample) == (2, 1)
    assert change.score_change is None


def test_the_largest_changes_come_first_and_no_more_than_twenty() -> None:
    comparison = Comparison()
    for number in range(30):
        comparison.add(grade(session_id=f"likely-{number}"), grade(p_completed=(number + 1) / 40))
    comparison.add(grade(session_id="quality"), grade(response_quality=1))
    comparison.add(grade(session_id="flipped"), grade(task_completed=False))
    comparison.add(grade(session_id="one-more", total_errors=8), grade(total_errors=9))
    comparison.add(grade(session_id="failures"), grade(total_errors=9))
    comparison.add(grade(session_id="unknown", p_completed=0.9), grade())
    largest = [change.session_id for change in comparison.diff().largest]
    assert largest[:6] == ["flipped", "quality", "failures", "one-more", "unknown", "likely-29"]
    assert len(largest) == 20


def test_a_change_is_told_with_its_reasons() -> None:
    base = Reason("response_quality", "quality.base", 3.0)
    long, longer = (Reason("response_quality", "quality.long_answer", effect) for effect in (1.0, 2.0))
    comparison = Comparison()
    comparison.add(grade(reasons=(base, long)), grade(reasons=(base, longer), response_quality=4, task_completed=False))
    [change] = comparison.diff().largest
    assert (change.silent, change.speaking) == ((long,), (longer,))
    assert change.columns == (ColumnChange("task_completed", True, False), ColumnChange("response_quality", 3, 4))
    assert change.score_change == pytest.approx(-1.0)


def test_no_sessions_differ_in_nothing() -> None:
    diff = Comparison().diff()
    assert (diff.sessions, diff.changed, diff.completion_before.value, diff.largest) == (0, 0, None, ())
