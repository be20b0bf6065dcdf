from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import (
    ASSISTANT,
    TOOL,
    USER,
    Ending,
    Session,
    SessionKind,
    Skipped,
    SkipReason,
    ToolCall,
    Usage,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ParseError
from grader_daemon.sources.gemini_cli.chat_files import GeminiChats
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.session_files import Parsed

PATH = "/home/a/.gemini/tmp/proj/chats/session-2026-11-22T15-25-f0262141.jsonl"
ID = "f0262141-cb75-43dc-9357-9cbcd5d85ef5"
HEAD = {"sessionId": ID, "projectHash": "f", "startTime": "2026-11-22T15:25:50.196Z", "kind": "main"}
TOKENS = {"input": 120, "output": 20, "cached": 100, "thoughts": 5, "tool": 0, "total": 145}
CONTEXT = (
    "<session_context>\nhello\n- **Workspace Directories:**\n  - /tmp/proj\n- **Directories:**\n</session_context>"
)


def user(text: str, name: str = "u") -> dict[str, Any]:
    return {"id": name, "timestamp": "2026-11-22T15:26:00Z", "type": "user", "content": [{"text": text}]}


def answer(text: str, name: str = "a", **more: Any) -> dict[str, Any]:
    made = {"id": name, "timestamp": "2026-11-22T15:27:00Z", "type": "gemini", "content": text, "tokens": TOKENS}
    return {**made, "model": "gemini-2.5-pro", **more}


def call(name: str = "c", status: str = "success", output: str = "fine") -> dict[str, Any]:
    response = {"functionResponse": {"id": name, "name": "read_file", "response": {"output": output}}}
    return {"id": name, "name": "read_file", "args": {"file_path": "/a"}, "status": status, "result": [response]}


def parse(*lines: dict[str, Any], path: str = PATH, limits: Limits | None = None) -> Parsed:
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return GeminiChats(limits=limits or Limits()).parse(content, Unit("gemini-cli", path))


def session(*lines: dict[str, Any], path: str = PATH) -> Session:
    read = parse(HEAD, *lines, path=path).session
    assert isinstance(read, Session)
    return read


def said(read: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in read.messages]


def test_a_session_is_what_its_log_makes() -> None:
    read = session(
        {"$set": {"messages": [user(CONTEXT, "0")], "lastUpdated": "2026-11-22T15:25:51Z"}},
        user("Read it"),
        answer("", "1"),
        answer("", "1", toolCalls=[call()]),
        {**user("", "r"), "content": call()["result"]},
        answer("It says fine.", "2"),
        {"$set": {"lastUpdated": "2026-11-22T15:28:00Z"}},
    )

    assert said(read) == [(USER, "Read it"), (ASSISTANT, ""), (TOOL, "fine"), (ASSISTANT, "It says fine.")]
    assert [wire.tool for wire in read.messages[1].tool_calls or ()] == ["read_file"]
    assert read.usage == (
        Usage(model="gemini-2.5-pro", input_tokens=40, cache_read_tokens=200, output_tokens=50, reasoning_tokens=10),
    )
    assert (read.session_id, read.project, read.model) == (ID, "/tmp/proj", "gemini-2.5-pro")
    assert (read.kind, read.parent, read.named_after_id) == (SessionKind.MAIN, None, True)
    assert read.updated_at == datetime(2026, 11, 22, 15, 28, tzinfo=UTC)


def test_an_answer_without_text_is_a_call_that_has_not_ended_if_the_model_wrote_something() -> None:
    running = session(user("Read it"), answer(""))
    empty = session(user("Read it"), answer("", tokens={**TOKENS, "output": 0}))
    unknown = session(user("Read it"), answer("", tokens=None))

    assert running.messages[1].tool_calls == (ToolCall(),)
    assert [read.messages[1].tool_calls for read in (empty, unknown)] == [None, None]


def test_what_a_person_rewound_is_gone_but_for_its_place_and_its_tokens() -> None:
    read = session(user("Do it"), answer("Done."), user("No", "u2"), answer("Sorry.", "a2"), {"$rewindTo": "u2"})
    from_start = session(user("Do it"), answer("Done."), {"$rewindTo": "u"}, user("Do that", "u3"))

    assert (said(read), read.taken_back) == ([(USER, "Do it"), (ASSISTANT, "Done.")], (2,))
    assert read.usage[0].output_tokens == 50
    assert (said(from_start), from_start.taken_back) == ([(USER, "Do that")], (0,))


def test_a_number_of_tokens_that_cannot_be_is_not_known() -> None:
    read = session(user("Go"), answer("Done.", tokens={"input": -1, "output": 1.5, "cached": 2}))

    assert [message.text for message in read.messages] == ["Go", "Done."]
    assert read.usage == (Usage(model="gemini-2.5-pro", cache_read_tokens=2),)


def test_rewinding_many_records_one_by_one_takes_linear_time() -> None:
    names = [f"u{number}" for number in range(20_000)]
    began = time.process_time()

    read = session(*(user("Go", name) for name in names), *({"$rewindTo": name} for name in names[:0:-1]))

    assert (said(read), read.taken_back) == ([(USER, "Go")], (1,))
    assert time.process_time() - began < 5  # about 1; 30 where each looks at all records


def test_to_rewind_to_what_is_not_there_changes_nothing() -> None:
    assert session(user("Do it"), {"$rewindTo": "nothing"}).taken_back == ()


def test_a_list_of_all_records_replaces_those_before_and_holds_calls_as_what_was_said() -> None:
    called = {"functionCall": {"id": "c", "name": "read_file", "args": {"file_path": "/a"}}}
    answered = {**user("", "r"), "content": call(output="one")["result"]}

    read = session(
        user("Old"), {"$set": {"messages": [user("New"), {**answer("", "1"), "content": [called]}, answered]}}
    )

    assert said(read) == [(USER, "New"), (ASSISTANT, ""), (TOOL, "one")]
    assert read.messages[2].tool_call_id == "c"


def test_a_run_that_a_detected_loop_ended_was_cut_short() -> None:
    loop = user("System: Potential loop detected. Details: Repeated tool call", "l")

    assert session(user("Do it"), answer("", "1", toolCalls=[call()]), loop).ending == Ending(
        SessionState.INTERRUPTED, "loop detected", EndingKind.LIMIT
    )
    assert session(user("Do it"), loop, answer("Better now.", "2")).ending is None


def test_a_summary_of_what_was_said_before_is_nobodys_word() -> None:
    read = session(user("<state_snapshot>\nall of it"), answer("Going on."))

    assert (said(read), read.compacted) == ([(ASSISTANT, "Going on.")], True)


def test_a_call_that_has_not_ended_has_no_result() -> None:
    assert said(session(user("Do it"), answer("", "1", toolCalls=[call(status="executing")])))[-1] == (ASSISTANT, "")


def test_a_sub_agent_belongs_to_the_session_whose_folder_it_is_in() -> None:
    read = session(
        {"$set": {"kind": "subagent"}}, user("Count"), path=f"/home/a/.gemini/tmp/proj/chats/{ID}/0f01343b.jsonl"
    )

    assert (read.kind, read.parent) == (SessionKind.SUB_AGENT, ID)


def test_thoughts_and_pictures_are_not_said() -> None:
    parts = [{"text": "I wonder", "thought": True}, {"inlineData": {"data": "A" * 99}}, {"text": "Four."}]

    assert said(session(answer("", content=parts))) == [(ASSISTANT, "Four.")]


def test_an_old_file_holds_all_in_one_document_and_its_tokens_only_where_they_are_whole() -> None:
    path = PATH.removesuffix("l")

    def usage(calls: int) -> tuple[Usage, ...]:
        rounds = answer("", toolCalls=[call(str(number)) for number in range(calls)])
        read = parse({**HEAD, "messages": [user("Do it"), rounds]}, path=path).session
        assert isinstance(read, Session)
        assert len(read.messages) == 2 + calls
        return read.usage

    assert [bool(usage(calls)) for calls in (0, 1, 2)] == [True, True, False]


def test_a_file_without_a_word_is_no_session() -> None:
    assert parse(HEAD).session == Skipped(SkipReason.NOT_A_SESSION, ID)
    assert parse({"history": []}, path=PATH.removesuffix("l")).session == Skipped(SkipReason.NOT_A_SESSION, "f0262141")


def test_lines_of_a_kind_that_is_not_known_are_named() -> None:
    news = {"id": "x", "type": "hologram", "content": {}}

    assert parse(HEAD, user("Hi"), news).unknown == UnknownKinds(None, ("hologram",))
    assert parse(HEAD, news).session == Skipped(SkipReason.UNREADABLE_VERSION, ID)
    assert parse(HEAD, user("Hi"), {"id": "x", "type": "info", "content": "Update!"}).unknown is None


def test_too_many_messages_are_refused() -> None:
    with pytest.raises(ParseError, match="max_messages = 1"):
        parse(HEAD, user("a", "1"), user("b", "2"), limits=Limits(messages=1))


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        (PATH, True),
        (PATH.removesuffix("l"), True),
        (f"/t/p/chats/{ID}/0f01343b-801c.jsonl", True),
        ("/t/p/chats/notes.json", False),
        ("/t/p/logs.json", False),
        ("/t/p/chats/a/b/c.jsonl", False),
    ],
)
def test_only_files_of_sessions_are_claimed(path: str, claimed: bool) -> None:
    assert GeminiChats(limits=Limits()).claims(path) is claimed


def test_a_file_of_any_name_is_known_by_how_it_begins() -> None:
    source = GeminiChats(limits=Limits())

    assert source.recognizes("/x/y.txt", json.dumps(HEAD).encode())
    assert not source.recognizes("/x/y.txt", b'{"type":"session_meta"}')
