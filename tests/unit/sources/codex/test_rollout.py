"""Lines as Codex CLI 0.45, 0.110 and 0.169 write them, cut to what is read; see docs/agents.md."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Ending, ReportedOutcome, Session, SessionKind, Usage
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.errors import ParseError
from grader_daemon.sources.codex.rollout import to_session
from grader_daemon.sources.codex.rollout_lines import KINDS, kind_of
from grader_daemon.sources.jsonl import read_lines

SUCCESS = CallStatus.SUCCESS
FAILURE = CallStatus.FAILURE
PENDING = CallStatus.PENDING
TURN = {"type": "turn_context", "payload": {"model": "gpt-5.5"}}
FAILED_FRAME = (
    "Chunk ID: 2cb56b\nWall time: 0.0000 seconds\nProcess exited with code 3\nOriginal token count: 0\nOutput:\n"
)
RUNNING_FRAME = "Chunk ID: c6f20a\nWall time: 2.0 seconds\nProcess running with session ID 56260\nOutput:\n"


def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-11-22T15:22:54.825Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", {"type": kind, **payload})


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return line("event_msg", {"type": kind, **payload})


def meta(**payload: Any) -> dict[str, Any]:
    return line("session_meta", {"id": "thread", "cwd": "/tmp/proj", "source": "exec", **payload})


def said(role: str, text: str, **payload: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}], **payload)


def call(call_id: str, name: str = "exec_command", arguments: str = '{"cmd": "ls"}') -> dict[str, Any]:
    return item("function_call", name=name, arguments=arguments, call_id=call_id)


def output(call_id: str, text: Any = "done") -> dict[str, Any]:
    return item("function_call_output", call_id=call_id, output=text)


def counts(number: int, *, cached: int = 0) -> dict[str, int]:
    return {
        "input_tokens": number,
        "cached_input_tokens": cached,
        "output_tokens": 20,
        "reasoning_output_tokens": 5,
        "total_tokens": number + 20,
    }


def count(last: dict[str, int] | None = None, total: dict[str, int] | None = None) -> dict[str, Any]:
    return event("token_count", info=last and {"last_token_usage": last, "total_token_usage": total})


def read(*rows: dict[str, Any], limits: Limits | None = None) -> Session:
    content = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)
    found = read_lines(content, KINDS, kind_of=kind_of)
    assert not found.unknown
    assert not found.broken
    return to_session(found.read, session_id="named", path="/s/rollout.jsonl", limits=limits or Limits())


def shape(session: Session) -> list[tuple[str, str, list[str | None]]]:
    return [(each.role, each.text, [made.id for made in each.tool_calls or ()]) for each in session.messages]


def test_the_first_line_says_where_a_thread_comes_from() -> None:
    session = read(
        meta(timestamp="2026-11-22T15:22:54.760Z", cli_version="0.169.0", base_instructions={"text": "You are"}),
        TURN,
        said("user", "Go"),
    )

    assert (session.session_id, session.project, session.platform) == ("thread", "/tmp/proj", "exec")
    assert (session.agent, session.agent_version, session.model) == ("codex", "0.169.0", "gpt-5.5")
    assert session.started_at == datetime(2026, 11, 22, 15, 22, 54, 760_000, UTC)
    assert session.updated_at == datetime(2026, 11, 22, 15, 22, 54, 825_000, UTC)
    assert session.kind is SessionKind.MAIN
    assert session.system_prompt_digest is not None


def test_a_thread_whose_first_line_is_lost_is_called_by_its_file() -> None:
    session = read(said("user", "Go"))

    assert (session.session_id, session.started_at, session.kind) == ("named", None, SessionKind.MAIN)


def test_the_first_line_of_a_thread_that_was_copied_into_this_one_changes_nothing() -> None:
    session = read(meta(forked_from_id="parent"), meta(id="parent"), said("user", "Go"))

    assert (session.session_id, session.parent) == ("thread", "parent")


@pytest.mark.parametrize(
    ("first", "kind", "parent", "platform"),
    [
        pytest.param({"forked_from_id": "p"}, SessionKind.MAIN, "p", "exec", id="fork"),
        pytest.param(
            {"thread_source": "subagent", "parent_thread_id": "p", "session_id": "root", "originator": "codex_exec"},
            SessionKind.SUB_AGENT,
            "p",
            "exec",
            id="sub-agent",
        ),
        pytest.param(
            {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}, "originator": "tui"},
            SessionKind.SUB_AGENT,
            "p",
            "tui",
            id="sub-agent-by-its-source",
        ),
        pytest.param(
            {"source": {"subagent": {"other": "guardian"}}, "parent_thread_id": "p", "originator": "tui"},
            SessionKind.REVIEW,
            "p",
            "tui",
            id="guardian",
        ),
        pytest.param(
            {"source": {"subagent": "review"}, "originator": "tui"}, SessionKind.REVIEW, None, "tui", id="review"
        ),
        pytest.param({"source": {"custom": "x"}, "originator": "tui"}, SessionKind.MAIN, None, "tui", id="unknown"),
    ],
)
def test_threads_that_others_began_are_told_apart(
    first: dict[str, Any], kind: SessionKind, parent: str | None, platform: str
) -> None:
    session = read(meta(**first), said("user", "Go"))

    assert (session.kind, session.parent, session.platform) == (kind, parent, platform)


@pytest.mark.parametrize(
    "injected",
    [
        said("developer", "Be brief"),
        said("user", "<environment_context>\n  <cwd>/tmp</cwd>"),
        said("user", "# AGENTS.md instructions for /tmp"),
        said("user", "<turn_aborted>\nThe user interrupted"),
        said("user", "x", internal_chat_message_metadata_passthrough={"content_item_kinds": ["generic.turn_aborted"]}),
    ],
)
def test_what_codex_itself_adds_is_no_message(injected: dict[str, Any]) -> None:
    session = read(injected, said("user", "Go"))

    assert shape(session) == [("user", "Go", [])]


def test_words_that_are_marked_as_those_of_a_person_are_kept_whatever_they_begin_with() -> None:
    session = read(
        said(
            "user",
            "<turn_aborted> is a tag",
            internal_chat_message_metadata_passthrough={"content_item_kinds": ["user.text"]},
        )
    )

    assert shape(session) == [("user", "<turn_aborted> is a tag", [])]


def test_pictures_beside_words_are_not_built() -> None:
    parts = [{"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]

    session = read(item("message", role="user", content=parts))

    assert shape(session) == [("user", "See", [])]


def test_parallel_calls_before_their_results_are_one_answer() -> None:
    """As 0.110 and 0.169 write them."""
    session = read(
        said("assistant", "Both."), call("a"), call("b"), output("a"), output("b"), count(), said("assistant", "Done.")
    )

    assert shape(session) == [
        ("assistant", "Both.", ["a", "b"]),
        ("tool", "done", []),
        ("tool", "done", []),
        ("assistant", "Done.", []),
    ]


def test_calls_with_their_results_between_them_are_one_answer_until_tokens_are_counted() -> None:
    """As 0.45 writes them."""
    session = read(count(), call("a"), output("a"), call("b"), output("b"), count(), call("c"), output("c"))

    assert [made for _, _, made in shape(session) if made] == [["a", "b"], ["c"]]


def test_without_counts_a_result_ends_an_answer() -> None:
    session = read(call("a"), output("a"), call("b"), output("b"))

    assert [made for _, _, made in shape(session) if made] == [["a"], ["b"]]


def test_a_patch_is_a_call_with_a_text_of_its_own() -> None:
    session = read(item("custom_tool_call", name="apply_patch", call_id="a", input="*** Begin Patch"))

    (made,) = session.messages[0].tool_calls or ()
    assert (made.tool, made.arguments) == ("apply_patch", {"input": "*** Begin Patch"})


def test_a_search_of_the_provider_has_a_result_without_text() -> None:
    session = read(item("web_search_call", id="ws", status="completed", action={"query": "example"}))

    assert shape(session) == [("assistant", "", ["ws"]), ("tool", "", [])]
    assert session.reported == {1: ReportedOutcome(SUCCESS)}


def test_a_process_that_goes_on_is_pending_until_it_was_asked_for_its_end() -> None:
    begun = [call("a"), output("a", RUNNING_FRAME), call("b", "write_stdin", '{"session_id": 56260, "chars": ""}')]

    asked = read(*begun, output("b", RUNNING_FRAME))
    ended = read(*begun, output("b", FAILED_FRAME))

    assert asked.reported == {1: ReportedOutcome(PENDING), 3: ReportedOutcome(SUCCESS)}
    assert ended.reported == {1: ReportedOutcome(FAILURE, 3), 3: ReportedOutcome(SUCCESS)}


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        pytest.param(2, ReportedOutcome(FAILURE, 2), id="it-ended"),
        pytest.param(-1, ReportedOutcome(PENDING), id="it-was-ended-with-codex"),
    ],
)
def test_the_end_of_a_process_may_be_noted_later(code: int, outcome: ReportedOutcome) -> None:
    note = {"type": "CommandExecution", "id": "a", "status": "failed", "exit_code": code, "aggregated_output": "x"}

    session = read(call("a"), output("a", RUNNING_FRAME), event("task_complete"), event("item_completed", item=note))

    assert session.reported == {1: outcome}


@pytest.mark.parametrize(
    ("note", "outcome"),
    [
        pytest.param(
            event("item_completed", item={"type": "FileChange", "id": "a", "status": "failed"}),
            ReportedOutcome(FAILURE),
            id="patch",
        ),
        pytest.param(
            event("item_completed", item={"type": "CommandExecution", "id": "a", "status": "declined"}),
            ReportedOutcome(CallStatus.REFUSED),
            id="declined",
        ),
        pytest.param(event("exec_command_end", call_id="a", exit_code=0), ReportedOutcome(SUCCESS, 0), id="command"),
        pytest.param(event("patch_apply_end", call_id="a", success=False), ReportedOutcome(FAILURE), id="patch-before"),
        pytest.param(
            event("mcp_tool_call_end", call_id="a", result={"Ok": {"content": [], "isError": False}}),
            ReportedOutcome(SUCCESS),
            id="server",
        ),
        pytest.param(
            event("mcp_tool_call_end", call_id="a", result={"Err": "no answer"}),
            ReportedOutcome(FAILURE),
            id="no-server",
        ),
        pytest.param(event("item_completed", item={"type": "Plan", "id": "a"}), None, id="nothing"),
    ],
)
def test_what_is_noted_of_a_call_counts_where_its_result_tells_nothing(
    note: dict[str, Any], outcome: ReportedOutcome | None
) -> None:
    session = read(call("a"), note, output("a"))

    assert session.reported.get(1) == outcome


def test_the_result_that_the_model_saw_outranks_a_note() -> None:
    note = {"type": "CommandExecution", "id": "a", "status": "completed", "exit_code": 0}

    session = read(
        call("a"), output("a", "Wall time: 5.9 seconds\naborted by user"), event("item_completed", item=note)
    )

    assert session.reported == {1: ReportedOutcome(CallStatus.INTERRUPTED)}


@pytest.mark.parametrize(
    ("rows", "ending"),
    [
        pytest.param([], None, id="0.45-notes-none"),
        pytest.param([event("task_started")], Ending(SessionState.OPEN, "task_started"), id="open"),
        pytest.param(
            [event("task_complete", last_agent_message="x")], Ending(SessionState.COMPLETE, "task_complete"), id="done"
        ),
        pytest.param(
            [event("task_complete", last_agent_message=None)],
            Ending(SessionState.INTERRUPTED, "task_complete without an answer", EndingKind.NO_ANSWER),
            id="no-answer",
        ),
        pytest.param(
            [
                event("task_started"),
                line("compacted", {"message": ""}),
                event("task_complete", last_agent_message=None),
            ],
            Ending(SessionState.COMPLETE, "task_complete"),
            id="compaction",
        ),
        pytest.param(
            [event("task_complete", last_agent_message=None, error={"message": "401"})],
            Ending(SessionState.INTERRUPTED, "task_complete.error"),
            id="error",
        ),
        pytest.param(
            [event("turn_aborted", reason="interrupted")],
            Ending(SessionState.INTERRUPTED, "turn_aborted", kind=EndingKind.PERSON),
            id="aborted",
        ),
        pytest.param([event("turn_aborted"), said("user", "Again")], None, id="asked-again"),
        pytest.param(
            [event("task_started"), said("user", "More")],
            Ending(SessionState.OPEN, "task_started"),
            id="asked-meanwhile",
        ),
    ],
)
def test_the_last_turn_tells_how_it_stands(rows: list[dict[str, Any]], ending: Ending | None) -> None:
    assert read(said("user", "Go"), *rows).ending == ending


def test_what_a_person_took_back_is_gone_and_marked() -> None:
    session = read(
        said("user", "One"),
        said("assistant", "First."),
        said("user", "Two"),
        call("a"),
        output("a", FAILED_FRAME),
        event("task_complete"),
        event("thread_rolled_back", num_turns=1),
        said("user", "Other"),
    )

    assert [text for _, text, _ in shape(session)] == ["One", "First.", "Other"]
    assert (session.taken_back, session.reported, session.ending) == ((2,), {}, None)
    assert len(session.message_times) == 3


def test_taking_back_many_turns_one_by_one_takes_linear_time() -> None:
    turns = 20_000
    began = time.process_time()

    session = read(*[said("user", "One")] * turns, *[event("thread_rolled_back", num_turns=1)] * (turns - 1))

    assert (len(session.messages), session.taken_back) == (1, (1,))
    assert time.process_time() - began < 5  # about 1; 17 where each looks at all messages


def test_a_time_without_a_zone_is_not_known() -> None:
    assert read({**said("user", "Go"), "timestamp": "2026-11-22T15:22:54"}).message_times == ()


def test_a_summary_for_the_model_is_no_answer() -> None:
    session = read(
        said("assistant", "Answer."),
        count(),
        said("assistant", "Summary: all worked."),
        count(),
        line("compacted", {"message": "Use this:\nSummary: all worked.", "replacement_history": []}),
        said("user", "Go on"),
    )

    assert [text for _, text, _ in shape(session)] == ["Answer.", "Go on"]
    assert not session.compacted  # the lines before it stay in the file


def test_many_summaries_after_a_long_answer_take_linear_time() -> None:
    summary = line("compacted", {"message": "Summary"})
    began = time.process_time()

    session = read(*[said("assistant", "x" * 8_000_000)] * 2, *[summary] * 5_000)

    assert len(session.messages) == 1
    assert time.process_time() - began < 5  # less than 1; 10 where each is compared with the answer


def test_tokens_are_those_of_each_call_however_often_they_are_told() -> None:
    """0.45 and 0.110 tell the last call twice, 0.169 in two ways, and after a compaction with zeros."""
    first, second = counts(100, cached=60), counts(150, cached=90)
    both = counts(250, cached=150)
    session = read(
        TURN,
        said("user", "Go"),
        count(),
        line("token_usage_record", {"usage": first, "thread_token_usage": first}),
        count(first, first),
        count(second, both),
        count(second, both),
        count(counts(0), both),
    )

    assert session.usage == (
        Usage(model="gpt-5.5", input_tokens=100, cache_read_tokens=150, output_tokens=40, reasoning_tokens=10),
    )


def test_the_tokens_of_what_a_fork_goes_on_from_are_not_its_own() -> None:
    session = read(
        meta(forked_from_id="p"),
        said("user", "Go"),
        line("token_usage_record", {"usage": counts(100), "thread_token_usage": counts(9_000)}),
    )

    assert [used.input_tokens for used in session.usage] == [100]


def test_tokens_are_kept_apart_by_model() -> None:
    other = {"type": "turn_context", "payload": {"model": "gpt-6"}}

    session = read(TURN, count(counts(1), counts(1)), other, count(counts(2), counts(3)))

    assert [(used.model, used.input_tokens) for used in session.usage] == [("gpt-5.5", 1), ("gpt-6", 2)]


def test_numbers_that_are_missing_are_unknown() -> None:
    session = read(count({"output_tokens": 3}, {"total_tokens": 3}))

    assert session.usage == (Usage(output_tokens=3),)


def test_more_messages_than_allowed_are_told() -> None:
    with pytest.raises(ParseError, match="2 messages are more than max_messages = 1"):
        read(said("user", "One"), said("user", "Two"), limits=Limits(messages=1))


def test_a_kind_of_line_is_told_whatever_the_order_of_its_keys() -> None:
    swapped = b'{"payload": {"x": 1, "type": "token_count"}, "type": "event_msg"}'

    assert kind_of(swapped) == "event_msg/token_count"
    assert kind_of(b'{"timestamp":"x","ordinal":7,"type":"event_msg","payload":{"type":"token_count"}}') == kind_of(
        swapped
    )
    assert kind_of(b'{"timestamp":"x","type":"compacted","payload":{"message":""}}') == "compacted"
    assert kind_of(b'{"role": "user"}') == ""
