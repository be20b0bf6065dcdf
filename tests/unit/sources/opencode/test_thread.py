from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.session import (
    ASSISTANT,
    TOOL,
    USER,
    Ending,
    ReportedOutcome,
    Session,
    SessionKind,
    Usage,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.opencode.session_parts import Stored
from grader_daemon.sources.opencode.thread import to_session

UNAVAILABLE = "The arguments provided to the tool are invalid: Model tried to call unavailable tool"
SUCCESS, FAILURE = ReportedOutcome(CallStatus.SUCCESS), ReportedOutcome(CallStatus.FAILURE)
TOKENS = {"input": 40, "output": 20, "reasoning": 5, "cache": {"read": 100, "write": 3}}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"id": "prt_1", "type": "text", "text": said, **more}


def call(tool: str = "read", status: str = "completed", **state: Any) -> dict[str, Any]:
    state = {"status": status, "input": {"filePath": "/a"}, "time": {"start": 1, "end": 2_000}, **state}
    return {"id": "prt_2", "type": "tool", "tool": tool, "callID": "c", "state": state}


def user(*parts: dict[str, Any], name: str = "msg_1") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return {"id": name, "role": "user", "time": {"created": 1_000}}, list(parts)


def answer(*parts: dict[str, Any], name: str = "msg_2", **head: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    times = {"created": 1_500, "completed": 3_000}
    made = {"id": name, "role": "assistant", "time": times, "modelID": "m", "tokens": TOKENS, "finish": "stop"}
    return {**made, **head}, list(parts)


def session(*messages: tuple[dict[str, Any], list[dict[str, Any]]], **info: Any) -> Session:
    document = {"info": {"id": "ses_1", "time": {"created": 500, "updated": 9_000}, **info}, "messages": messages}
    return to_session(msgspec.convert(document, Stored), path="/db", key="ses_1")


def said(read: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in read.messages]


def test_an_answer_is_what_was_said_and_called_with_the_results_after_it() -> None:
    read = session(
        user(text("Read it")),
        answer({"type": "step-start"}, text("I look."), call(output="one"), finish="tool-calls"),
        answer(text("It says one."), name="msg_3"),
        directory="/p",
        version="1.18.33",
    )

    assert said(read) == [(USER, "Read it"), (ASSISTANT, "I look."), (TOOL, "one"), (ASSISTANT, "It says one.")]
    assert read.reported == {2: SUCCESS}
    assert read.usage == (
        Usage(
            model="m",
            input_tokens=80,
            cache_read_tokens=200,
            cache_write_tokens=6,
            output_tokens=50,
            reasoning_tokens=10,
        ),
    )
    assert read.message_times[2] == datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert read.ending == Ending(SessionState.COMPLETE, "finish=stop")
    assert (read.project, read.agent_version, read.kind) == ("/p", "1.18.33", SessionKind.MAIN)


@pytest.mark.parametrize(
    ("part", "outcome"),
    [
        (call("bash", output="", metadata={"exit": 0}), ReportedOutcome(CallStatus.SUCCESS, 0)),
        (call("bash", output="", metadata={"exit": 3}), ReportedOutcome(CallStatus.FAILURE, 3)),
        (call("bash", output="<shell_metadata>\nexceeding timeout 20 ms", metadata={"exit": None}), FAILURE),
        (
            call("bash", output="x\n<shell_metadata>\nUser aborted the command", metadata={"exit": None}),
            ReportedOutcome(CallStatus.INTERRUPTED),
        ),
        (call("invalid", output="Model tried to call unavailable tool"), FAILURE),
        (call("invalid", output=f"{UNAVAILABLE} 'mend'. Available tools: bash, read."), FAILURE),
        (call("invalid", output=f"{UNAVAILABLE} 'bash'. Available tools: read."), ReportedOutcome(CallStatus.REFUSED)),
        (call("invalid", output=f"{UNAVAILABLE} 'edit'. Available tools: read."), ReportedOutcome(CallStatus.REFUSED)),
        (call("invalid", output=f"{UNAVAILABLE} 'edit'. Available tools: apply_patch, read."), FAILURE),
        (call("invalid", output="The arguments provided to the tool are invalid: no cmd"), FAILURE),
        (call("edit", "error", error="Could not find oldString in the file."), FAILURE),
        (call("edit", "error", error="Tool execution aborted"), ReportedOutcome(CallStatus.INTERRUPTED)),
        (
            call("edit", "error", error="The user rejected permission to use this specific tool call."),
            ReportedOutcome(CallStatus.REFUSED),
        ),
    ],
)
def test_the_outcome_of_a_call_is_that_of_its_state(part: dict[str, Any], outcome: ReportedOutcome) -> None:
    assert session(answer(part)).reported == {1: outcome}


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_call_that_goes_on_has_no_result(status: str) -> None:
    assert said(session(answer(call(status=status)))) == [(ASSISTANT, "")]


def test_a_tool_that_does_not_exist_is_called_as_the_model_called_it() -> None:
    read = session(answer(call("invalid", output="no", input={"tool": "mend", "error": "no"})))

    assert [made.tool for made in read.messages[0].tool_calls or ()] == ["mend"]
    assert read.messages[1].tool_name == "mend"


def test_what_the_machinery_wrote_is_left_out_but_its_tokens_count() -> None:
    read = session(
        user({"type": "compaction"}),
        answer(text("All of it, in short."), summary=True),
        user(text("Continue.", synthetic=True), text("Not this.", ignored=True)),
        answer(text("Done."), name="msg_4"),
    )

    assert said(read) == [(ASSISTANT, "Done.")]
    assert read.usage[0].output_tokens == 50


def test_what_a_person_reverted_is_gone_but_for_its_place() -> None:
    turns = (
        user(text("Do it")),
        answer(text("Done.")),
        user(text("No"), name="msg_3"),
        answer(text("Sorry."), name="msg_4"),
    )

    read = session(*turns, revert={"messageID": "msg_3"})
    within = session(
        *turns[:1],
        answer(text("One."), {**text("Two."), "id": "prt_9"}),
        revert={"messageID": "msg_2", "partID": "prt_9"},
    )

    assert (said(read), read.taken_back, read.ending) == ([(USER, "Do it"), (ASSISTANT, "Done.")], (2,), None)
    assert (said(within), within.taken_back) == ([(USER, "Do it"), (ASSISTANT, "One.")], (2,))


@pytest.mark.parametrize(
    ("head", "ending"),
    [
        ({"time": {"created": 1}, "finish": None}, Ending(SessionState.OPEN, "not completed")),
        (
            {"error": {"name": "MessageAbortedError"}},
            Ending(SessionState.INTERRUPTED, "aborted", kind=EndingKind.PERSON),
        ),
        ({"error": {"name": "APIError", "data": {}}}, Ending(SessionState.INTERRUPTED, "APIError")),
        ({"finish": "tool-calls"}, None),
        ({"finish": "length"}, Ending(SessionState.COMPLETE, "finish=length")),
    ],
)
def test_how_a_session_stands_is_what_its_last_message_says(head: dict[str, Any], ending: Ending | None) -> None:
    assert session(user(text("Hi")), answer(text("Ho"), **head)).ending == ending


def test_an_answer_that_has_not_begun_is_none_yet() -> None:
    read = session(user(text("Hi")), answer(time={"created": 1}, finish=None, tokens=TOKENS))

    assert (said(read), read.usage) == ([(USER, "Hi")], ())


@pytest.mark.parametrize(
    ("cost", "messages", "expected"), [(0.25, (0.1, 0.1), 0.25), (None, (0.1, 0.2), 0.3), (0.0, (0.0, 0.0), None)]
)
def test_money_is_known_where_opencode_knows_the_price(
    cost: float | None, messages: tuple[float, float], expected: float | None
) -> None:
    read = session(*(answer(text("a"), name=f"msg_{n}", cost=each) for n, each in enumerate(messages)), cost=cost)

    assert read.cost_usd == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("written", "meant"),
    [('"Mend the parser"', "Mend the parser"), ('"One"', '"One"'), ('"a b" or "c d"', '"a b" or "c d"'), ("", None)],
)
def test_quotes_around_a_prompt_are_those_of_the_command_line(written: str, meant: str | None) -> None:
    assert said(session(user(text(written)))) == ([] if meant is None else [(USER, meant)])


def test_a_sub_agent_has_a_parent() -> None:
    assert (session(parentID="ses_0").kind, session(parentID="ses_0").parent) == (SessionKind.SUB_AGENT, "ses_0")
