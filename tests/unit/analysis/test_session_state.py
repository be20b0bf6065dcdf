from __future__ import annotations

import msgspec
import pytest

from grader_daemon.analysis.session_state import LastWord, SessionEnd, last_word, read_state
from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import Ending, Message
from grader_daemon.domain.session_result import EndingKind
from tests.strategies import WORKED, answer, call, result, rounds, user

COMPLETE = SessionState.COMPLETE
INTERRUPTED = SessionState.INTERRUPTED
OPEN = SessionState.OPEN
ITERATION_LIMIT = (
    "You've reached the maximum number of tool-calling iterations allowed. Please provide a final response"
)
CONTINUE = (
    "[System: Your previous response was truncated by the output length limit. Continue exactly where you left off.]"
)
REQUEST = user("Do it")
UNASKED = msgspec.structs.replace(call("terminal"), finish_reason=None)


@pytest.mark.parametrize(
    ("messages", "state"),
    [
        pytest.param((REQUEST, answer("It is 4.")), COMPLETE, id="answer"),
        pytest.param((REQUEST, answer("Which folder?")), COMPLETE, id="question-to-the-user"),
        pytest.param((REQUEST, answer("I'm sorry, I can't help with that.")), COMPLETE, id="refusal"),
        pytest.param((REQUEST, answer("It is 4.", None)), COMPLETE, id="answer-without-finish-reason"),
        pytest.param((REQUEST, answer("part", "length"), user(CONTINUE), answer("rest")), COMPLETE, id="continued"),
        pytest.param((REQUEST, answer("part 2", "length")), INTERRUPTED, id="cut-by-length"),
        pytest.param((REQUEST, answer("I can't help with that.", "content_filter")), INTERRUPTED, id="content-filter"),
        pytest.param((REQUEST, answer("", "incomplete")), INTERRUPTED, id="thinking-only"),
        pytest.param((REQUEST, answer("")), INTERRUPTED, id="empty-answer"),
        pytest.param((REQUEST, answer(" \n")), INTERRUPTED, id="blank-answer"),
        pytest.param((REQUEST, answer("(empty)", None)), INTERRUPTED, id="marked-as-empty"),
        pytest.param(
            (REQUEST, user(ITERATION_LIMIT), answer("Summary: half.", None)), INTERRUPTED, id="iteration-limit"
        ),
        pytest.param(
            (REQUEST, answer("I stopped retrying terminal because it hit the tool-call guardrail (5).", None)),
            INTERRUPTED,
            id="guardrail",
        ),
        pytest.param((REQUEST, answer("Operation interrupted.", None)), INTERRUPTED, id="operation-interrupted"),
        pytest.param(
            (REQUEST, answer("Operation interrupted: waiting for model response (5.7s elapsed).", None)),
            INTERRUPTED,
            id="operation-interrupted-while-waiting",
        ),
        pytest.param(
            (REQUEST, answer("Operation interrupted by the guard is the title you asked for.", "stop")),
            COMPLETE,
            id="a-model-may-say-so-too",
        ),
        pytest.param((REQUEST, call("terminal"), result(WORKED)), OPEN, id="tool-result"),
        pytest.param((REQUEST, call("terminal")), OPEN, id="call-without-result"),
        pytest.param((REQUEST,), OPEN, id="request"),
        pytest.param((REQUEST, answer("Done."), user("And now?")), OPEN, id="second-request"),
        pytest.param((), OPEN, id="no-messages"),
    ],
)
def test_the_last_messages_tell_the_state(messages: tuple[Message, ...], state: SessionState, rules: Rules) -> None:
    assert read_state(messages, rules.tail, last_status=CallStatus.SUCCESS, idle=False)[0] is state


def test_an_interrupted_tool_call_at_the_end_interrupts_the_session(rules: Rules) -> None:
    messages = (REQUEST, call("terminal"), result("[Command interrupted]"))
    end = read_state(messages, rules.tail, last_status=CallStatus.INTERRUPTED, idle=False)
    assert end == SessionEnd(INTERRUPTED, "tool call interrupted", EndingKind.PERSON)


def test_a_request_after_an_interrupted_call_is_open_again(rules: Rules) -> None:
    messages = (REQUEST, call("terminal"), result("[Command interrupted]"), user("Try another way"))
    assert read_state(messages, rules.tail, last_status=CallStatus.INTERRUPTED, idle=False)[0] is OPEN


@pytest.mark.parametrize(
    ("messages", "state"),
    [
        pytest.param((REQUEST, call("terminal"), result(WORKED)), INTERRUPTED, id="open-end"),
        pytest.param((), INTERRUPTED, id="no-messages"),
        pytest.param((REQUEST, answer("It is 4.")), COMPLETE, id="answered"),
    ],
)
def test_only_an_open_end_is_interrupted_by_idleness(
    messages: tuple[Message, ...], state: SessionState, rules: Rules
) -> None:
    assert read_state(messages, rules.tail, last_status=CallStatus.SUCCESS, idle=True)[0] is state


def test_the_reason_names_the_finish_reason(rules: Rules) -> None:
    messages = (REQUEST, answer("part", "length"))
    assert read_state(messages, rules.tail, last_status=None, idle=False)[1] == "finish_reason=length"


def test_an_answer_alone_is_complete(rules: Rules) -> None:
    end = read_state((answer("Hello."),), rules.tail, last_status=None, idle=False)
    assert end == SessionEnd(COMPLETE, "answered", EndingKind.ANSWERED)


@pytest.mark.parametrize(
    ("messages", "status", "expected"),
    [
        pytest.param((REQUEST, answer("It is 4.")), None, LastWord.ANSWER, id="answer"),
        pytest.param((REQUEST, answer("part 2", "length")), None, LastWord.CUT_SHORT, id="answer-that-was-cut"),
        pytest.param((REQUEST, answer("Operation interrupted", None)), None, LastWord.CUT_SHORT, id="stopped"),
        pytest.param((REQUEST, answer("(empty)")), None, LastWord.NOTHING, id="empty-answer"),
        pytest.param((), None, LastWord.NOTHING, id="no-message"),
        pytest.param((REQUEST,), None, LastWord.PERSON, id="a-request"),
        pytest.param((REQUEST, call("terminal")), None, LastWord.CALL, id="call-without-result"),
        pytest.param((REQUEST, *rounds(WORKED)), CallStatus.SUCCESS, LastWord.RESULT, id="result"),
        pytest.param((REQUEST, *rounds(WORKED)), CallStatus.INTERRUPTED, LastWord.CUT_SHORT, id="interrupted-call"),
    ],
)
def test_a_session_ends_in_the_word_of_somebody(
    rules: Rules, messages: tuple[Message, ...], status: CallStatus | None, expected: LastWord
) -> None:
    assert last_word(messages, rules.tail, last_status=status) is expected


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        pytest.param(SessionState.INTERRUPTED, LastWord.CUT_SHORT, id="stopped"),
        pytest.param(SessionState.OPEN, LastWord.ANSWER, id="goes-on"),
        pytest.param(SessionState.COMPLETE, LastWord.ANSWER, id="ended-in-order"),
    ],
)
def test_what_the_agent_notes_as_stopped_was_cut_short(rules: Rules, noted: SessionState, expected: LastWord) -> None:
    messages = (REQUEST, answer("Now I look."))
    assert last_word(messages, rules.tail, last_status=None, ending=Ending(noted, "noted")) is expected


NOTED = {state: Ending(state, "task_complete") for state in SessionState}


@pytest.mark.parametrize(
    ("messages", "noted", "idle", "expected"),
    [
        pytest.param(
            (REQUEST, answer("It is 4.")),
            COMPLETE,
            False,
            SessionEnd(COMPLETE, "answered (task_complete)", EndingKind.ANSWERED),
            id="done",
        ),
        pytest.param(
            (REQUEST, answer("")),
            COMPLETE,
            False,
            SessionEnd(INTERRUPTED, "empty answer (task_complete)", EndingKind.NO_ANSWER, cut_short=True),
            id="empty-answer",
        ),
        pytest.param(
            (REQUEST, *rounds(WORKED)),
            COMPLETE,
            False,
            SessionEnd(INTERRUPTED, "ended without an answer (task_complete)", EndingKind.NO_ANSWER),
            id="no-answer",
        ),
        pytest.param(
            (REQUEST, answer("It is 4.")),
            INTERRUPTED,
            False,
            SessionEnd(INTERRUPTED, "task_complete", EndingKind.ERROR, cut_short=True),
            id="aborted",
        ),
        pytest.param(
            (REQUEST, answer("Now I look.")), OPEN, False, SessionEnd(OPEN, "open (task_complete)"), id="goes-on"
        ),
        pytest.param(
            (REQUEST, answer("Now I look.")),
            OPEN,
            True,
            SessionEnd(INTERRUPTED, "open and idle (task_complete)"),
            id="killed",
        ),
        pytest.param(
            (),
            COMPLETE,
            False,
            SessionEnd(INTERRUPTED, "ended without an answer (task_complete)", EndingKind.NO_ANSWER),
            id="nothing",
        ),
    ],
)
def test_what_the_agent_notes_of_the_end_decides(
    rules: Rules, messages: tuple[Message, ...], noted: SessionState, idle: bool, expected: SessionEnd
) -> None:
    state = read_state(messages, rules.tail, last_status=None, idle=idle, ending=NOTED[noted])
    assert state == expected


def test_a_call_interrupted_by_a_person_is_the_reason_although_the_turn_ended(rules: Rules) -> None:
    messages = (REQUEST, call("terminal"), result("aborted by user"))
    state = read_state(messages, rules.tail, last_status=CallStatus.INTERRUPTED, idle=False, ending=NOTED[COMPLETE])
    assert state == SessionEnd(INTERRUPTED, "tool call interrupted", EndingKind.PERSON)


@pytest.mark.parametrize(
    ("messages", "ending", "cut_short"),
    [
        pytest.param((REQUEST, answer("part", "length")), None, True, id="output-limit"),
        pytest.param((REQUEST, answer("(empty)")), None, True, id="the-model-said-nothing"),
        pytest.param((REQUEST, answer("I stopped retrying", None)), None, True, id="api-error-noted-in-words"),
        pytest.param((REQUEST, answer("Operation interrupted", None)), None, False, id="stopped-noted-in-words"),
        pytest.param((REQUEST, *rounds(WORKED)), None, False, id="left-in-the-middle"),
        pytest.param((REQUEST, call("terminal")), None, False, id="left-with-an-open-call"),
        pytest.param((REQUEST, *rounds(WORKED)), Ending(INTERRUPTED, "API error"), True, id="api-error"),
        pytest.param(
            (REQUEST, *rounds(WORKED)), Ending(INTERRUPTED, "stopped", kind=EndingKind.PERSON), False, id="stopped"
        ),
    ],
)
def test_an_error_or_a_limit_cuts_a_session_short_and_a_person_does_not(
    rules: Rules, messages: tuple[Message, ...], ending: Ending | None, cut_short: bool
) -> None:
    end = read_state(messages, rules.tail, last_status=CallStatus.SUCCESS, idle=True, ending=ending)
    assert (end.state, end.cut_short) == (INTERRUPTED, cut_short)
