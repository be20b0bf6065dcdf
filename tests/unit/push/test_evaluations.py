from __future__ import annotations

import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.push.evaluations import evaluations
from tests.strategies import grade

TRUST = Trust(version="r", by=VerdictBy.RULES)


def told(**changes: object) -> dict[str, tuple[float | None, str | None]]:
    return {each.name: (each.value, each.label) for each in evaluations(grade(**changes), TRUST)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"task_completed": True}, (1.0, "done"), id="done"),
        pytest.param({"task_completed": False}, (0.0, "not_done"), id="not-done"),
        pytest.param({"task_completed": True, "unsure": True}, (None, "unsure"), id="unsure"),
        pytest.param(
            {"task_completed": False, "unsure": True, "verdict_by": VerdictBy.PERSON}, (0.0, "not_done"), id="a-person"
        ),
    ],
)
def test_completion_has_the_outcome_as_its_label(
    changes: dict[str, object], expected: tuple[float | None, str]
) -> None:
    assert told(**changes)["task_completed"] == expected


def test_the_other_scores_are_as_they_are_graded() -> None:
    made = told(response_quality=3, tool_calls_efficient=5)
    assert (made["response_quality"], made["tool_calls_efficient"]) == ((3.0, None), (5.0, None))


@pytest.mark.parametrize(
    "changes", [pytest.param({"state": SessionState.OPEN}, id="open"), pytest.param({"scored": False}, id="no-answer")]
)
def test_of_some_sessions_there_is_nothing_to_say(changes: dict[str, object]) -> None:
    assert told(**changes) == {}


def test_a_person_judges_what_has_no_answer() -> None:
    assert set(told(scored=False, verdict_by=VerdictBy.PERSON)) == {"task_completed"}


def test_rules_that_spoke_are_said_once_in_words() -> None:
    reasons = (
        Reason("response_quality", "quality.base", 3.0),
        Reason("response_quality", "quality.link", 1.0, (4,)),
        Reason("response_quality", "quality.link", 1.0, (9,)),
        Reason("task_completed", "completion.phrase", 1.0),
    )
    [quality] = [each for each in evaluations(grade(reasons=reasons), TRUST) if each.name == "response_quality"]
    assert quality.explanation == "every answer starts with this score; the final answer has a link or reference"
