from __future__ import annotations

from typing import Any

import pytest

from grader_daemon.domain.past_cause import PastCause
from grader_daemon.domain.recollection import CauseWords, PastFailure, PastGrade
from grader_daemon.domain.verdict import Outcome
from tests.strategies import NOW


@pytest.mark.parametrize(
    ("following", "expected"),
    [
        pytest.param({"next_tool": "terminal", "next_command": "make"}, True, id="the-same-call"),
        pytest.param({"next_tool": "terminal", "next_command": "make all"}, False, id="another-command"),
        pytest.param({"next_tool": None, "next_command": None}, False, id="nothing"),
    ],
)
def test_a_repetition_that_worked_helped(following: dict[str, Any], expected: bool) -> None:
    failure = PastFailure(tool="terminal", command="make", category="not_found", times=1, **following)
    assert failure.helped_by_retry is expected


def test_a_cause_without_a_sure_step_says_so() -> None:
    words = CauseWords(fingerprint="f", tool=None, command=None, category="other", subcategory=None, signal="it broke")
    cause = PastCause(words=words, failures=1, sessions=1, last_seen=NOW, tries=0, recovered=0, sure_step=None)
    assert cause.sure_step is None


@pytest.mark.parametrize(
    ("completed", "unsure", "outcome"),
    [
        (1, 0, Outcome.DONE), (0, 0, Outcome.NOT_DONE), (1, 1, Outcome.UNSURE), (None, 0, Outcome.NO_ANSWER),
    ],
)  # fmt: skip
def test_an_earlier_grade_is_told_as_any_other(completed: int | None, unsure: int, outcome: Outcome) -> None:
    grade = PastGrade(
        completed=completed, unsure=unsure, verdict_by="rules", p_completed=None, efficiency=None, quality=None
    )
    assert grade.outcome is outcome
