from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.session import Session, SessionKind, Skipped, SkipReason
from grader_daemon.errors import ParseError
from grader_daemon.sources.hermes.snapshot import UNKNOWN, file_stem, parse, prompt_digest, working_folder
from tests.any_file import session_files
from tests.strategies import SESSION_ID, document, json_answer, json_round, json_user
from tests.timing import is_done_within

PATH = f"/s/sessions/session_{SESSION_ID}.json"
BERLIN = ZoneInfo("Europe/Berlin")
SKILL_REVIEW = "Review the conversation above and update the skill library. Be ACTIVE"
MEMORY_REVIEW = "Review the conversation above and consider saving to memory if appropriate."
TURN = [json_user(), *json_round(), json_answer()]


def read(content: bytes, path: str = PATH, zone: tzinfo | None = UTC) -> Session:
    parsed = parse(content, path, zone=zone)
    assert isinstance(parsed, Session)
    return parsed


def test_a_session_has_what_its_file_says() -> None:
    session = read(document(TURN))
    assert (session.session_id, session.model, session.platform, session.format) == (SESSION_ID, "m", "cli", "hermes")
    assert [message.role for message in session.messages] == ["user", "assistant", "tool", "assistant"]
    assert session.messages[1].tool_calls is not None
    assert session.messages[1].tool_calls[0].tool == "terminal"
    assert session.messages[3].finish_reason == "stop"


HOME_LINE = "Host: Linux\nUser home directory: /home/me\n"


@pytest.mark.parametrize(
    ("prompt", "project"),
    [
        pytest.param(HOME_LINE + "Current working directory: /home/me/work\n\nYou are", "/home/me/work", id="a-line"),
        pytest.param(HOME_LINE + "Current working directory: /home/me/wörk", "/home/me/wörk", id="the-last-line"),
        pytest.param("Current working directory: /elsewhere\n", None, id="a-line-of-another-text"),
        pytest.param(HOME_LINE + 'Current working directory: /home/"me"\n', None, id="a-name-that-JSON-escapes"),
        pytest.param(HOME_LINE + f"Current working directory: /{'x' * 256}\n", None, id="longer-than-any-name-kept"),
        pytest.param(HOME_LINE, None, id="no-such-line"),
        pytest.param(None, None, id="no-prompt"),
        pytest.param(["Current working directory: /x"], None, id="no-text"),
    ],
)
def test_the_folder_of_the_work_is_a_line_of_the_prompt(prompt: object, project: str | None) -> None:
    content = document(TURN, system_prompt=prompt).replace(b"\\u00f6", "ö".encode())
    assert read(content).project == project


@pytest.mark.no_cover
@pytest.mark.no_cover
def test_a_prompt_of_nothing_but_such_lines_takes_linear_time() -> None:
    content = document(TURN, system_prompt="User home directory: " * 500_000 + HOME_LINE * 200_000)

    assert is_done_within(3, lambda: read(content))
    assert read(content).project is None


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"base_url": None, "system_prompt": None, "tools": None}, id="first-generation-with-messages"),
        pytest.param({"message_count": None}, id="saved-without-a-count"),
        pytest.param({"model": None, "platform": None, "session_start": None, "last_updated": None}, id="bare"),
        pytest.param({"model_config": {"a": 1}, "_internal": [1]}, id="unknown-keys"),
        pytest.param({"message_count": 99}, id="wrong-count"),
    ],
)
def test_every_generation_with_messages_is_read(fields: dict[str, Any]) -> None:
    assert len(read(document(TURN, **fields)).messages) == 4


def test_the_oldest_generation_has_conversations() -> None:
    content = document(
        messages=(), conversations=[{"from": "human", "value": "Fix"}, {"from": "gpt", "value": "Done."}]
    ).replace(b'"messages": []', b'"x": []')
    assert [(message.role, message.text) for message in read(content).messages] == [
        ("user", "Fix"),
        ("assistant", "Done."),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("Fix", "Fix", id="text"),
        pytest.param([{"type": "text", "text": "Fix"}], "Fix", id="part"),
        pytest.param(
            [{"type": "text", "text": "Fix"}, {"type": "image_url", "image_url": {"url": "data:"}},
             {"type": "text", "text": "this"}],
            "Fix\n\nthis",
            id="parts-with-an-image",
        ),
        pytest.param([{"type": "image_url", "image_url": {"url": "data:"}}], "", id="image-only"),
        pytest.param(["Fix", "this"], "Fix\nthis", id="texts"),
        pytest.param([], "", id="no-parts"),
        pytest.param(None, "", id="null"),
        pytest.param({"type": "text", "text": "Fix"}, "Fix", id="one-part"),
        pytest.param(7, "7", id="number"),
    ],
)  # fmt: skip
def test_the_text_of_a_message(content: object, text: str) -> None:
    assert read(document([json_user(content)])).messages[0].text == text


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"role": "user"}, id="no-content"),
        pytest.param({"content": "x"}, id="no-role"),
        pytest.param({"role": "assistant", "tool_calls": None}, id="tool-calls-null"),
        pytest.param({"role": "assistant", "tool_calls": []}, id="no-tool-calls"),
        pytest.param({"role": "assistant", "tool_calls": [{}]}, id="empty-tool-call"),
        pytest.param({"role": "assistant", "tool_calls": [{"id": "a", "function": {}}]}, id="empty-function"),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"function": {"name": "t", "arguments": {"a": 1}}}]},
            id="arguments-as-object",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"function": {"name": "t", "arguments": "{broken"}}]},
            id="broken-arguments",
        ),
        pytest.param({"role": "tool", "content": "x"}, id="tool-without-name"),
        pytest.param({"role": "system", "content": "x", "timestamp": 1.5, "_db_persisted": True}, id="other-keys"),
    ],
)
def test_missing_and_unknown_keys_of_a_message_are_accepted(message: dict[str, Any]) -> None:
    assert len(read(document([message])).messages) == 1


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"{}", id="empty-object"),
        pytest.param(b'{"session_id": "a"}', id="no-messages"),
        pytest.param(b'{"session_id": "a", "messages": null}', id="messages-null"),
        pytest.param(b'{"a": {"messages": []}}', id="messages-elsewhere"),
    ],
)
def test_an_object_without_messages_is_not_a_session(content: bytes) -> None:
    parsed = parse(content, PATH)
    assert isinstance(parsed, Skipped)
    assert parsed.reason is SkipReason.NOT_A_SESSION


@pytest.mark.parametrize(
    ("content", "path", "session_id"),
    [
        pytest.param(document(TURN), PATH, SESSION_ID, id="id-in-the-file"),
        pytest.param(document(TURN, session_id=None), "/s/session_abc-1.json", "abc-1", id="id-of-the-name"),
        pytest.param(document(TURN, session_id=""), "/s/session_abc-1.json", "abc-1", id="empty-id"),
    ],
)
def test_an_id_that_is_missing_is_taken_from_the_name(content: bytes, path: str, session_id: str) -> None:
    session = read(content, path)
    assert (session.session_id, session.named_after_id) == (session_id, True)


def test_without_an_id_in_file_or_name_it_is_not_a_session() -> None:
    parsed = parse(document(TURN, session_id=None), "/tmp/given-by-hand.json")
    assert isinstance(parsed, Skipped)


@pytest.mark.parametrize(
    ("messages", "fork"),
    [
        pytest.param([*TURN, json_user(SKILL_REVIEW), json_answer("Nothing to save.")], True, id="skill-review"),
        pytest.param([*TURN, json_user(MEMORY_REVIEW), json_answer("Nothing to save.")], True, id="memory-review"),
        pytest.param([*TURN, json_user(MEMORY_REVIEW)], True, id="review-that-is-not-answered"),
        pytest.param([json_user(SKILL_REVIEW), json_answer()], False, id="a-person-asks-so-first"),
        pytest.param([*TURN, json_user("Please review the conversation above")], False, id="similar-words"),
        pytest.param([json_user(), json_answer(SKILL_REVIEW)], False, id="said-by-the-agent"),
        pytest.param(TURN, False, id="no-review"),
    ],
)
def test_background_reviews_are_forks(messages: list[dict[str, Any]], fork: bool) -> None:
    parsed = parse(document(messages), "/s/sessions/session_20261121_220009_ffffff.json")
    assert isinstance(parsed, Skipped) is fork
    if isinstance(parsed, Skipped):
        assert (parsed.reason, parsed.session_id) == (SkipReason.REVIEW_FORK, SESSION_ID)


@pytest.mark.parametrize(
    ("session_id", "stem"),
    [
        pytest.param("20261121_214524_8b74e7", "20261121_214524_8b74e7", id="safe"),
        pytest.param("api-0123_x", "api-0123_x", id="with-a-hyphen"),
        pytest.param("a/b:c", "a_b_c_" + hashlib.sha256(b"a/b:c").hexdigest()[:12], id="unsafe-characters"),
        pytest.param("../../x", "______x_" + hashlib.sha256(b"../../x").hexdigest()[:12], id="a-path"),
        pytest.param("x" * 96, "x" * 96, id="just-short-enough"),
        pytest.param("x" * 97, "x" * 96 + "_" + hashlib.sha256(b"x" * 97).hexdigest()[:12], id="too-long"),
        pytest.param("漢字", "漢字", id="letters-of-any-script"),
    ],
)
def test_the_file_stem_of_an_id(session_id: str, stem: str) -> None:
    assert file_stem(session_id) == stem


@pytest.mark.parametrize(
    ("session_id", "stem", "named"),
    [
        pytest.param("a", "a", True, id="as-it-is"),
        pytest.param("a:b", "a_b_" + hashlib.sha256(b"a:b").hexdigest()[:12], True, id="sanitised"),
        pytest.param("a:b", "a_b", False, id="sanitised-otherwise"),
        pytest.param("a", "b", False, id="another-name"),
    ],
)
def test_a_file_is_named_after_its_id_or_not(session_id: str, stem: str, named: bool) -> None:
    assert read(document(TURN, session_id=session_id), f"/s/session_{stem}.json").named_after_id is named


@pytest.mark.parametrize(
    ("stamp", "zone", "moment"),
    [
        pytest.param("2026-11-21T21:45:24.5", BERLIN, datetime(2026, 11, 21, 20, 45, 24, 500_000, UTC), id="winter"),
        pytest.param("2026-07-21T21:45:24", BERLIN, datetime(2026, 7, 21, 19, 45, 24, tzinfo=UTC), id="summer"),
        pytest.param("2026-11-21T21:45:24Z", BERLIN, datetime(2026, 11, 21, 21, 45, 24, tzinfo=UTC), id="utc"),
        pytest.param("2026-11-21T21:45:24-05:00", BERLIN, datetime(2026, 11, 22, 2, 45, 24, tzinfo=UTC), id="offset"),
        pytest.param("2026-11-21", UTC, datetime(2026, 11, 21, tzinfo=UTC), id="date"),
        pytest.param("yesterday", UTC, None, id="no-time"),
        pytest.param("", UTC, None, id="empty"),
        pytest.param(1_763_761_524.5, UTC, None, id="number"),
        pytest.param("0001-01-01T00:00:00", ZoneInfo("Asia/Tokyo"), None, id="before-the-calendar"),
        pytest.param("9999-12-31T23:59:59-23:00", UTC, None, id="after-the-calendar"),
    ],
)
def test_times_are_utc(stamp: object, zone: tzinfo, moment: datetime | None) -> None:
    session = read(document(TURN, session_start=stamp, last_updated=stamp), zone=zone)
    assert (session.started_at, session.updated_at) == (moment, moment)


def test_without_a_zone_times_are_the_machines() -> None:
    session = read(document(TURN, session_start="2026-11-21T21:45:24"), zone=None)
    assert session.started_at == datetime(2026, 11, 21, 21, 45, 24).astimezone(UTC)


@given(st.datetimes())
def test_any_time_that_is_written_is_read_or_unknown(moment: datetime) -> None:
    session = read(document(TURN, session_start=moment.isoformat()))
    assert session.started_at == moment.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "same"),
    [
        pytest.param({}, True, id="same-start-and-request"),
        pytest.param({"session_id": "other", "last_updated": "2026-11-21T23:00:00.5"}, True, id="later-link"),
        pytest.param({"session_start": "2026-11-21T21:55:00.123457"}, False, id="a-microsecond-later"),
        pytest.param({"session_start": "2026-11-21T21:55:00"}, False, id="without-microseconds"),
        pytest.param({"session_start": None}, False, id="without-a-start"),
        pytest.param({"messages": [json_user("Deploy")]}, False, id="another-request"),
    ],
)
def test_links_of_a_chain_share_their_lineage(fields: dict[str, Any], same: bool) -> None:
    first = read(document(TURN))
    other = read(document(**{"messages": TURN} | fields))

    assert first.lineage is not None
    assert ((other.lineage, other.opening) == (first.lineage, first.opening)) is same


@pytest.mark.parametrize(
    ("stamp", "messages"),
    [
        pytest.param("2026-11-21T21:55:00", TURN, id="start-in-whole-seconds"),
        pytest.param("2026-11-21T21:55:00.1", [], id="no-messages"),
    ],
)
def test_what_may_coincide_has_no_lineage(stamp: str, messages: list[dict[str, Any]]) -> None:
    assert read(document(messages, session_start=stamp)).lineage is None


@pytest.mark.parametrize(
    ("call_id", "known"),
    [
        pytest.param("call_4c637ca0beac", True, id="random"),
        pytest.param("toolu_01A09q90qw90lq917835lq9", True, id="random-of-another-provider"),
        pytest.param("call_1", False, id="counted"),
        pytest.param("functions.terminal:12", False, id="counted-with-the-tool"),
        pytest.param("", False, id="empty"),
    ],
)
def test_random_call_ids_identify_a_conversation(call_id: str, known: bool) -> None:
    messages = [json_user(), *json_round(call_id=call_id), json_answer()]
    assert (read(document(messages)).conversation is not None) is known


@pytest.mark.parametrize(
    ("messages", "same"),
    [
        pytest.param([json_user(), *json_round(call_id="call_4c637ca0beac"), json_answer()], True, id="copy"),
        pytest.param([json_user(), *json_round(call_id="call_4c637ca0bead"), json_answer()], False, id="other-call"),
        pytest.param([json_user(), *json_round(call_id="call_4c637ca0beac")], False, id="shorter"),
        pytest.param([json_user(), *json_round(call_id="call_4c637ca0beac"), json_answer("No")], False, id="other-end"),
    ],
)
def test_copies_share_their_conversation(messages: list[dict[str, Any]], same: bool) -> None:
    original = read(document([json_user(), *json_round(call_id="call_4c637ca0beac"), json_answer()]))
    copy = read(document(messages, session_id="other", session_start="2026-11-22T00:00:00.5"))
    assert (copy.conversation == original.conversation) is same


@pytest.mark.parametrize(
    ("message", "compacted"),
    [
        pytest.param(json_user("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier"), True, id="user"),
        pytest.param(json_answer("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier"), True, id="assistant"),
        pytest.param({"role": "tool", "content": "[CONTEXT COMPACTION — REFERENCE"}, False, id="read-by-a-tool"),
        pytest.param(json_user("What is [CONTEXT COMPACTION?"), False, id="quoted"),
    ],
)
def test_a_compaction_is_noticed(message: dict[str, Any], compacted: bool) -> None:
    assert read(document([json_user(), message])).compacted is compacted


# -- what it says beside the conversation ------------------------------------------------------------------------------


def session_of(**fields: Any) -> Session:
    return read(document(TURN, **fields))


def test_what_the_model_was_told_and_offered_is_known_by_a_digest() -> None:
    one, same = session_of(system_prompt="Be kind.", tools=[{"a": 1}]), session_of(system_prompt="Be kind.", model="n")
    other = session_of(system_prompt="Be brief.", tools=[{"a": 1}])

    assert one.system_prompt_digest == xxhash.xxh3_64_hexdigest(b'"Be kind."')
    assert one.system_prompt_digest == same.system_prompt_digest != other.system_prompt_digest
    assert one.tools_digest == other.tools_digest != same.tools_digest


_RULE = "═" * 46
_PROMPT = (
    "Be kind.\n\nHost: Linux (6.18.44)\nUser home directory: /home/t\nCurrent working directory: /home/t/work\n\n"
    "You are a CLI AI Agent.\n\nConversation started: Saturday, November 21, 2026 10:08 PM\nModel: m"
)
_MEMORY = f"{_RULE}\nMEMORY (your personal notes) [1% — 25/2,200 chars]\n{_RULE}\nLikes short answers.\n\nAnd tea."


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        pytest.param("Saturday, November 21", "Tuesday, December 1", id="date"),
        pytest.param("10:08 PM", "9:15 AM", id="time"),
        pytest.param("Model: m", "Session ID: 20261121_a\nModel: n\nProvider: custom", id="session-and-model"),
        pytest.param("/home/t/work", "/srv/other", id="folder"),
        pytest.param("6.18.44", "6.19.2", id="version-of-the-machine"),
        pytest.param("Conversation started", f"{_MEMORY}\n\nConversation started", id="memory"),
        pytest.param("You are a CLI", f"{_MEMORY}\n\n## Skills\n\nYou are a CLI", id="memory-before-skills"),
    ],
)
def test_what_changes_by_itself_is_no_edit_of_the_prompt(was: str, becomes: str) -> None:
    edited = _PROMPT.replace("You are a CLI", "## Skills\n\nYou are a CLI") if "## Skills" in becomes else _PROMPT
    changed = _PROMPT.replace(was, becomes)

    one, other = (session_of(system_prompt=prompt) for prompt in (changed, edited))

    assert changed != edited
    assert one.system_prompt_digest == other.system_prompt_digest


@pytest.mark.parametrize(("was", "becomes"), [("kind", "brief"), ("CLI AI Agent.", "CLI AI Agent. Test it.")])
def test_an_edit_of_the_prompt_is_seen(was: str, becomes: str) -> None:
    edited = session_of(system_prompt=_PROMPT.replace(was, becomes))

    assert edited.system_prompt_digest != session_of(system_prompt=_PROMPT).system_prompt_digest


@pytest.mark.parametrize("given", [pytest.param(b"null", id="null"), pytest.param(None, id="missing")])
def test_what_a_file_does_not_say_has_no_digest(given: bytes | None) -> None:
    keys = b"" if given is None else b'"system_prompt": ' + given + b', "tools": ' + given + b", "
    session = parse(b"{" + keys + b'"session_id": "a", "messages": []}', PATH)

    assert isinstance(session, Session)
    assert (session.system_prompt_digest, session.tools_digest) == (None, None)


@pytest.mark.parametrize(
    ("platform", "kind"),
    [
        pytest.param("cron", SessionKind.CRON, id="timer"),
        pytest.param("subagent", SessionKind.SUB_AGENT, id="sub-agent"),
        pytest.param("cli", None, id="a-person-or-a-sub-agent-of-0.13"),
        pytest.param(None, None, id="nothing-said"),
    ],
)
def test_the_kind_of_a_session_is_told_by_its_platform(platform: str | None, kind: SessionKind | None) -> None:
    session = session_of(platform=platform)

    assert (session.kind, session.agent) == (kind, "hermes")


@pytest.mark.parametrize(
    ("session_id", "schedule", "kind"),
    [
        pytest.param("cron_a1b2_20261121_030000", "a1b2", SessionKind.CRON, id="a-run-of-a-timer"),
        pytest.param("cron_my_job_20261121_030000", "my_job", SessionKind.CRON, id="an-id-of-several-words"),
        pytest.param("cron_notes", None, None, id="another-name"),
        pytest.param("20261121_030000_abc", None, None, id="of-a-person"),
    ],
)
def test_the_schedule_of_a_run_stands_in_its_id(
    session_id: str, schedule: str | None, kind: SessionKind | None
) -> None:
    session = session_of(session_id=session_id, platform=None)

    assert (session.schedule, session.kind) == (schedule, kind)


@given(content=session_files())
def test_what_no_snapshot_says_is_never_said(content: bytes) -> None:
    empty = Session(session_id="", file="", format="", messages=())
    try:
        session = parse(content, PATH, zone=UTC)
    except ParseError:
        return

    assert set(Session.__struct_fields__) >= UNKNOWN
    if isinstance(session, Session):
        assert {name: getattr(session, name) for name in UNKNOWN} == {name: getattr(empty, name) for name in UNKNOWN}


def test_a_system_prompt_that_is_no_text_takes_no_longer() -> None:
    hostile = json.dumps({"a": "\nConversation started: x" * 20_000}).encode()

    assert is_done_within(0.5, lambda: prompt_digest(hostile))


def test_a_system_prompt_names_the_folder_to_work_in() -> None:
    told = "User home directory: /home/timmy\nCurrent working directory: /home/timmy/work\nMore"
    assert [working_folder(told), working_folder("none"), working_folder(None)] == ["/home/timmy/work", None, None]
