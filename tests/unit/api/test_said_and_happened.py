"""Claims beside what the record holds: the call that decides, the end of what it said, and nothing that is secret."""

from __future__ import annotations

import json

import pytest

from grader_daemon.api.said_and_happened import Happened, said_and_happened
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.session import FunctionCall, Message, ReportedOutcome, ToolCall
from grader_daemon.redaction import MARK, SECRETS
from tests.strategies import answer, grade, session, user

KEY = "sk-" + "A1b2C3d4" * 6


def happened(given: str | dict[str, object], said: str, **changes: object) -> Happened | None:
    """Return what is told of a claim in message 3 that the result in message 2 of one call decides."""
    call = Message("assistant", "", (ToolCall("a", FunctionCall("terminal", given)),))
    told = Message("tool", said, tool_call_id="a")
    claim = Claim(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, None, 3, (2,))
    messages = session(user("Test it"), call, told, answer("All pass."), **changes)
    (only,) = said_and_happened(grade(claims=(claim,)), messages, SECRETS)
    return only.happened


def test_the_command_the_end_of_its_output_and_its_exit_code_are_told() -> None:
    output = "one\n\ntwo\n1 failed, 11 passed\n"
    found = happened('{"command": "pytest -q"}', json.dumps({"output": output, "exit_code": 1}))

    assert found == Happened(
        index=2, call="pytest -q", is_command=True, lines=("one", "two", "1 failed, 11 passed"), exit_code=1
    )


@pytest.mark.parametrize(
    ("said", "code"),
    [
        pytest.param("3 failed\nexit code: 2", 2, id="in-the-last-line"),
        pytest.param("3 failed", None, id="nowhere"),
        pytest.param('{"output": "3 failed", "exit_code": true}', None, id="no-number"),
        pytest.param('{"output": "3 failed", "returncode": 5}', 5, id="by-another-name"),
    ],
)
def test_an_exit_code_is_told_where_the_result_has_one(said: str, code: int | None) -> None:
    found = happened({"command": "pytest"}, said)

    assert found is not None
    assert (found.exit_code, found.lines) == (code, ("3 failed",))


def test_the_exit_code_that_the_agent_notes_comes_first() -> None:
    noted = {2: ReportedOutcome(CallStatus.FAILURE, 7)}
    found = happened({"command": "pytest"}, "3 failed", reported=noted)

    assert found is not None
    assert found.exit_code == 7


def test_a_call_that_is_no_command_is_named_with_its_file() -> None:
    found = happened({"path": "a.py"}, "written")

    assert found is not None
    assert (found.call, found.is_command) == ("terminal a.py", False)


def test_secrets_are_covered_and_lines_are_cut() -> None:
    found = happened({"command": f"curl -H {KEY}"}, f"{'x' * 900}\n{KEY}\n{'long ' * 80}")

    assert found is not None
    assert found.call == f"curl -H {MARK}"
    assert found.lines[-2] == MARK
    assert len(found.lines[-1]) == 200


def test_what_the_record_speaks_against_comes_first() -> None:
    claims = [Claim(ClaimKind.TESTS_PASSED, support, None, 1) for support in reversed(Support)]
    told = said_and_happened(grade(claims=tuple(claims)), None, SECRETS)

    assert [each.claim.support for each in told] == ["contradicted", "stale", "partial", "unsupported", "verified"]
    assert {each.happened for each in told} == {None}


def test_evidence_that_is_not_there_any_more_is_not_told() -> None:
    claim = Claim(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, None, 1, (9,))

    assert said_and_happened(grade(claims=(claim,)), session(user("x")), SECRETS)[0].happened is None
