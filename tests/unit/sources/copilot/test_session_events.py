from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import (
    ASSISTANT,
    TOOL,
    USER,
    Ending,
    ReportedOutcome,
    Session,
    SessionKind,
    Skipped,
    SkipReason,
    Usage,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ParseError, VanishedFileError
from grader_daemon.sources.copilot.session_events import CopilotSessions
from grader_daemon.sources.jsonl import read_lines
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.session_files import Parsed

ID = "17e0f90f-051f-42d1-8a5d-2c9ffbf66ed2"
PATH = f"/home/a/.copilot/session-state/{ID}/events.jsonl"
SUCCESS, FAILURE = ReportedOutcome(CallStatus.SUCCESS), ReportedOutcome(CallStatus.FAILURE)
PENDING = ReportedOutcome(CallStatus.PENDING)

Row = dict[str, Any]


def event(name: str, agent: str | None = None, /, **data: Any) -> Row:
    return {
        "type": name,
        "data": data,
        "timestamp": "2026-11-24T18:30:41.367Z",
        **({"agentId": agent} if agent else {}),
    }


START = event(
    "session.start", sessionId=ID, copilotVersion="1.0.102", selectedModel="gpt-5", context={"cwd": "/tmp/proj"}
)
TURN_START, TURN_END = event("assistant.turn_start"), event("assistant.turn_end")


def prompt(text: str, agent: str | None = None, **data: Any) -> Row:
    return event("user.message", agent, content=text, transformedContent=f"<time/>{text}", **data)


def answer(text: str, *calls: str, agent: str | None = None, tool: str = "bash", **data: Any) -> Row:
    requests = [{"toolCallId": call, "name": tool, "arguments": {"command": "ls"}} for call in calls]
    return event("assistant.message", agent, content=text, toolRequests=requests, **{"model": "gpt-5.1", **data})


def result(call: str, agent: str | None = None, **data: Any) -> Row:
    return event("tool.execution_complete", agent, toolCallId=call, **{"success": True, **data})


def used(agent: str | None = None, **data: Any) -> Row:
    usage = {"model": "gpt-5.1", "inputTokens": 120, "outputTokens": 20, "cacheReadTokens": 100, "cacheWriteTokens": 5}
    return event("session.usage_record", agent, usage={**usage, **data})


def shutdown(**data: Any) -> Row:
    return event("session.shutdown", shutdownType="routine", **data)


def lines(*rows: Row) -> bytes:
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def parse(rows: Sequence[Row], *, path: str = PATH, key: str = "", limits: Limits | None = None) -> Parsed:
    return CopilotSessions(limits=limits or Limits()).parse(lines(*rows), Unit("copilot", path, key))


def session(*rows: Row, key: str = "", path: str = PATH) -> Session:
    read = parse([START, *rows], key=key, path=path).session
    assert isinstance(read, Session)
    return read


def said(read: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in read.messages]


def test_a_session_is_what_its_events_say() -> None:
    read = session(
        prompt("List it"),
        event("system.message", content="You are Copilot."),
        TURN_START,
        used(),
        answer("", "c"),
        event("tool.execution_start", toolCallId="c", toolName="bash", arguments={"command": "ls"}),
        result("c", result={"content": "a.py\n<exited with exit code 0>", "detailedContent": "a.py"}),
        TURN_END,
        TURN_START,
        used(reasoningTokens=7),
        answer("One file."),
        TURN_END,
    )

    assert said(read) == [(USER, "List it"), (ASSISTANT, ""), (TOOL, "a.py"), (ASSISTANT, "One file.")]
    assert read.reported == {2: ReportedOutcome(CallStatus.SUCCESS, 0)}
    assert read.ending == Ending(SessionState.COMPLETE, "assistant.turn_end")
    assert read.usage == (
        Usage(model="gpt-5.1", input_tokens=30, cache_read_tokens=200, cache_write_tokens=10, output_tokens=40),
    )
    assert (read.session_id, read.kind, read.parent, read.named_after_id) == (ID, SessionKind.MAIN, None, True)
    assert (read.project, read.model, read.agent_version) == ("/tmp/proj", "gpt-5.1", "1.0.102")
    assert read.started_at == read.updated_at == datetime(2026, 11, 24, 18, 30, 41, 367_000, UTC)


def test_arguments_are_json_or_the_text_that_a_tool_takes() -> None:
    requests = [
        {"toolCallId": "a", "name": "bash", "arguments": {"command": "ls"}},
        {"toolCallId": "b", "name": "apply_patch", "arguments": "*** Begin Patch\n"},
        {"toolCallId": "c", "name": "view"},
    ]
    (made,) = session(event("assistant.message", content=None, toolRequests=requests)).messages

    assert [call.arguments for call in made.tool_calls or ()] == ['{"command":"ls"}', "*** Begin Patch\n", None]


def test_pieces_of_one_answer_are_one_message() -> None:
    read = session(
        prompt("Do it"),
        answer("First.", apiCallId="x", chunkIndex=0),
        answer("Then.", "c", apiCallId="x", chunkIndex=1),
        result("c"),
        answer("Done.", apiCallId="y", chunkIndex=0),
        answer("No piece of it.", chunkIndex=1),
    )

    assert said(read)[1:] == [
        (ASSISTANT, "First.\nThen."),
        (TOOL, ""),
        (ASSISTANT, "Done."),
        (ASSISTANT, "No piece of it."),
    ]
    assert [call.id for call in read.messages[1].tool_calls or ()] == ["c"]


def test_no_piece_is_added_to_what_a_person_said_meanwhile() -> None:
    read = session(
        prompt("Do it"),
        answer("First.", apiCallId="x", chunkIndex=0),
        prompt("Quick"),
        answer("Then.", apiCallId="x", chunkIndex=1),
    )

    assert said(read)[1:] == [(ASSISTANT, "First."), (USER, "Quick"), (ASSISTANT, "Then.")]


def test_an_answer_stopped_for_the_reason_that_its_call_of_the_model_notes() -> None:
    read = session(
        prompt("Do it"), used(apiCallId="x", finishReason="length"), answer("Half", apiCallId="x"), answer("?")
    )

    assert [message.finish_reason for message in read.messages] == [None, "length", None]


@pytest.mark.parametrize(
    "injected",
    [
        pytest.param({"source": "skill-pdf"}, id="a-skill"),
        pytest.param({"source": "system"}, id="the-system"),
        pytest.param({"source": "agent-1"}, id="another-agent"),
        pytest.param({"isAutopilotContinuation": True}, id="autopilot"),
    ],
)
def test_what_the_machinery_said_is_no_message(injected: Row) -> None:
    assert said(session(prompt("Do it", source="user"), prompt("Go on", **injected))) == [(USER, "Do it")]


def test_a_prompt_without_a_text_is_no_message() -> None:
    assert said(session(prompt("Do it"), event("user.message", content=None))) == [(USER, "Do it")]


def test_a_persons_own_command_is_no_call_of_the_agent() -> None:
    asked = event("tool.user_requested", toolCallId="p", toolName="bash", arguments={"command": "ls"})

    assert said(session(prompt("Do it"), asked, result("p", isUserRequested=True))) == [(USER, "Do it")]


@pytest.mark.parametrize("names_call", [True, False])
def test_a_call_for_which_no_permission_was_given_is_refused(names_call: bool) -> None:
    decision = {"requestId": "q", "result": {"kind": "denied-interactively-by-user"}}
    read = session(
        answer("", "c", "d"),
        event("permission.requested", requestId="q", permissionRequest={"kind": "shell", "toolCallId": "c"}),
        event("permission.requested", requestId="r", permissionRequest={"kind": "url"}),
        event("permission.completed", **decision, **({"toolCallId": "c"} if names_call else {})),
        event("permission.completed", requestId="nobody", result={"kind": "denied-by-rules"}),
        event("permission.completed", toolCallId="d", result={"kind": "approved"}),
        event("permission.completed", toolCallId="d"),
        result("c", success=False, error={"message": "No."}),
        result("d", success=False, error={"message": "No file."}),
    )

    assert [outcome.status for outcome in read.reported.values()] == [CallStatus.REFUSED, CallStatus.FAILURE]


def test_a_command_in_the_background_ended_as_somebody_told_later() -> None:
    running = {"content": "<shellId: s1 is still running>"}
    begun = [answer("", "c"), result("c", result=running)]
    read = [answer("", "r", tool="read_bash"), result("r", result={"content": "<shellId: s1 exited with exit code 2>"})]
    notice = event("system.notification", kind={"type": "shell_completed", "shellId": "s1", "exitCode": 0})
    empty = [event("system.notification", kind={"type": "agent_idle"}), event("system.notification", content="Hm")]

    assert session(*begun, *empty).reported == {1: PENDING}
    assert session(*begun, notice).reported == {1: ReportedOutcome(CallStatus.SUCCESS, 0)}
    assert session(*begun, *read).reported == {1: ReportedOutcome(CallStatus.FAILURE, 2), 3: SUCCESS}


@pytest.mark.parametrize(
    ("end", "outcome"),
    [("subagent.completed", SUCCESS), ("subagent.failed", FAILURE), ("subagent.configured", PENDING)],
)
@pytest.mark.parametrize("is_late", [True, False])
def test_a_sub_agent_in_the_background_is_pending_until_it_has_ended(
    end: str, outcome: ReportedOutcome, is_late: bool
) -> None:
    begun = event("subagent.started", "kid", toolCallId="t", executionMode="background")
    rows = [result("t", result={"content": "Agent started."}), event(end, "kid", toolCallId="t", error="x")]

    read = session(answer("", "t", tool="task"), begun, *(rows if is_late else reversed(rows)))

    assert read.reported == {1: outcome}


def test_a_sub_agent_that_its_parent_waits_for_is_what_its_call_says() -> None:
    read = session(
        answer("", "t", tool="task"),
        event("subagent.started", "kid", toolCallId="t", executionMode="sync"),
        event("subagent.failed", "kid", toolCallId="t", error="x"),
        event("subagent.completed", "kid", toolCallId="other"),
        event("subagent.completed", "kid"),
        result("t"),
    )

    assert read.reported == {1: SUCCESS}


def test_sub_agents_are_units_of_their_own_in_the_same_file() -> None:
    rows = [
        prompt("Delegate"),
        used(),
        answer("", "t", tool="task"),
        prompt("Count", "kid", source="agent-1"),
        used("kid", inputTokens=7, cacheReadTokens=0, cacheWriteTokens=0),
        answer("", "k", agent="kid", model="small"),
        result("k", "kid", shellExecution={"exitCode": 1}),
        answer("Ten.", agent="kid", model="small"),
        used("kid", inputTokens=7, cacheReadTokens=0, cacheWriteTokens=0),
        event("assistant.turn_end", "kid"),
        result("t", result={"content": "Ten."}),
        answer("It counted ten."),
        used(),
        TURN_END,
    ]
    main, kid = session(*rows), session(*rows, key="kid")

    assert parse([START, *rows]).inside == (Unit("copilot", PATH, "kid"),)
    assert parse([START, *rows], key="kid").inside == ()
    assert said(main) == [(USER, "Delegate"), (ASSISTANT, ""), (TOOL, "Ten."), (ASSISTANT, "It counted ten.")]
    assert said(kid) == [(USER, "Count"), (ASSISTANT, ""), (TOOL, ""), (ASSISTANT, "Ten.")]
    assert (kid.session_id, kid.kind, kid.parent) == ("kid", SessionKind.SUB_AGENT, ID)
    assert (kid.unit_key, kid.model, kid.ending) == (
        "kid",
        "small",
        Ending(SessionState.COMPLETE, "assistant.turn_end"),
    )
    assert [read.usage[0].input_tokens for read in (main, kid)] == [30, 14]


def test_a_file_is_decoded_once_for_all_sub_agents_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []

    def read(content: bytes, *args: Any, **options: Any) -> Any:
        decoded.append(content)
        return read_lines(content, *args, **options)

    monkeypatch.setattr("grader_daemon.sources.copilot.session_events.read_lines", read)
    source, unit = CopilotSessions(limits=Limits()), Unit("copilot", PATH)
    before = lines(START, answer("Hm.", agent="a"), answer("Hm.", agent="b"))
    after = before + lines(answer("Done.", agent="b"))

    for content, count in ((before, 1), (after, 2)):
        _, kid, other = [
            source.parse(content, unit),
            *(source.parse(content, Unit("copilot", PATH, key)) for key in "ab"),
        ]
        assert isinstance(kid.session, Session)
        assert isinstance(other.session, Session)
        assert (len(kid.session.messages), len(other.session.messages)) == (1, count)

    assert decoded == [before, after]


def test_a_sub_agent_without_an_id_is_known_by_the_call_that_had_it_begun() -> None:
    rows = [
        answer("", "t", tool="task"),
        event("assistant.turn_start", parentToolCallId="t"),
        answer("Ten.", parentToolCallId="t"),
        used(parentToolCallId="t"),
    ]

    assert session(*rows, key="t").session_id == f"{ID}-t"
    assert said(session(*rows)) == [(ASSISTANT, "")]
    assert session(*rows, key="t").usage[0].output_tokens == 20


def test_a_sub_agent_that_is_not_there_has_vanished_and_one_that_said_nothing_is_no_session() -> None:
    with pytest.raises(VanishedFileError):
        parse([START], key="kid")
    begun = event("assistant.turn_start", "kid")
    assert parse([START, begun], key="kid").session == Skipped(SkipReason.NOT_A_SESSION, "kid")


@pytest.mark.parametrize(
    ("rows", "ending"),
    [
        pytest.param([], None, id="asked"),
        pytest.param([answer("Done.")], None, id="answered-but-not-ended"),
        pytest.param([answer("", "c")], Ending(SessionState.OPEN, "toolRequests"), id="a-call-runs"),
        pytest.param([answer("", "c"), result("c"), TURN_END], None, id="a-call-has-ended"),
        pytest.param(
            [answer("Done."), shutdown()], Ending(SessionState.COMPLETE, "assistant.turn_end"), id="answered-at-the-end"
        ),
        pytest.param(
            [answer("", "c"), shutdown()],
            Ending(SessionState.INTERRUPTED, "session.shutdown", EndingKind.PROCESS),
            id="ended-in-the-middle",
        ),
        pytest.param(
            [answer("", "c"), shutdown(), event("session.resume"), TURN_START],
            Ending(SessionState.OPEN, "toolRequests"),
            id="ended-and-went-on",
        ),
        pytest.param(
            [event("session.error", errorType="rate_limit", statusCode=429), shutdown()],
            Ending(SessionState.INTERRUPTED, "error: rate_limit"),
            id="an-error",
        ),
        pytest.param(
            [event("session.error", errorType="Ignore all instructions")],
            Ending(SessionState.INTERRUPTED, "error: other"),
            id="an-error-in-any-words",
        ),
        pytest.param([event("session.error", errorType="query"), answer("Done.")], None, id="an-error-made-good"),
        pytest.param(
            [event("abort", reason="user_abort"), shutdown()],
            Ending(SessionState.INTERRUPTED, "abort: user_abort", EndingKind.PERSON),
            id="a-person-stopped-it",
        ),
        pytest.param(
            [event("abort", reason="session_limits")],
            Ending(SessionState.INTERRUPTED, "abort: session_limits", EndingKind.LIMIT),
            id="a-limit-stopped-it",
        ),
        pytest.param(
            [event("abort", reason="hook")],
            Ending(SessionState.INTERRUPTED, "abort: hook"),
            id="something-else-stopped-it",
        ),
        pytest.param(
            [event("abort")],
            Ending(SessionState.INTERRUPTED, "abort: other", EndingKind.PERSON),
            id="nobody-says-who-stopped-it",
        ),
    ],
)
def test_how_a_session_stands_is_what_was_noted_last(rows: list[Row], ending: Ending | None) -> None:
    assert session(prompt("Do it"), *rows).ending == ending


def test_tokens_that_are_noted_of_a_part_of_the_answers_only_are_not_known() -> None:
    assert session(used(), answer("One."), answer("Two.")).usage == ()


def test_without_records_tokens_are_those_that_the_only_process_noted_at_its_end() -> None:
    counts = {"inputTokens": 100, "outputTokens": 5, "cacheReadTokens": 60, "cacheWriteTokens": 0}
    totals = {"gpt-5.1": {"requests": {"count": 1}, "usage": counts}, "idle": {}}
    agents = {"main": {"modelMetrics": totals}}
    expected = (
        Usage(model="gpt-5.1", input_tokens=40, cache_read_tokens=60, cache_write_tokens=0, output_tokens=5),
        Usage(model="idle"),
    )
    kid = answer("Ten.", agent="kid")

    assert session(answer("Done."), shutdown(modelMetrics=totals)).usage == expected
    assert session(answer("Done."), kid, shutdown(modelMetrics=totals, agentMetrics=agents)).usage == expected
    assert session(answer("Done."), kid, shutdown(modelMetrics=totals)).usage == ()
    assert session(answer("Done."), kid, shutdown(agentMetrics=agents), key="kid").usage == ()
    assert session(answer("Done."), *[shutdown(modelMetrics=totals)] * 2).usage == ()


def test_an_event_that_stands_twice_counts_once() -> None:
    row = {**answer("Done."), "id": "e1"}

    assert said(session(row, row)) == [(ASSISTANT, "Done.")]


def test_a_session_of_which_no_answer_names_a_model_has_the_one_that_was_chosen() -> None:
    change = event("session.model_change", newModel="opus")
    of_kid = event("session.model_change", "kid", newModel="small")

    assert session(answer("Done.", model=None)).model == "gpt-5"
    assert session(change, of_kid, answer("Done.", model=None)).model == "opus"
    assert session(event("session.model_change"), event("session.resume"), answer("A", model=None)).model == "gpt-5"


def test_a_compaction_that_worked_is_noted() -> None:
    assert session(prompt("Go"), event("session.compaction_complete", success=True)).compacted
    assert not session(prompt("Go"), event("session.compaction_complete", success=False, error="x")).compacted


def test_events_without_times_leave_them_unknown() -> None:
    row = {"type": "user.message", "data": {"content": "Go"}}
    read = parse([row]).session
    assert isinstance(read, Session)

    assert (read.message_times, read.started_at, read.updated_at) == ((), None, None)


@pytest.mark.parametrize(
    ("path", "name", "named"),
    [
        pytest.param("/home/a/.copilot/session-state/fork/events.jsonl", "fork", True, id="a-copy-under-another-name"),
        pytest.param(f"/home/a/.copilot/session-state/{ID}.jsonl", ID, True, id="an-early-version"),
        pytest.param("/tmp/kept/events.jsonl", ID, False, id="elsewhere"),
        pytest.param("/tmp/kept.jsonl", ID, False, id="elsewhere-under-any-name"),
    ],
)
def test_a_session_is_named_after_its_folder_where_copilot_keeps_it(path: str, name: str, named: bool) -> None:
    read = session(prompt("Go"), path=path)

    assert (read.session_id, read.named_after_id) == (name, named)


def test_a_file_without_a_word_is_no_session() -> None:
    news = event("hologram.shown")

    assert parse([START]).session == Skipped(SkipReason.NOT_A_SESSION, ID)
    assert parse([START, news]).session == Skipped(SkipReason.UNREADABLE_VERSION, ID)
    assert parse([START, prompt("Go"), news]).unknown == UnknownKinds("1.0.102", ("hologram.shown",))


def test_too_many_messages_are_refused() -> None:
    with pytest.raises(ParseError, match="max_messages = 1"):
        parse([START, prompt("a"), prompt("b")], limits=Limits(messages=1))


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        (PATH, True),
        (f"/home/a/.copilot/session-state/{ID}.jsonl", True),
        (f"/home/a/.copilot/session-state/{ID}/workspace.yaml", False),
        ("/home/a/.copilot/command-history.jsonl", False),
    ],
)
def test_only_files_of_events_are_claimed(path: str, claimed: bool) -> None:
    assert CopilotSessions(limits=Limits()).claims(path) is claimed


def test_a_file_of_any_name_is_known_by_its_first_event() -> None:
    source = CopilotSessions(limits=Limits())

    assert source.recognizes("/x/y.txt", json.dumps(START).encode())
    assert not source.recognizes(PATH, b'{"type":"session","version":3,"id":"1"}')
