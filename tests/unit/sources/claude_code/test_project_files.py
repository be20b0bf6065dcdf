from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, SessionKind, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ParseError, VanishedFileError
from grader_daemon.sources.claude_code.entries import KINDS, kind_of
from grader_daemon.sources.claude_code.project_files import ClaudeCode
from grader_daemon.sources.protocol import UnknownKinds
from tests.transcripts import SESSION, Transcript, call, parse


def source(*roots: Path) -> ClaudeCode:
    """Return the source below roots."""
    return ClaudeCode([str(root) for root in roots], limits=Limits())


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        pytest.param(f"/p/{SESSION}.jsonl", True, id="session"),
        pytest.param("/p/agent-3aa66fd0.jsonl", True, id="sub-agent-beside-it"),
        pytest.param(f"/p/{SESSION}/subagents/agent-acf762008072d05ec.jsonl", True, id="sub-agent-in-its-folder"),
        pytest.param(f"/p/{SESSION}/subagents/agent-acf762008072d05ec.meta.json", False, id="its-meta"),
        pytest.param(f"/p/{SESSION}/tool-results/bm3raf48r.txt", False, id="large-output"),
        pytest.param("/p/memory/MEMORY.md", False, id="memory"),
        pytest.param("/history.jsonl", False, id="history-of-prompts"),
        pytest.param(f"/p/{SESSION}.jsonl.bak", False, id="a-copy"),
    ],
)
def test_transcripts_are_claimed_by_their_names(path: str, claimed: bool) -> None:
    assert source().claims(path) is claimed


def test_a_transcript_of_any_name_is_recognized_by_its_content() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    assert source().recognizes("/x/copy.jsonl", transcript.content)
    assert source().recognizes("/x/copy.jsonl", b'{"type":"queue-operation","operation":"enqueue"}\n')
    assert not source().recognizes("/x/copy.jsonl", b'{"timestamp":"","type":"session_meta","payload":{}}\n')
    assert not source().recognizes("/x/copy.txt", transcript.content)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            b'{"uuid":"a1","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"x"}]}}',
            id="qwen-code",
        ),
        pytest.param(b'{"sessionId":"s","projectHash":"f0","kind":"subagent"}', id="a-sub-agent-of-gemini"),
        pytest.param(b'{"type":"session","id":"s"}', id="an-agent-that-is-not-known"),
    ],
)
def test_lines_of_another_agent_are_not_taken_for_ours_by_the_name_of_their_file(line: bytes) -> None:
    assert not ClaudeCode(limits=Limits()).recognizes("/q/11111111-2222-4333-8444-555555555556.jsonl", line)


def test_a_session_says_what_its_lines_say() -> None:
    transcript = Transcript(entrypoint="sdk-cli", version="2.1.330", cwd="/work/one")
    transcript.prompt("hello")
    transcript.answer("hi")
    session = transcript.session()
    assert (session.session_id, session.kind, session.parent) == (SESSION, SessionKind.MAIN, None)
    assert (session.agent, session.agent_version, session.platform) == ("claude-code", "2.1.330", "sdk-cli")
    assert (session.project, session.named_after_id) == ("/work/one", True)


def test_a_file_of_another_name_has_the_id_in_its_lines() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    session = transcript.session("/x/copy.jsonl")
    assert (session.session_id, session.named_after_id) == (SESSION, False)


@pytest.mark.parametrize("name", [f"/p/{SESSION}/subagents/agent-acf762.jsonl", "/p/agent-3aa66fd0.jsonl"])
def test_a_file_of_a_sub_agent_belongs_to_the_session_that_had_it_begun(name: str) -> None:
    transcript = Transcript(isSidechain=True)
    transcript.answer(call("a"), stop="tool_use")
    transcript.result("a", "x")
    session = transcript.session(name)
    assert session.session_id == Path(name).stem
    assert (session.kind, session.parent) == (SessionKind.SUB_AGENT, SESSION)


def test_a_call_of_the_program_itself_is_no_session() -> None:
    """2.0.50 leaves two such files for each run, with a title in them."""
    transcript = Transcript(isSidechain=True)
    transcript.answer('{"title": "A title"}')
    assert transcript.skipped("/p/agent-3aa66fd0.jsonl").reason is SkipReason.SIDE_CALL


def test_a_file_of_a_compaction_is_passed_over_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "agent-acompact-3aa66fd0.jsonl"
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.write(path)
    claude = source(tmp_path)
    read = claude.read(claude.look(Unit("claude-code", str(path))))
    assert (read.digest, read.session) == (None, Skipped(SkipReason.SIDE_CALL))


def side_chains() -> Transcript:
    """Return a session of 1.0.128 with two side chains in its file."""
    transcript = Transcript(version="1.0.128")
    transcript.prompt("delegate")
    transcript.answer(call("t1", "Task"), call("t2", "Task"), stop="tool_use")
    for chain in ("one", "two"):
        transcript.prompt(f"child {chain}", isSidechain=True, parentUuid=None, uuid=chain)
    transcript.add(type="assistant", isSidechain=True, parentUuid="one", uuid="one-answer", message={"content": "1"})
    transcript.add(type="assistant", isSidechain=True, parentUuid="two", uuid="two-answer", message={"content": "2"})
    transcript.result("t1", "1")
    transcript.result("t2", "2")
    transcript.answer("Both are done.")
    return transcript


def test_side_chains_in_a_file_are_units_of_their_own() -> None:
    parsed = side_chains().parse()
    assert [unit.key for unit in parsed.inside] == ["one", "two"]
    assert isinstance(parsed.session, Session)
    assert [message.text for message in parsed.session.messages] == ["delegate", "", "1", "2", "Both are done."]
    child = side_chains().session(key="two")
    assert [message.text for message in child.messages] == ["child two", "2"]
    assert (child.session_id, child.kind, child.parent) == ("two", SessionKind.SUB_AGENT, SESSION)


def test_a_side_chain_that_is_not_there_is_gone() -> None:
    with pytest.raises(VanishedFileError):
        side_chains().session(key="three")


def test_a_line_of_a_side_chain_without_its_parent_belongs_to_the_newest() -> None:
    transcript = side_chains()
    transcript.prompt("lost", isSidechain=True, parentUuid="not-there")
    assert transcript.session(key="two").messages[-1].text == "lost"


def test_arguments_that_are_no_utf_8_are_read_with_marks_in_their_place() -> None:
    transcript = Transcript()
    transcript.prompt("Do it")
    transcript.answer(call("a", "Bash", command="ls"), stop="tool_use")
    content = transcript.content.replace(b'"ls"', b'"l\xff"')
    session = ClaudeCode(limits=Limits()).parse(content, Unit("claude-code", f"/p/{SESSION}.jsonl")).session

    assert isinstance(session, Session)
    (made,) = session.messages[1].tool_calls or ()
    assert "l\ufffd" in str(made.arguments)


def test_bookkeeping_alone_is_no_session() -> None:
    transcript = Transcript()
    transcript.note(type="summary", summary="A title", leafUuid="x")
    assert transcript.skipped().reason is SkipReason.NOT_A_SESSION


def test_kinds_of_lines_that_are_not_known_are_told_with_the_version() -> None:
    transcript = Transcript(version="2.3.0")
    transcript.prompt("hello")
    transcript.note(type="hologram", message={"role": "user", "content": "hello"})
    parsed = transcript.parse()
    assert isinstance(parsed.session, Session)
    assert len(parsed.session.messages) == 1
    assert parsed.unknown == UnknownKinds("2.3.0", ("hologram",))


def test_a_version_of_which_no_line_can_be_read_is_told_and_never_an_empty_session() -> None:
    transcript = Transcript(version="3.0.0")
    transcript.add(type="turn", message={"role": "user", "content": "hello"})
    parsed = transcript.parse()
    assert parsed.session == Skipped(SkipReason.UNREADABLE_VERSION)
    assert parsed.unknown == UnknownKinds("3.0.0", ("turn",))


def test_lines_with_the_words_of_others_are_not_taken_for_them() -> None:
    """A dump of requests repeats each message, and an attachment can say anything."""
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.note(type="api-request-blob", sessionId="s", message={"role": "user", "content": "hello"})
    transcript.add(attachment={"type": "file", "content": '"type":"user","message":{'}, type="attachment")
    parsed = transcript.parse()
    assert isinstance(parsed.session, Session)
    assert (len(parsed.session.messages), parsed.unknown) == (1, None)


def test_ids_without_end_name_nothing() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.prompt("x", isSidechain=True, parentUuid=None, uuid="x" * 10_000)
    parsed = transcript.parse()
    assert parsed.inside == ()
    assert parsed.unknown == UnknownKinds("2.1.330", ("user",))


def test_more_messages_than_are_allowed_are_told() -> None:
    transcript = Transcript()
    for number in range(3):
        transcript.prompt(f"prompt {number}")
    claude = ClaudeCode(limits=Limits(messages=2))
    with pytest.raises(ParseError, match="3 messages are more than max_messages = 2"):
        claude.parse(transcript.content, Unit("claude-code", f"/p/{SESSION}.jsonl"))


def test_work_that_is_taken_back_again_and_again_is_bounded() -> None:
    """Seconds if each time all were looked through."""
    transcript = Transcript()
    for number in range(4_000):
        transcript.answer(call(f"c{number}"), answer=f"a{number}")
    before = transcript.lines[-1]["uuid"]
    for number in range(4_000):
        transcript.prompt(f"try {number}", parentUuid=before)
        transcript.answer(f"answer {number}")
    session = transcript.session()
    assert (len(session.messages), len(session.taken_back)) == (4_002, 3_999)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        pytest.param(b'{"type":"mode","mode":"normal"}', "mode", id="first"),
        pytest.param(b'{"parentUuid":null,"isSidechain":false,"type":"user","message":{}}', "user", id="after-others"),
        pytest.param(b'{"parentUuid":"a","isSidechain":false,"message":{},"type":"assistant"}', "assistant", id="last"),
        pytest.param(b'{"cwd":"C:\\\\x","type":"user"}', "user", id="after-an-escape"),
        pytest.param(b'{"attachment":{"type":"file"},"type":"attachment"}', "attachment", id="attachment"),
        pytest.param(
            b'{"a":"\\n","attachment":{"x":1,"type":"queued_command"},"type":"attachment"}',
            "attachment/queued_command",
            id="attachment-that-is-read",
        ),
    ],
)
def test_the_kind_of_a_line_is_found_wherever_it_stands(line: bytes, kind: str) -> None:
    assert kind_of(line) == kind
    assert kind in KINDS


@given(st.data())
def test_any_content_is_a_session_or_a_reason(data: st.DataObject) -> None:
    content = bytearray(side_chains().content)
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=20)):
        content[place] = data.draw(st.integers(0, 255))
    try:
        session = parse(bytes(content)[: data.draw(st.integers(0, len(content)))]).session
    except ParseError:
        return
    assert isinstance(session, Session | Skipped)
