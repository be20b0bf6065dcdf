"""Sessions that end in the call which hands the work in, with words beside it."""

from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.tool_calls.hand_in import handed_in_at
from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.claims import ClaimKind, Support
from grader_daemon.domain.session import Ending, FunctionCall, Message, ToolCall
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.rules import load_rules
from tests.strategies import answer, session, user

SENTINEL = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff"


def calls(tool: str, text: str = "All tests pass.", **arguments: object) -> Message:
    function = FunctionCall(name=tool, arguments=json.dumps(arguments))
    return Message(role="assistant", content=text, tool_calls=(ToolCall(id="c", function=function),))


def gave(text: str) -> Message:
    return Message(role="tool", content=text, tool_call_id="c")


REQUEST = user("Fix the tests")
GREEN = (calls("bash", "Running them.", command="pytest -q"), gave("12 passed in 0.10s"))


@pytest.mark.parametrize(
    ("messages", "status", "place"),
    [
        pytest.param((REQUEST, calls("submit"), gave("ok")), CallStatus.SUCCESS, 1, id="by-its-tool"),
        pytest.param((REQUEST, calls("env__complete_task"), gave("ok")), CallStatus.SUCCESS, 1, id="of-a-server"),
        pytest.param((REQUEST, calls("bash", command=SENTINEL), gave("ok")), CallStatus.SUCCESS, 1, id="in-a-shell"),
        pytest.param((REQUEST, calls("submit"), gave("ok"), gave("ok")), CallStatus.SUCCESS, 1, id="beside-another"),
        pytest.param((REQUEST, calls("submit_order"), gave("ok")), CallStatus.SUCCESS, None, id="something-else"),
        pytest.param((REQUEST, calls("bash", command="ls"), gave("ok")), CallStatus.SUCCESS, None, id="a-command"),
        pytest.param((REQUEST, calls("submit", ""), gave("ok")), CallStatus.SUCCESS, None, id="without-a-word"),
        pytest.param((REQUEST, calls("submit"), gave("no")), CallStatus.FAILURE, None, id="refused"),
        pytest.param((REQUEST, calls("submit")), CallStatus.SUCCESS, None, id="no-result-yet"),
        pytest.param((REQUEST, calls("submit"), gave("ok"), user("And?")), CallStatus.SUCCESS, None, id="goes-on"),
        pytest.param((gave("ok"),), CallStatus.SUCCESS, None, id="a-result-alone"),
        pytest.param((answer("Done."), gave("ok")), CallStatus.SUCCESS, None, id="a-result-of-no-call"),
        pytest.param((), None, None, id="nothing"),
    ],
)
def test_the_words_beside_the_call_that_hands_in_are_the_answer(
    messages: tuple[Message, ...], status: CallStatus | None, place: int | None
) -> None:
    assert handed_in_at(messages, status) == place


@pytest.mark.parametrize(
    ("told", "state", "reason"),
    [
        pytest.param(None, SessionState.COMPLETE, "handed in", id="no-note"),
        pytest.param(
            Ending(SessionState.COMPLETE, "Submitted"), SessionState.COMPLETE, "handed in (Submitted)", id="in-order"
        ),
        pytest.param(Ending(SessionState.OPEN, "turn"), SessionState.OPEN, "open (turn)", id="goes-on"),
        pytest.param(
            Ending(SessionState.INTERRUPTED, "killed", EndingKind.PROCESS),
            SessionState.INTERRUPTED,
            "killed",
            id="cut-short",
        ),
    ],
)
def test_a_session_that_hands_its_work_in_is_complete(told: Ending | None, state: SessionState, reason: str) -> None:
    made = session(REQUEST, *GREEN, calls("bash", command=SENTINEL), gave("diff"), ending=told)

    found = Analyzer(load_rules()).analyze(made)

    assert (found.state, found.state_reason) == (state, reason)
    assert found.final_answer == "All tests pass."
    assert [(claim.kind, claim.support) for claim in found.claims] == [(ClaimKind.TESTS_PASSED, Support.VERIFIED)]
