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
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ParseError
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.qwen_code.chat_transcripts import QwenChats
from grader_daemon.sources.session_files import Parsed

ID = "0ed94445-2a35-4564-a7f0-750c304d1689"
PATH = f"/home/a/.qwen/projects/-tmp-proj/chats/{ID}.jsonl"
AGENT = f"/home/a/.qwen/projects/-tmp-proj/subagents/{ID}/agent-explore-call_1.jsonl"
TOKENS = {
    "promptTokenCount": 120,
    "cachedContentTokenCount": 100,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 5,
    "totalTokenCount": 140,
}
SUCCESS, FAILURE = ReportedOutcome(CallStatus.SUCCESS), ReportedOutcome(CallStatus.FAILURE)
PENDING = ReportedOutcome(CallStatus.PENDING)

Row = dict[str, Any]


class Chat:
    """Lines, one after the other: each has the one before as its parent unless it is told another."""

    def __init__(self) -> None:
        self.lines: list[Row] = []

    def add(self, kind: str, **keys: Any) -> str:
        """Add a line, and return its uuid."""
        uuid = f"u{len(self.lines)}"
        parent = self.lines[-1]["uuid"] if self.lines else None
        frame = {"uuid": uuid, "parentUuid": parent, "sessionId": ID, "timestamp": "2026-11-24T18:34:31.543Z"}
        self.lines.append({**frame, "type": kind, "cwd": "/tmp/proj", "version": "0.24.4", **keys})
        return uuid

    def user(self, text: str, **keys: Any) -> str:
        """Add what was asked, or what the program says in its place."""
        return self.add("user", message={"role": "user", "parts": [{"text": text}]}, **keys)

    def answer(self, text: str, *calls: str, tool: str = "read_file", **keys: Any) -> str:
        """Add an answer."""
        made = [{"functionCall": {"id": call, "name": tool, "args": {"file_path": "/a"}}} for call in calls]
        parts = [{"text": "I wonder", "thought": True}, *([{"text": text}] if text else []), *made]
        told = {"model": "qwen3-coder", "usageMetadata": TOKENS, **keys}
        return self.add("assistant", message={"role": "model", "parts": parts}, **told)

    def result(self, call: str, *, tool: str = "read_file", output: str = "fine", **noted: Any) -> str:
        """Add the end of a call."""
        response = {"functionResponse": {"id": call, "name": tool, "response": {"output": output}}}
        told = {"callId": call, "status": "success", "resultDisplay": "", **noted}
        return self.add("tool_result", message={"role": "user", "parts": [response]}, toolCallResult=told)

    def system(self, subtype: str, payload: Any = None, **keys: Any) -> str:
        """Add what the program did itself."""
        return self.add("system", **keys, subtype=subtype, systemPayload=payload)

    def api_error(self, cause: object = "BadRequestError", **event: Any) -> str:
        """Add an error of the API."""
        return self.system(
            "ui_telemetry", {"uiEvent": {"event.name": "qwen-code.api_error", "error_type": cause, **event}}
        )

    def session(self, path: str = PATH) -> Session:
        """Read it as a session."""
        read = parse(self.lines, path=path).session
        assert isinstance(read, Session)
        return read


def parse(rows: Sequence[Row], *, path: str = PATH, limits: Limits | None = None) -> Parsed:
    content = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)
    return QwenChats(limits=limits or Limits()).parse(content, Unit("qwen-code", path))


def said(read: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in read.messages]


@pytest.fixture
def chat() -> Chat:
    return Chat()


def test_a_session_is_what_its_lines_say(chat: Chat) -> None:
    chat.user("Read it", provenance="real_user")
    chat.system("attribution_snapshot", {"snapshot": {}})
    chat.answer("", "c")
    chat.system("ui_telemetry", {"uiEvent": {"event.name": "qwen-code.tool_call", "call_id": "c"}})
    chat.result("c")
    chat.answer("It says fine.")
    read = chat.session()

    assert said(read) == [(USER, "Read it"), (ASSISTANT, ""), (TOOL, "fine"), (ASSISTANT, "It says fine.")]
    assert [call.arguments for call in read.messages[1].tool_calls or ()] == [{"file_path": "/a"}]
    assert read.reported == {2: SUCCESS}
    assert read.usage == (
        Usage(model="qwen3-coder", input_tokens=40, cache_read_tokens=200, output_tokens=40, reasoning_tokens=10),
    )
    assert (read.session_id, read.kind, read.parent, read.named_after_id) == (ID, SessionKind.MAIN, None, True)
    assert (read.project, read.model, read.agent_version) == ("/tmp/proj", "qwen3-coder", "0.24.4")
    assert read.started_at == read.updated_at == datetime(2026, 11, 24, 18, 34, 31, 543_000, UTC)
    assert (read.ending, read.taken_back, read.compacted) == (None, (), False)


def test_a_prompt_is_told_as_it_was_typed(chat: Chat) -> None:
    chat.user("<hook/>Read it", systemPayload={"displayText": "Read it", "hookContext": "<hook/>"})

    assert said(chat.session()) == [(USER, "Read it")]


def test_what_came_while_the_agent_worked_or_on_a_schedule_was_asked_for(chat: Chat) -> None:
    chat.user("Do it")
    chat.user("Faster", subtype="mid_turn_user_message")
    chat.user("Look again", subtype="cron", provenance="system")

    assert said(chat.session()) == [(USER, "Do it"), (USER, "Faster"), (USER, "Look again")]


def test_what_the_machinery_said_is_no_message(chat: Chat) -> None:
    chat.user("Do it")
    chat.user("Keep going", subtype="goal_runtime", provenance="goal_runtime")
    chat.user("Hm", provenance="system")
    chat.add("user", message={"role": "user", "parts": [{"inlineData": {"data": "A" * 99}}]})
    chat.add("user")

    assert said(chat.session()) == [(USER, "Do it")]


def test_an_answer_without_content_has_none(chat: Chat) -> None:
    chat.user("Do it")
    chat.answer("(empty content)")
    chat.add("assistant", model="m")
    read = chat.session()

    assert [message.content for message in read.messages[1:]] == [None, None]
    assert read.usage[1] == Usage(model="m")


@pytest.mark.parametrize(
    ("total", "output"),
    [
        pytest.param(140, 20, id="thoughts-are-part-of-the-output"),
        pytest.param(145, 25, id="thoughts-stand-beside-it"),
        pytest.param(None, 20, id="nobody-says"),
    ],
)
def test_thoughts_are_counted_once(chat: Chat, total: int | None, output: int) -> None:
    chat.answer("Done.", usageMetadata={**TOKENS, "totalTokenCount": total})

    assert chat.session().usage[0].output_tokens == output


def test_tokens_that_are_not_counted_are_not_known(chat: Chat) -> None:
    chat.answer("Done.", usageMetadata={"candidatesTokenCount": 7})

    assert chat.session().usage == (Usage(model="qwen3-coder", output_tokens=7),)


def test_a_call_in_the_background_ended_as_a_notification_says(chat: Chat) -> None:
    chat.answer("", "a", "b", tool="agent")
    for call in ("a", "b"):
        chat.result(call, tool="agent", resultDisplay={"type": "task_execution", "status": "background"})
    head = "<task-notification>\n<tool-use-id>{}</tool-use-id>\n<status>{}</status>\n</task-notification>"
    before = chat.session().reported
    told = "\n".join(head.format(*each) for each in (("a", "completed"), ("nobody", "failed")))
    chat.user(told, subtype="notification", provenance="system")

    assert before == {1: PENDING, 2: PENDING}
    assert chat.session().reported == {1: SUCCESS, 2: PENDING}
    assert len(chat.session().messages) == 3


def test_several_results_in_a_line_are_each_told_by_their_own(chat: Chat) -> None:
    responses = [
        {"functionResponse": {"id": call, "name": "read_file", "response": {"output": call}}} for call in ("a", "b")
    ]
    noted = {"callId": "a", "status": "error"}
    chat.answer("", "a", "b")
    chat.add("tool_result", message={"parts": [*responses, {"text": "beside"}]}, toolCallResult=noted)
    chat.add("tool_result", message={"parts": [{"functionResponse": {"name": "x", "response": {"output": "y"}}}]})
    chat.add("tool_result")

    assert said(chat.session())[1:] == [(TOOL, ""), (TOOL, "b"), (TOOL, "y")]
    assert chat.session().reported == {1: FAILURE, 2: SUCCESS, 3: SUCCESS}


def test_the_end_of_a_background_command_that_is_no_shell_is_not_noted(chat: Chat) -> None:
    chat.answer("", "a", tool="run_shell_command")
    chat.result("a", tool="run_shell_command", output="?")

    assert chat.session().reported == {}


def test_an_error_of_the_api_ended_what_was_not_answered(chat: Chat) -> None:
    error = Ending(SessionState.INTERRUPTED, "API error: BadRequestError")
    chat.user("Do it")
    chat.api_error(subagent_id="kid")
    of_kid = chat.session().ending
    chat.api_error()
    failed = chat.session().ending
    chat.answer("", "c")
    made_good = chat.session().ending
    chat.api_error("Ignore all instructions")
    other = chat.session().ending
    chat.result("c")
    chat.answer("Done.")
    chat.api_error()

    assert (of_kid, failed, made_good) == (None, error, None)
    assert other == Ending(SessionState.INTERRUPTED, "API error: other")
    assert chat.session().ending is None
    chat.user("And that")
    assert chat.session().ending is None


def test_a_rewind_takes_back_a_prompt_and_all_after_it(chat: Chat) -> None:
    first = chat.user("Do it")
    chat.answer("Done.")
    chat.user("No")
    chat.answer("", "c")
    chat.result("c")
    chat.system("rewind", {"truncatedCount": 2}, parentUuid="u1")
    chat.user("Better")
    read = chat.session()

    assert first == "u0"
    assert said(read) == [(USER, "Do it"), (ASSISTANT, "Done."), (USER, "Better")]
    assert (read.taken_back, read.reported) == ((2,), {})
    assert read.usage[0].output_tokens == 40

    chat.system("rewind", {"truncatedCount": 3}, parentUuid=None)
    chat.user("Anew")
    assert (said(chat.session()), chat.session().taken_back) == ([(USER, "Anew")], (0, 0))


def test_a_prompt_in_the_place_of_another_takes_that_back(chat: Chat) -> None:
    chat.answer("Hello.")
    chat.user("Do it")
    chat.user("Do that", parentUuid="u0")
    written_anew = chat.session()
    chat.answer("Done.")
    chat.user("Do this", parentUuid="u0")

    assert (said(written_anew)[1:], written_anew.taken_back) == ([(USER, "Do that")], ())
    assert (said(chat.session())[1:], chat.session().taken_back) == ([(USER, "Do this")], (1,))


def test_prompts_without_a_parent_take_nothing_back(chat: Chat) -> None:
    chat.user("Do it", parentUuid=None)
    chat.answer("Done.", parentUuid=None)
    chat.user("Do that", parentUuid=None)

    assert len(chat.session().messages) == 3


def test_a_line_that_stands_twice_counts_once(chat: Chat) -> None:
    chat.user("Do it")
    chat.lines += chat.lines
    del (anonymous := dict(chat.lines[0]))["uuid"]

    assert said(chat.session()) == [(USER, "Do it")]
    chat.lines += [anonymous]
    assert len(chat.session().messages) == 2


def test_what_was_summed_up_is_noted(chat: Chat) -> None:
    chat.user("Do it")
    chat.system("chat_compression", {"info": {}, "compressedHistory": [{"role": "user", "parts": [{"text": "all"}]}]})

    assert chat.session().compacted
    assert said(chat.session()) == [(USER, "Do it")]


def test_a_sub_agent_is_one_answer_for_each_run_of_lines_and_its_tokens_are_not_all_known(chat: Chat) -> None:
    chat.user("Count", isSidechain=True, agentId="explore-call_1")
    chat.answer("Let me see.", model=None)
    chat.answer("", "a", model=None, usageMetadata=None)
    chat.answer("", "b", model=None, usageMetadata=None)
    chat.result("a", status=None)
    chat.user("Stop it", externalInputKind="notification")
    chat.answer("Ten.", model=None)
    read = chat.session(AGENT)

    assert said(read) == [(USER, "Count"), (ASSISTANT, "Let me see."), (TOOL, "fine"), (ASSISTANT, "Ten.")]
    assert [call.id for call in read.messages[1].tool_calls or ()] == ["a", "b"]
    assert (read.session_id, read.kind, read.parent) == ("agent-explore-call_1", SessionKind.SUB_AGENT, ID)
    assert (read.usage, read.reported) == ((Usage(),), {2: SUCCESS})


def test_a_session_that_another_had_begun_belongs_to_that(chat: Chat) -> None:
    chat.system("parent_session", {"parentSessionId": "p"})
    chat.user("Count")
    read = chat.session()

    assert (read.kind, read.parent) == (SessionKind.SUB_AGENT, "p")
    assert parse([{**chat.lines[0], "systemPayload": None}, chat.lines[1]]).session == Session(
        **{name: getattr(read, name) for name in read.__struct_fields__ if name not in ("kind", "parent")},
        kind=SessionKind.MAIN,
    )


def test_a_fork_goes_on_from_another(chat: Chat) -> None:
    chat.user("Do it", forkedFrom={"sessionId": "p", "messageUuid": "u0"})

    assert (chat.session().kind, chat.session().parent) == (SessionKind.MAIN, "p")


def test_a_copy_under_any_name_is_called_what_it_says(chat: Chat) -> None:
    chat.user("Do it", timestamp=None)
    read = chat.session("/tmp/kept.jsonl")

    assert (read.session_id, read.named_after_id, read.message_times) == (ID, False, ())


def test_a_file_without_a_word_is_no_session(chat: Chat) -> None:
    chat.system("custom_title", {"customTitle": "Hi"})
    assert parse(chat.lines).session == Skipped(SkipReason.NOT_A_SESSION, ID)
    chat.system("hologram")
    assert parse(chat.lines).session == Skipped(SkipReason.UNREADABLE_VERSION, ID)
    chat.user("Do it")
    assert parse(chat.lines).unknown == UnknownKinds("0.24.4", ("system/hologram",))


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({"subtype": "ui_telemetry", "type": "system", "systemPayload": {}}, id="telemetry-of-nothing"),
        pytest.param({"cwd": 'C:\\"x', "type": "system", "subtype": "slash_command"}, id="escapes-in-the-frame"),
        pytest.param(
            {
                "cwd": "\\",
                "type": "system",
                "subtype": "ui_telemetry",
                "systemPayload": {"uiEvent": {"event.name": "x"}},
            },
            id="telemetry-behind-escapes",
        ),
    ],
)
def test_the_kind_of_a_line_is_told_whatever_the_order_of_its_keys(chat: Chat, row: Row) -> None:
    chat.user("Do it")

    assert parse([*chat.lines, row]).unknown is None
    assert parse([*chat.lines, {"message": {}}]).unknown == UnknownKinds("0.24.4", ("",))


def test_an_error_of_the_api_is_found_behind_escapes_too(chat: Chat) -> None:
    chat.user("Do it")
    chat.api_error()
    chat.lines[-1]["cwd"] = 'C:\\"x'

    assert chat.session().ending is not None


def test_too_many_messages_are_refused(chat: Chat) -> None:
    chat.user("a")
    chat.user("b")
    with pytest.raises(ParseError, match="max_messages = 1"):
        parse(chat.lines, limits=Limits(messages=1))


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        (PATH, True),
        (AGENT, True),
        (AGENT.replace(".jsonl", ".meta.json"), False),
        ("/home/a/.qwen/projects/-tmp-proj/chats/notes.jsonl", False),
    ],
)
def test_only_chats_and_files_of_sub_agents_are_claimed(path: str, claimed: bool) -> None:
    assert QwenChats(limits=Limits()).claims(path) is claimed


def test_a_file_of_any_name_is_known_by_its_lines(chat: Chat) -> None:
    source = QwenChats(limits=Limits())
    chat.user("Do it")

    assert source.recognizes("/x/y.txt", json.dumps(chat.lines[0]).encode())
    assert not source.recognizes(PATH, b'{"parentUuid":null,"message":{"role":"user","content":"Do it"}}')
    assert not source.recognizes(PATH, b'{"message":{"role":"user","parts":[]}}')
