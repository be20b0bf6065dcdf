"""What is read of runs of OpenHands; the events have the shapes of its source, of version 0 and of the SDK since 1."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.session import Ending, FunctionCall, Session, Skipped, SkipReason, Usage
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.openhands.evaluated_run import ReadLine, read_line
from tests.timing import is_done_within

UNIT = Unit("openhands", "/runs/output.jsonl", "django__django-1")


def line(*history: object, **keys: Any) -> ReadLine:
    whole = {"instance_id": UNIT.key, "test_result": {"git_patch": ""}, "history": history, **keys}
    return read_line(json.dumps(whole).encode(), UNIT, zone=UTC)


def run(*history: object, **keys: Any) -> Session:
    session = line(*history, **keys).session
    assert isinstance(session, Session)
    return session


def said(session: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in session.messages]


def statuses(session: Session) -> list[tuple[CallStatus, int | None]]:
    return [(outcome.status, outcome.exit_code) for outcome in session.reported.values()]


def event(kind: str, **keys: Any) -> dict[str, Any]:
    return {"kind": kind, "id": f"{kind}-1", "timestamp": "2025-10-30T03:50:30.915175", **keys}


def spoken(source: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return event("MessageEvent", source=source, llm_message={"role": source, "content": content})


def called(tool: str, call_id: str = "c1", *, thought: str = "", response: str = "r1", **arguments: Any) -> Any:
    call = {"id": call_id, "name": tool, "arguments": json.dumps(arguments), "origin": "completion"}
    keys = {"tool_name": tool, "tool_call_id": call_id, "tool_call": call, "llm_response_id": response}
    action = {"kind": "SomeAction", **arguments}
    return event("ActionEvent", source="agent", thought=[{"type": "text", "text": thought}], action=action, **keys)


def observed(call_id: str = "c1", tool: str = "terminal", **observation: Any) -> dict[str, Any]:
    keys = {"tool_name": tool, "tool_call_id": call_id}
    return event("ObservationEvent", source="environment", observation={"kind": "X", **observation}, **keys)


def printed(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


ASKED = spoken("user", "Fix the parser")


@pytest.mark.parametrize(
    ("observation", "text", "outcome"),
    [
        pytest.param(
            {"content": printed("no\n"), "is_error": False, "exit_code": 2, "metadata": {"exit_code": 2}},
            "no\n",
            (CallStatus.FAILURE, 2),
            id="exit-code",
        ),
        pytest.param(
            {"output": "ok", "exit_code": None, "error": False, "metadata": {"exit_code": 0}},
            "ok",
            (CallStatus.SUCCESS, 0),
            id="of-the-first-releases",
        ),
        pytest.param(
            {"content": printed("so far"), "is_error": False, "exit_code": -1, "timeout": True},
            "so far",
            (CallStatus.PENDING, None),
            id="still-runs",
        ),
        pytest.param({"content": "bad", "is_error": True}, "bad", (CallStatus.FAILURE, None), id="flag"),
        pytest.param({"error": "no such file"}, "no such file", (CallStatus.FAILURE, None), id="error-alone"),
        pytest.param({"content": printed("x")}, "x", (CallStatus.SUCCESS, None), id="no-error"),
        pytest.param({"content": printed("x"), "exit_code": True}, "x", (CallStatus.SUCCESS, None), id="no-number"),
    ],
)
def test_the_result_of_a_call_has_what_the_tool_notes(
    observation: dict[str, Any], text: str, outcome: tuple[CallStatus, int | None]
) -> None:
    session = run(ASKED, called("terminal", thought="I look", command="ls"), observed(**observation))

    assert said(session) == [("user", "Fix the parser"), ("assistant", "I look"), ("tool", text)]
    assert statuses(session) == [outcome]
    assert session.messages[2].tool_name == "terminal"


def test_calls_of_one_answer_are_one_message() -> None:
    first, second = called("terminal", "a", thought="Both"), called("terminal", "b")
    session = run(ASKED, first, second, observed("a"), observed("b"), called("terminal", "c"))

    calls = [[call.id for call in message.tool_calls] for message in session.messages if message.tool_calls]
    assert calls == [["a", "b"], ["c"]]


def test_a_call_as_the_first_releases_kept_it_is_read() -> None:
    call = called("", "c1")
    call["tool_name"] = None
    call["tool_call"] = {"id": "c1", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}
    session = run(ASKED, call)

    assert session.messages[1].tool_calls is not None
    assert session.messages[1].tool_calls[0].function == FunctionCall("terminal", '{"command": "ls"}')


def test_errors_and_refusals_answer_their_calls() -> None:
    keys = {"source": "agent", "tool_name": "terminal"}
    session = run(
        ASKED,
        called("terminal", "a"),
        event("AgentErrorEvent", tool_call_id="a", error="Tool 'x' not found", **keys),
        called("terminal", "b"),
        event("UserRejectObservation", tool_call_id="b", rejection_reason="Not that", **keys),
        event("AgentErrorEvent", tool_call_id="nobody's", error="lost", **keys),
    )

    assert [text for role, text in said(session) if role == "tool"] == ["Tool 'x' not found", "Not that"]
    assert statuses(session) == [(CallStatus.FAILURE, None), (CallStatus.REFUSED, None)]


def test_what_an_agent_says_as_it_finishes_is_the_answer() -> None:
    finish = called("finish", message="Done: it works.")
    session = run(ASKED, finish, observed(tool="finish", content=printed("Done: it works.")))

    assert said(session)[1:] == [("assistant", ""), ("tool", "Done: it works."), ("assistant", "Done: it works.")]
    assert session.ending == Ending(SessionState.COMPLETE, "finish")


def test_a_person_who_goes_on_follows_the_answer() -> None:
    finish = called("finish", message="Done.")
    session = run(ASKED, finish, observed(tool="finish"), spoken("user", "And the tests?"), spoken("agent", "Pass."))

    assert said(session)[-3:] == [("assistant", "Done."), ("user", "And the tests?"), ("assistant", "Pass.")]


def test_what_an_evaluation_says_in_place_of_a_person_is_left_out() -> None:
    urged = "Please continue working on the task on whatever approach you think is suitable.\nWhen you think…"
    session = run(ASKED, spoken("agent", "What now?"), spoken("user", urged), spoken("environment", "x"))

    assert said(session) == [("user", "Fix the parser"), ("assistant", "What now?")]


@pytest.mark.parametrize(
    ("keys", "ending"),
    [
        ({"error": None}, Ending(SessionState.COMPLETE, "written after the run")),
        (
            {"error": "RuntimeError: Agent reached maximum iteration. Current iteration: 100"},
            Ending(SessionState.INTERRUPTED, "limit", EndingKind.LIMIT),
        ),
        ({"error": "AgentStuckInLoopError"}, Ending(SessionState.INTERRUPTED, "error", EndingKind.ERROR)),
    ],
)
def test_a_run_ends_as_its_line_says(keys: dict[str, Any], ending: Ending) -> None:
    assert run(ASKED, spoken("agent", "Hm."), **keys).ending == ending


def test_an_error_of_the_conversation_ends_it() -> None:
    session = run(ASKED, event("ConversationErrorEvent", source="environment", code="MaxIterationsReached"))

    assert session.ending == Ending(SessionState.INTERRUPTED, "limit", EndingKind.LIMIT)
    assert run(ASKED, event("ConversationErrorEvent")).ending == Ending(SessionState.INTERRUPTED, "error")


def test_a_task_that_the_events_do_not_hold_comes_first() -> None:
    session = run(called("terminal"), observed(exit_code=1), instruction="Fix it")

    assert said(session)[0] == ("user", "Fix it")
    assert session.reported.keys() == {2}
    assert said(run(ASKED, instruction="Other")) == [("user", "Fix the parser")]


def test_kinds_that_are_not_known_are_counted_and_the_rest_is_read() -> None:
    read = line(ASKED, event("News"), event("News"), event("TokenEvent"), {"kind": 7}, "x", [event("More"), 3], {})

    assert (read.kinds, read.broken) == (("News", "More"), 3)
    assert isinstance(read.session, Session)


def test_a_summary_and_a_system_prompt_are_noted() -> None:
    prompt = {"type": "text", "text": "You are OpenHands"}
    session = run(ASKED, event("SystemPromptEvent", system_prompt=prompt), event("Condensation", summary="…"))

    assert session.compacted
    assert session.system_prompt_digest is not None
    assert run(ASKED, event("SystemPromptEvent")).system_prompt_digest is None


@pytest.mark.parametrize(
    ("keys", "reward"),
    [
        ({"test_result": {"report": {"resolved": True}}}, 1),
        ({"test_result": {"resolved": False}}, 0),
        ({"report": {"resolved": True}}, 1),
        ({"resolved": False}, 0),
        ({"test_result": {"final_score": {"total": 5, "result": 3}}}, None),
        ({"test_result": "x"}, None),
    ],
)
def test_a_verdict_is_read_where_a_version_writes_it_and_no_other_score(keys: dict[str, Any], reward: object) -> None:
    assert run(ASKED, **keys).reward == reward


def test_tokens_price_and_model_are_those_of_the_run() -> None:
    used = {"model": "gpt-5", "prompt_tokens": 100, "completion_tokens": 7, "cache_read_tokens": 60}
    more = {"cache_write_tokens": 10, "reasoning_tokens": 3}
    metrics = {"accumulated_cost": 0.5, "accumulated_token_usage": {**used, **more}}
    session = run(ASKED, metrics=metrics, metadata={"llm": {"model": "proxy/gpt-5"}})

    assert (session.model, session.cost_usd) == ("gpt-5", 0.5)
    assert session.usage == (
        Usage(
            model="gpt-5",
            input_tokens=30,
            cache_read_tokens=60,
            cache_write_tokens=10,
            output_tokens=7,
            reasoning_tokens=3,
        ),
    )


def test_counts_of_nothing_are_not_known() -> None:
    metrics = {"accumulated_cost": 0.0, "accumulated_token_usage": {"prompt_tokens": 0}}
    session = run(ASKED, metrics=metrics, metadata={"llm_config": {"model": "claude"}})

    assert (session.model, session.cost_usd, session.usage) == ("claude", None, ())


def test_runs_of_one_task_have_ids_of_their_own() -> None:
    first, other = called("terminal"), called("terminal")
    other["timestamp"] = "2025-10-30T04:00:00"

    assert run(ASKED, first).session_id != run(ASKED, other).session_id
    assert run(ASKED, first).session_id == run(ASKED, first, observed()).session_id


def test_runs_of_old_events_without_a_time_are_told_apart_by_all_of_them() -> None:
    asked = {"source": "user", "action": "message", "args": {"content": "Fix it"}}
    called = {"source": "agent", "action": "run", "args": {"command": "ls"}}
    first = run([asked, {}], [called, {"observation": "run", "content": "x"}])
    other = run([asked, {}], [called, {"observation": "run", "content": "y"}])

    assert first.session_id != other.session_id
    assert first.session_id.startswith(f"{UNIT.key}-")


def test_many_calls_of_one_answer_are_read_in_linear_time() -> None:
    calls = [called("terminal", f"c{number}") for number in range(5_000)]

    assert is_done_within(1, lambda: run(ASKED, *calls))


def test_times_are_those_of_the_machine_that_ran_it() -> None:
    zone = timezone(timedelta(hours=2))
    whole = {"instance_id": "a", "history": [ASKED, {**ASKED, "timestamp": "never"}, {**ASKED, "timestamp": 1}]}
    session = read_line(json.dumps(whole).encode(), UNIT, zone=zone).session

    assert isinstance(session, Session)
    assert session.started_at == datetime(2025, 10, 30, 1, 50, 30, 915175, tzinfo=UTC)
    assert session.message_times[1:] == (None, None)
    assert read_line(json.dumps(whole).encode(), UNIT, zone=None).session != Skipped(SkipReason.NOT_A_SESSION)


@pytest.mark.parametrize("history", [None, [], [{"kind": "TokenEvent"}]], ids=["none", "empty", "nothing-said"])
def test_a_line_without_a_conversation_is_no_session(history: object) -> None:
    whole = {"instance_id": "a", "history": history}

    assert read_line(json.dumps(whole).encode(), UNIT, zone=None).session == Skipped(SkipReason.NOT_A_SESSION, "a")


def old(number: int, **keys: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": "2025-01-01T00:00:00", "source": "agent", **keys}


def noted(call_id: str, response: str = "r1") -> dict[str, Any]:
    return {"function_name": "execute_bash", "tool_call_id": call_id, "model_response": {"id": response}}


RUN = old(2, action="run", args={"command": "pytest", "thought": "I test", "blocking": False})
OLD = (
    old(0, action="system", args={"content": "You are OpenHands"}),
    old(1, source="user", action="message", args={"content": "Fix it", "image_urls": None}),
    old(1, source="user", action="recall", args={"query": "x"}),
    old(1, source="environment", observation="recall", content="Added", extras={}),
)


def test_version_0_is_read() -> None:
    session = run(
        *OLD,
        {**RUN, "tool_call_metadata": noted("t1")},
        old(3, observation="run", content="1 failed", extras={"metadata": {"exit_code": 1}}, cause=2)
        | {"tool_call_metadata": noted("t1")},
        old(4, action="finish", args={"final_thought": "All done.", "outputs": {}, "thought": "All done."}),
        old(5, observation="agent_state_changed", content="", extras={"agent_state": "finished"}),
    )

    assert said(session) == [
        ("user", "Fix it"),
        ("assistant", "I test"),
        ("tool", "1 failed"),
        ("assistant", ""),
        ("tool", ""),
        ("assistant", "All done."),
    ]
    assert statuses(session) == [(CallStatus.FAILURE, 1), (CallStatus.SUCCESS, None)]
    assert session.messages[1].tool_calls is not None
    assert session.messages[1].tool_calls[0].function == FunctionCall("execute_bash", {"command": "pytest"})
    assert session.system_prompt_digest is not None


def test_version_0_in_pairs_without_notes_of_calls_is_read() -> None:
    result = old(3, observation="run", content="ok", extras={"exit_code": 0}, cause=2)
    session = run([OLD[1], {}], [RUN, result])

    assert said(session) == [("user", "Fix it"), ("assistant", "I test"), ("tool", "ok")]
    assert statuses(session) == [(CallStatus.SUCCESS, 0)]


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"observation": "error", "content": "no such path"}, CallStatus.FAILURE),
        ({"observation": "user_rejected", "content": "no"}, CallStatus.REFUSED),
        ({"observation": "edit", "content": "ERROR:\nno such path"}, CallStatus.FAILURE),
        ({"observation": "read", "content": "x", "success": False}, CallStatus.FAILURE),
        ({"observation": "read", "content": "x", "success": True}, CallStatus.SUCCESS),
        ({"observation": "read", "content": "x"}, None),
        ({"observation": "read", "content": "x", "extras": {}}, None),
    ],
)
def test_results_of_version_0_say_their_outcome(result: dict[str, Any], status: CallStatus | None) -> None:
    session = run(OLD[1], old(2, action="edit", args={"path": "/a"}), old(3, cause=2, **result))

    assert [status for status, _ in statuses(session)] == ([] if status is None else [status])
    assert session.messages[1].tool_calls is not None
    assert session.messages[1].tool_calls[0].tool == "str_replace_editor"


@pytest.mark.parametrize(
    ("state", "ending"),
    [
        ("error", Ending(SessionState.INTERRUPTED, "error")),
        ("stopped", Ending(SessionState.INTERRUPTED, "stopped", EndingKind.PERSON)),
        ("running", Ending(SessionState.COMPLETE, "written after the run")),
    ],
)
def test_states_of_version_0_say_how_a_run_ended(state: str, ending: Ending) -> None:
    changed = old(3, observation="agent_state_changed", extras={"agent_state": state})

    assert run(OLD[1], RUN, changed, old(4, observation="agent_state_changed")).ending == ending


def test_version_0_is_condensed_and_an_error_of_nobody_is_no_result() -> None:
    lost = old(3, observation="error", content="lost", cause=99)
    session = run(OLD[1], old(2, action="condensation", args={}), old(2, action="system", args={}), lost, {"id": {}})

    assert session.compacted
    assert said(session) == [("user", "Fix it")]
