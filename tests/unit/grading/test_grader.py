from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from hypothesis import given

from grader_daemon.analysis import Analyzer
from grader_daemon.domain.analysis import Category
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import Message, Session
from grader_daemon.grading import Grader
from grader_daemon.rules import load_rules
from tests.strategies import (
    BROKE,
    NOW,
    WORKED,
    answer,
    rounds,
    session,
    sessions,
    tool_outcomes,
    user,
)

REQUEST = user("Fix it")
WRITTEN = NOW - timedelta(minutes=3)


class Judge:
    """Analyzer and grader in a row."""

    def __init__(self) -> None:
        rules = load_rules()
        self.version = rules.version
        self._analyzer = Analyzer(rules)
        self._grader = Grader(rules, zone=UTC)

    def grade(self, graded: Session) -> Grade:
        """Grade one session."""
        return self._grader.grade(graded, self._analyzer.analyze(graded), now=NOW, written_at=WRITTEN)


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


def scores(grade: Grade) -> tuple[int, int, bool, bool, float]:
    """Everything in a grade that is better when it is more."""
    return (
        grade.tool_calls_efficient,
        grade.response_quality,
        grade.task_completed,
        grade.errors_recovered,
        grade.score,
    )


def test_a_grade_says_what_it_was_made_of(judge: Judge) -> None:
    graded = judge.grade(session(REQUEST, *rounds(WORKED), answer("Done, it works."), model="m", platform="cli"))
    assert (graded.graded_at, graded.rules_version, graded.model, graded.platform) == (NOW, judge.version, "m", "cli")


def test_error_types_and_tools_are_distinct_in_order_of_appearance(judge: Judge) -> None:
    missing = '{"error": "File not found: x"}'
    graded = judge.grade(session(REQUEST, *rounds(BROKE, missing, BROKE, missing)))
    assert (graded.error_types, graded.tools_with_errors) == (
        (Category.COMMAND_FAILED, Category.FILE_NOT_FOUND),
        ("terminal",),
    )


@pytest.mark.parametrize(
    ("updated", "ended"),
    [pytest.param(NOW, NOW, id="last-update"), pytest.param(None, WRITTEN, id="else-when-the-file-was-written")],
)
def test_a_session_ended_at_its_last_update(judge: Judge, updated: object, ended: object) -> None:
    assert judge.grade(session(REQUEST, updated_at=updated)).ended_at == ended


def test_every_score_has_a_reason(judge: Judge) -> None:
    graded = judge.grade(session(REQUEST, *rounds(BROKE, WORKED), answer("Done, it works.")))
    assert {reason.score for reason in graded.reasons} == {
        "task_completed",
        "tool_calls_efficient",
        "response_quality",
        "errors_recovered",
    }


@given(graded_session=sessions())
def test_any_session_has_a_grade_within_the_scale(judge: Judge, graded_session: Session) -> None:
    graded = judge.grade(graded_session)
    assert 1 <= graded.tool_calls_efficient <= 5
    assert 1 <= graded.response_quality <= 5
    assert 1 <= graded.score <= 5
    assert all(0 <= index < len(graded_session.messages) for reason in graded.reasons for index in reason.messages)


@given(graded_session=sessions())
def test_grading_twice_gives_the_same(judge: Judge, graded_session: Session) -> None:
    assert judge.grade(graded_session) == judge.grade(graded_session)


def _ending(outcomes: list[bool], last: str) -> tuple[Message, ...]:
    contents = [WORKED if worked else BROKE for worked in outcomes]
    return (REQUEST, *rounds(*contents), answer(last))


@given(outcomes=tool_outcomes.filter(any))
def test_a_call_that_fails_instead_never_raises_a_score(judge: Judge, outcomes: list[bool]) -> None:
    place = outcomes.index(True)
    worse = [*outcomes[:place], False, *outcomes[place + 1 :]]
    before = scores(judge.grade(session(*_ending(outcomes, "Done, all is fixed now."))))
    after = scores(judge.grade(session(*_ending(worse, "Done, all is fixed now."))))
    assert all(then >= now for then, now in zip(before, after, strict=True))


@given(outcomes=tool_outcomes)
def test_one_more_failing_call_never_raises_a_score(judge: Judge, outcomes: list[bool]) -> None:
    before = scores(judge.grade(session(*_ending(outcomes, "Done, all is fixed now."))))
    after = scores(judge.grade(session(*_ending([*outcomes, False], "Done, all is fixed now."))))
    assert all(then >= now for then, now in zip(before, after, strict=True))
