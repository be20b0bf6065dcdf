from __future__ import annotations

import json
import time
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
from grader_daemon.errors import ParseError
from grader_daemon.sources.pi.pi_files import PiSessions
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.session_files import Parsed
from tests.pi_lines import FILE, SESSION, USAGE, PiLines, as_bytes, call

PATH = f"/home/a/.pi/agent/sessions/--p--/{FILE}"


def parse(content: bytes, path: str = PATH, limits: Limits | None = None) -> Parsed:
    return PiSessions(limits=limits or Limits()).parse(content, Unit("pi", path))


def session(lines: PiLines | bytes, path: str = PATH) -> Session:
    read = parse(lines if isinstance(lines, bytes) else lines.content, path).session
    assert isinstance(read, Session)
    return read


def said(read: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in read.messages]


def worked() -> PiLines:
    lines = PiLines()
    lines.add("model_change", provider="p", modelId="chosen")
    lines.prompt([{"type": "text", "text": "Run it"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"}])
    lines.answer({"type": "thinking", "thinking": "Hm"}, "I do.", call("bash", "c1", command="ls"), stop="toolUse")
    lines.result("c1", "a\n")
    lines.answer("Done.")
    return lines


def test_a_session_is_read_with_all_that_pi_says_of_it() -> None:
    read = session(worked())

    assert said(read) == [(USER, "Run it"), (ASSISTANT, "I do."), (TOOL, "a\n"), (ASSISTANT, "Done.")]
    assert (read.session_id, read.named_after_id, read.kind, read.agent) == (SESSION, True, SessionKind.MAIN, "pi")
    assert (read.model, read.project, read.parent) == ("m", "/p", None)
    (made,) = read.messages[1].tool_calls or ()
    assert (made.id, made.tool, made.arguments) == ("c1", "bash", '{"command":"ls"}')
    assert read.reported == {2: ReportedOutcome(CallStatus.SUCCESS)}
    assert read.ending == Ending(SessionState.COMPLETE, "stopReason=stop")
    assert read.usage == (
        Usage(model="m", input_tokens=20, cache_read_tokens=200, cache_write_tokens=4, output_tokens=10),
    )
    assert read.cost_usd == pytest.approx(0.06)
    assert (str(read.started_at), str(read.updated_at)) == (
        "2026-11-22 15:22:54.736000+00:00",
        "2026-11-22 16:00:05+00:00",
    )
    assert len(read.message_times) == len(read.messages)


def test_what_a_person_went_back_from_is_gone_and_its_place_is_kept() -> None:
    lines = PiLines()
    lines.prompt("Do it")
    branching = lines.answer("Done.")
    lines.prompt("Now tests")
    lines.answer("I wrote none.")
    lines.at = branching
    lines.add("branch_summary", fromId="x", summary="none written", usage=USAGE)
    lines.prompt("Now real tests")
    lines.answer("Here they are.")
    read = session(lines)

    assert [text for _, text in said(read)] == ["Do it", "Done.", "Now real tests", "Here they are."]
    assert read.taken_back == (2,)
    assert [(used.model, used.output_tokens) for used in read.usage] == [("m", 15), (None, 5)]


@pytest.mark.parametrize("first", [True, False])
def test_a_prompt_that_was_written_anew_before_any_answer_takes_nothing_back(first: bool) -> None:
    lines = PiLines()
    before = None if first else lines.answer("Hello.")
    lines.prompt("Do itt")
    lines.answer(stop="aborted")
    lines.at = before
    lines.prompt("Do it")
    lines.answer("Done.")
    read = session(lines)

    assert [text for role, text in said(read) if role == USER] == ["Do it"]
    assert read.taken_back == ()


def test_the_first_prompt_can_be_taken_back() -> None:
    lines = worked()
    lines.at = None
    lines.prompt("Something else")

    assert (said(session(lines)), session(lines).taken_back) == ([(USER, "Something else")], (0,))


def test_a_branch_that_was_written_anew_by_the_machinery_is_nobodys_and_its_tokens_count_once() -> None:
    lines = PiLines()
    start = lines.prompt("Do it")
    for _ in range(2):
        lines.at = start
        lines.answer(call("bash", "c1", command="ls"), stop="toolUse", responseId="r", timestamp=7)
        lines.result("c1", "a")
    read = session(lines)

    assert (len(read.messages), read.taken_back) == (3, ())
    assert read.usage[0].output_tokens == 5


def test_answers_that_bear_one_id_at_different_times_are_two() -> None:
    lines = PiLines()
    lines.answer("One.", responseId="chatcmpl-1", timestamp=1)
    lines.answer("Two.", responseId="chatcmpl-1", timestamp=2)

    assert session(lines).usage[0].output_tokens == 10


def test_entries_of_kinds_that_nobody_knows_are_named_and_the_tree_holds() -> None:
    lines = PiLines()
    start = lines.prompt("Do it")
    lines.lines.append({"type": "hologram"})
    lines.answer("No.")
    lines.at = start
    lines.add("hologram", content="x")
    lines.add("hologram", content="y")
    lines.answer("Done.")
    parsed = parse(lines.content)

    assert isinstance(parsed.session, Session)
    assert said(parsed.session) == [(USER, "Do it"), (ASSISTANT, "Done.")]
    assert parsed.unknown == UnknownKinds(None, ("hologram",))


def test_an_entry_whose_parent_is_nowhere_follows_the_one_before() -> None:
    lines = worked().lines
    broken = as_bytes(lines[:3]) + b'{"type":"message","id":\xff broken\n' + as_bytes(lines[4:])

    parsed = parse(broken)
    assert isinstance(parsed.session, Session)
    assert said(parsed.session) == [(USER, "Run it"), (TOOL, "a\n"), (ASSISTANT, "Done.")]
    assert parsed.unknown == UnknownKinds(None, (), 1)


def test_the_first_format_had_no_ids() -> None:
    lines = [{k: v for k, v in line.items() if k not in ("id", "parentId")} for line in worked().lines[1:]]
    head = {k: v for k, v in worked().lines[0].items() if k != "version"}

    assert said(session(as_bytes([head, *lines]))) == said(session(worked()))


def test_a_tree_that_runs_in_a_circle_ends() -> None:
    lines = worked()
    lines.lines[2]["parentId"] = lines.lines[-1]["id"]
    lines.lines[3]["parentId"] = lines.lines[3]["id"]

    assert said(session(lines)) == [(ASSISTANT, "I do."), (TOOL, "a\n"), (ASSISTANT, "Done.")]


def test_many_branches_take_linear_time() -> None:
    lines = PiLines()
    start = lines.prompt("Do it")
    for number in range(20_000):
        lines.at = start if number % 2 else lines.at
        lines.answer("No.")
    for number in range(1, 10_000):
        lines.lines[number]["type"] = "news"
    began = time.process_time()

    assert session(lines).taken_back
    assert time.process_time() - began < 5  # about 0.3


@pytest.mark.parametrize(
    ("stop", "blocks", "ending"),
    [
        ("stop", ["Done."], Ending(SessionState.COMPLETE, "stopReason=stop")),
        ("stop", [call("bash", "c")], None),
        ("length", ["The beg"], Ending(SessionState.INTERRUPTED, "stopReason=length", EndingKind.LIMIT)),
        ("error", [], Ending(SessionState.INTERRUPTED, "stopReason=error", EndingKind.ERROR)),
        ("aborted", ["I wa"], Ending(SessionState.INTERRUPTED, "stopReason=aborted", EndingKind.PERSON)),
        ("toolUse", [call("bash", "c")], Ending(SessionState.OPEN, "stopReason=toolUse")),
        ("deferred", [], Ending(SessionState.OPEN, "stopReason=deferred")),
        ("news", ["Done."], None),
    ],
)
def test_the_last_answer_says_how_it_stands(stop: str, blocks: list[Any], ending: Ending | None) -> None:
    lines = worked()
    lines.answer(*blocks, stop=stop)
    assert session(lines).ending == ending

    lines.add("label", targetId="x", label="y")
    assert session(lines).ending == ending
    lines.prompt("Go on")
    assert session(lines).ending is None


def test_an_answer_that_never_came_is_none_and_calls_in_one_that_was_broken_off_were_not_made() -> None:
    lines = PiLines()
    lines.prompt("Do it")
    lines.answer(stop="error", errorMessage="529 overloaded")
    lines.answer("I will", call("bash", "c", command="rm"), stop="aborted")
    lines.prompt("Go on")
    read = session(lines)

    assert said(read) == [(USER, "Do it"), (ASSISTANT, "I will"), (USER, "Go on")]
    assert read.messages[1].tool_calls is None


def test_an_answer_may_be_a_text_alone() -> None:
    lines = PiLines()
    lines.answer(content="Done.")

    assert said(session(lines)) == [(ASSISTANT, "Done.")]


def test_what_no_person_said_and_no_model_is_no_message() -> None:
    lines = PiLines()
    lines.prompt("Do it")
    lines.add("message", message={"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0})
    lines.add("message", message={"role": "hookMessage", "content": "x"})
    lines.add("message", message={"role": "custom", "customType": "x", "content": "x", "display": True})
    lines.add("custom_message", customType="x", content="x", display=True)
    lines.add("compaction", summary="all of it", firstKeptEntryId="x", tokensBefore=5)
    lines.prompt("Reminder", synthetic=True)
    lines.prompt("Reminder", attribution="agent")
    lines.answer("Done.")

    assert said(session(lines)) == [(USER, "Do it"), (ASSISTANT, "Done.")]


def test_what_the_machinery_asked_a_model_counts_too() -> None:
    lines = PiLines()
    lines.prompt("Do it")
    lines.answer("Done.")
    lines.add("usage", kind="cache_warm", provider="p", model="m", usage=USAGE)
    lines.add("compaction", summary="s", firstKeptEntryId="x", tokensBefore=5, usage=USAGE)
    lines.result("c", "told", tool="task", usage=USAGE)
    read = session(lines)

    assert [(used.model, used.output_tokens) for used in read.usage] == [("m", 10), (None, 10)]
    assert read.cost_usd == pytest.approx(0.12)


@pytest.mark.parametrize("usage", [None, {"input": 1, "output": 2, "cost": {"total": 0}}, {"cost": {"total": "free"}}])
def test_a_price_that_pi_does_not_know_is_not_known(usage: object) -> None:
    lines = PiLines()
    lines.answer("Done.", usage=usage)

    assert session(lines).cost_usd is None


def test_tokens_that_are_no_numbers_are_not_known() -> None:
    lines = PiLines()
    lines.answer("Done.", usage={"input": "many", "output": 2, "cacheRead": -1, "reasoning": 1})
    lines.answer("Done.", usage={"input": 5, "output": 2, "reasoningTokens": 1})

    assert session(lines).usage == (Usage(model="m", output_tokens=4, reasoning_tokens=2),)


def test_the_first_prompt_of_the_system_tells_set_ups_apart() -> None:
    def digests(folder: str, told: str, tools: str) -> tuple[str | None, str | None]:
        lines = PiLines()
        sections = {"preamble": told, "cwd": folder}
        system = {"role": "system", "content": "", "sections": sections, "toolsAdded": [{"name": tools}]}
        lines.add("message", message=system)
        lines.add("message", message={**system, "sections": {"preamble": "later"}})
        lines.prompt("Do it")
        read = session(lines)
        return read.system_prompt_digest, read.tools_digest

    assert digests("/a", "be good", "read") == digests("/b", "be good", "read")
    assert digests("/a", "be good", "read")[0] != digests("/a", "be bad", "read")[0]
    assert digests("/a", "be good", "read")[1] != digests("/a", "be good", "bash")[1]


@pytest.mark.parametrize(
    ("system", "is_known"),
    [
        ({"content": "You are"}, True),
        ({"content": [{"type": "text", "text": "You are"}]}, True),
        ({"content": None}, False),
        ({"content": "", "sections": 5}, False),
        ({"content": "", "sections": {"cwd": "/p"}}, False),
    ],
)
def test_a_prompt_of_the_system_may_stand_there_in_several_ways(system: dict[str, Any], is_known: bool) -> None:
    lines = PiLines()
    lines.add("message", message={"role": "system", **system})
    lines.prompt("Do it")

    assert (session(lines).system_prompt_digest is not None) is is_known


@pytest.mark.parametrize(
    ("parent", "told"),
    [
        (f"/home/a/.pi/agent/sessions/--p--/2026-11-24T18-24-30-520Z_{SESSION}.jsonl", SESSION),
        ("C:\\pi\\2026-11-24T18-24-30-520Z_my_task.jsonl", "my_task"),
        (SESSION, SESSION),
        (None, None),
    ],
)
def test_a_copy_names_what_it_was_copied_from(parent: str | None, told: str | None) -> None:
    lines = PiLines(parentSession=parent)
    lines.prompt("Do it")
    read = session(lines)

    assert (read.parent, read.kind) == (told, SessionKind.MAIN)


@pytest.mark.parametrize(("folder", "agent"), [(".pi", "pi"), (".omp", "oh-my-pi"), (".prime", "prime-agent")])
def test_the_folder_tells_which_program_it_was(folder: str, agent: str) -> None:
    title = {"type": "title", "v": 1, "title": "Run it", "updatedAt": "x", "pad": " "}
    content = as_bytes([title]) + worked().content
    path = PATH.replace(".pi", folder)

    assert session(content, path).agent == agent
    assert parse(content, path).unknown is None
    assert PiSessions(limits=Limits()).recognizes("/x", content[:4_096])


def test_a_sub_agent_lies_beside_the_session_that_began_it() -> None:
    lines = PiLines(id="of-scout")
    lines.add("session_init", systemPrompt="x", task="Look", tools=[])
    lines.prompt("Look", attribution="agent")
    lines.answer("Seen.")
    beside = session(lines, f"{PATH.removesuffix('.jsonl')}/Scout.jsonl")

    assert (beside.kind, beside.parent) == (SessionKind.SUB_AGENT, SESSION)
    assert said(beside)[0] == (USER, "Look")
    assert session(lines, "/elsewhere.jsonl").kind is SessionKind.SUB_AGENT


def test_a_session_that_says_little_is_called_by_its_file() -> None:
    lines = worked().lines
    read = session(as_bytes(lines[1:]))
    timeless = session(as_bytes([{k: v for k, v in line.items() if k != "timestamp"} for line in lines]))

    assert (read.session_id, read.project, str(read.started_at)) == (SESSION, None, "2026-11-22 16:00:02+00:00")
    assert (timeless.started_at, timeless.updated_at, timeless.message_times) == (None, None, ())


def test_of_two_first_lines_the_first_counts() -> None:
    lines = worked().lines

    assert session(as_bytes([lines[0], {**lines[0], "id": "other"}, *lines[1:]])).session_id == SESSION


def test_a_file_without_a_word_is_no_session() -> None:
    lines = PiLines()
    assert parse(lines.content).session == Skipped(SkipReason.NOT_A_SESSION, SESSION)

    lines.add("hologram")
    assert parse(lines.content).session == Skipped(SkipReason.UNREADABLE_VERSION, SESSION)


def test_too_many_messages_are_refused() -> None:
    with pytest.raises(ParseError, match="max_messages = 1"):
        parse(worked().content, limits=Limits(messages=1))


def test_what_is_no_utf_8_inside_of_arguments_is_replaced() -> None:
    content = worked().content.replace(b'{"command":"ls"}', b'{"command":"l\xff"}')
    (made,) = session(content).messages[1].tool_calls or ()

    assert made.arguments == '{"command":"l\ufffd"}'


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        (PATH, True),
        ("/s/--p--/2026-11-22T15-22-54-736Z_my_task.2.jsonl", True),
        (f"{PATH.removesuffix('.jsonl')}/Scout.jsonl", True),
        (f"{PATH.removesuffix('.jsonl')}/Scout/Reader 2.jsonl", True),
        (f"{PATH.removesuffix('.jsonl')}/__advisor.jsonl", False),
        (f"{PATH.removesuffix('.jsonl')}/notes.md", False),
        (f"/s/--p--/{SESSION}.jsonl", False),
        ("/s/--p--/session-2026-11-22.jsonl", False),
    ],
)
def test_only_files_of_sessions_are_claimed(path: str, claimed: bool) -> None:
    assert PiSessions(limits=Limits()).claims(path) is claimed


def test_a_file_of_any_name_is_known_by_how_it_begins() -> None:
    source = PiSessions(limits=Limits())

    assert source.recognizes("/x/y.txt", worked().content[:4_096])
    assert not source.recognizes("/x/y.txt", json.dumps({"type": "session", "id": "x"}).encode())
    assert not source.recognizes("/x/y.txt", b'{"type":"session_meta","id":"x","cwd":"/p"}')


def test_a_mark_says_where_the_conversation_goes_on() -> None:
    lines = PiLines()
    lines.prompt("Do it")
    kept = lines.answer("Done.")
    lines.prompt("Now tests")
    lines.answer("Here they are.")
    left = lines.at
    mark = lines.add("leaf", targetId=kept)
    assert (len(session(lines).messages), session(lines).taken_back) == (2, (2,))

    lines.at = mark
    lines.prompt("Now docs")
    assert [text for _, text in said(session(lines))] == ["Do it", "Done.", "Now docs"]

    lines.add("leaf", targetId=left)
    assert [text for _, text in said(session(lines))] == ["Do it", "Done.", "Now tests", "Here they are."]
    lines.add("leaf", targetId="nowhere")
    assert len(session(lines).messages) == 4
    lines.add("leaf", targetId=None)
    assert parse(lines.content).session == Skipped(SkipReason.NOT_A_SESSION, SESSION)


def test_what_stands_beside_the_conversation_does_not_move_it() -> None:
    lines = PiLines()
    asked = lines.prompt("Do it")
    lines.add("message", message={"role": "assistant", "content": "aside"}, appendMode="side")
    lines.answer("Done.")
    lines.at = asked
    lines.add("message", message={"role": "assistant", "content": "aside"}, appendMode="side")

    assert said(session(lines)) == [(USER, "Do it"), (ASSISTANT, "Done.")]


@pytest.mark.parametrize("target", [None, "00000001"])
def test_nothing_goes_back_behind_a_reset(target: str | None) -> None:
    lines = PiLines()
    lines.prompt("Do it")
    lines.answer("Done.")
    lines.add("reset", reason="new")
    lines.at = target
    lines.prompt("Something else")
    lines.add("leaf", targetId=target)

    assert [text for _, text in said(session(lines))] == ["Do it", "Done.", "Something else"]
