"""Ticked items of plans that say that tests pass."""

from __future__ import annotations

from typing import Any

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.claims import ClaimReason, Support
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.rules import load_rules
from tests.strategies import answer, session, user
from tests.unit.analysis.claims.test_tests_claims import CODE, RED, ran, says
from tests.unit.analysis.claims.test_verify import Step, shell, step

FAILS = shell("pytest", RED)


def plan(text: str, status: str = "completed") -> Step:
    todos: list[Any] = [{"content": "Edit a.py", "status": "completed"}, {"content": text, "status": status}, 7]
    return step("todo_write", "ok", todos=todos)


DONE = plan("Make all tests pass")


def contradicted(*steps: Step, said: str = "The change is in place.", again: str = "") -> list[tuple[int, Any, Any]]:
    messages = [message for pair in steps for message in pair]
    later = [user(again)] if again else []
    found = Analyzer(load_rules()).claims(session(user("Fix it"), *messages, *later, answer(said)))
    return [(claim.index, claim.reason, claim.words) for claim in found if claim.support is Support.CONTRADICTED]


def test_a_ticked_item_over_a_red_run_is_contradicted_where_it_was_ticked() -> None:
    assert contradicted(CODE, FAILS, DONE) == [(5, ClaimReason.TESTS_FAILED, "Make all tests pass")]


@pytest.mark.parametrize(
    ("steps", "said", "again"),
    [
        pytest.param([CODE, ran(), DONE], "It is in place.", "", id="green"),
        pytest.param([CODE, DONE, FAILS], "It is in place.", "", id="red-only-later"),
        pytest.param([CODE, FAILS, plan("Run all tests")], "It is in place.", "", id="they-were-run"),
        pytest.param([CODE, FAILS, plan("Make all tests pass", "pending")], "It is in place.", "", id="open"),
        pytest.param([CODE, FAILS, plan("Make its tests pass")], "It is in place.", "", id="some-passed"),
        pytest.param([CODE, FAILS, DONE], "In place. One test still fails.", "", id="admitted"),
        pytest.param([CODE, FAILS, DONE], "In place.", "Thanks, now say so", id="of-an-earlier-request"),
        pytest.param([CODE, FAILS, step("todo", "ok", todos="[")], "In place.", "", id="no-list"),
        pytest.param([CODE, FAILS, step("update_plan", "ok")], "In place.", "", id="no-items"),
    ],
)
def test_other_plans_are_let_be(steps: list[Step], said: str, again: str) -> None:
    assert contradicted(*steps, said=said, again=again) == []


def test_a_plan_that_cannot_be_read_claims_nothing() -> None:
    call = ToolCall(id="c9", function=FunctionCall(name="todo", arguments="{"))
    broken = (Message(role="assistant", tool_calls=(call,)), Message(role="tool", content="ok", tool_call_id="c9"))
    assert contradicted(CODE, FAILS, broken) == []


def test_a_plan_adds_nothing_where_the_answer_claims_it() -> None:
    found = contradicted(CODE, FAILS, DONE, said="All tests pass.")
    assert [index for index, _, _ in found] == [7]


def test_a_plan_of_steps_is_read() -> None:
    steps = step("update_plan", "ok", plan=[{"step": "Get the suite green", "status": "completed"}])
    red = shell("pytest", says("2 failed in 0.3s", 1))
    assert contradicted(CODE, red, steps) == [(5, ClaimReason.TESTS_FAILED, "Get the suite green")]
