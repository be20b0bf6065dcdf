"""How sessions end: in an answer, a question, given up, cut short, or in the middle."""

from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import Ending, FunctionCall, Message, ToolCall
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.rules import load_rules
from tests.strategies import WORKED, answer, call, result, rounds, session, user

REQUEST = user("Fix the tests")
STOPPED = '{"output": "[Command interrupted]", "exit_code": 130, "error": null}'
LIMIT = "You've reached the maximum number of tool-calling iterations allowed. Please provide a final response"
HAND_IN = (
    Message(
        role="assistant",
        content="",
        tool_calls=(ToolCall(id="c", function=FunctionCall(name="submit", arguments="{}")),),
        finish_reason="tool_calls",
    ),
    Message(role="tool", content=WORKED, name="submit", tool_call_id="c"),
)
BOOKS = (
    Message(
        role="assistant",
        content="",
        tool_calls=(ToolCall(id="b", function=FunctionCall(name="book_flight", arguments='{"user": "ann"}')),),
        finish_reason="tool_calls",
    ),
    Message(role="tool", content=json.dumps({"reservation": "H8Q05L"}), name="book_flight", tool_call_id="b"),
)


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


@pytest.mark.parametrize(
    ("messages", "ending"),
    [
        pytest.param((REQUEST, answer("It is fixed.")), EndingKind.ANSWERED, id="answer"),
        pytest.param((REQUEST, *HAND_IN), EndingKind.ANSWERED, id="handed-in"),
        pytest.param((REQUEST, answer("Booked."), user("Thank you, bye!")), EndingKind.ANSWERED, id="thanks-came-last"),
        pytest.param((REQUEST, answer("Which of the two?")), EndingKind.ASKED, id="question"),
        pytest.param((REQUEST, *rounds(WORKED), answer("Which one?")), EndingKind.ASKED, id="question-after-a-look"),
        pytest.param((REQUEST, answer("No. Anything else I can do?")), EndingKind.ANSWERED, id="only-ends-the-talk"),
        pytest.param(
            (REQUEST, *BOOKS, answer("Booked. Is that right?")), EndingKind.ANSWERED, id="asks-after-the-deed"
        ),
        pytest.param(
            (REQUEST, *BOOKS, answer("Booked."), user("And back?"), answer("Which day?")),
            EndingKind.ASKED,
            id="asks-after-a-deed-for-an-earlier-request",
        ),
        pytest.param(
            (REQUEST, answer("I am transferring you to a human agent.")), EndingKind.HANDED_OVER, id="handed-over"
        ),
        pytest.param((REQUEST, answer("I’m unable to reach the server.")), EndingKind.GAVE_UP, id="gave-up"),
        pytest.param((REQUEST, answer("I can't complete this task.")), EndingKind.GAVE_UP, id="cannot"),
        pytest.param((REQUEST, answer("Done. " * 90 + "I was unable to lint.")), EndingKind.ANSWERED, id="only-a-part"),
        pytest.param((REQUEST, answer("part", "length")), EndingKind.LIMIT, id="output-limit"),
        pytest.param((REQUEST, user(LIMIT), answer("So far: half.", None)), EndingKind.LIMIT, id="turn-limit"),
        pytest.param((REQUEST, answer("No", "content_filter")), EndingKind.ERROR, id="content-filter"),
        pytest.param((REQUEST, answer("I stopped retrying", None)), EndingKind.ERROR, id="the-agent-stopped-itself"),
        pytest.param((REQUEST, answer("Operation interrupted", None)), EndingKind.PERSON, id="stopped"),
        pytest.param((REQUEST, call("terminal"), result(STOPPED)), EndingKind.PERSON, id="call-stopped"),
        pytest.param((REQUEST, *rounds(WORKED)), EndingKind.LEFT, id="in-the-middle"),
        pytest.param((REQUEST, answer("Done."), user("It still fails")), EndingKind.LEFT, id="a-complaint-came-last"),
        pytest.param((REQUEST,), EndingKind.NO_ANSWER, id="nothing-was-said"),
        pytest.param((REQUEST, answer("(empty)")), EndingKind.NO_ANSWER, id="said-nothing"),
    ],
)
def test_the_end_by_the_last_messages(analyzer: Analyzer, messages: tuple[Message, ...], ending: EndingKind) -> None:
    assert analyzer.analyze(session(*messages), idle=True).ending is ending


@pytest.mark.parametrize("kind", [EndingKind.PROCESS, EndingKind.LIMIT, EndingKind.PERSON, EndingKind.ERROR])
def test_the_end_that_the_agent_notes_stands(analyzer: Analyzer, kind: EndingKind) -> None:
    noted = Ending(SessionState.INTERRUPTED, "noted", kind)
    assert analyzer.analyze(session(REQUEST, *rounds(WORKED), ending=noted)).ending is kind


@pytest.mark.parametrize(
    ("said", "admitted"),
    [
        ("Two of the tests still fail.", False),
        ("The second test still fails.", True),
        ("Export is not yet implemented.", True),
        ("I couldn't run the linter.", True),
        ("The parser is incomplete.", True),
        ("All of it is done.", False),
        ("It could not be simpler." + " And so on." * 200, False),
    ],
)
def test_an_answer_that_says_what_is_not_done(analyzer: Analyzer, said: str, admitted: bool) -> None:
    assert analyzer.analyze(session(REQUEST, answer(said))).admitted is admitted
