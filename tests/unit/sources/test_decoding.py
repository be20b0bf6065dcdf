from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Part, Session, Skipped, SkipReason
from grader_daemon.errors import ParseError, UnfinishedFileError
from grader_daemon.sources.decoding import (
    Text,
    decoded_or,
    fresh_tokens,
    moment_of,
    name_of,
    text_in,
    token_count,
    utc,
    utc_in,
)
from grader_daemon.sources.hermes.snapshot import claims, companion, parse
from tests.hostile import CUT_AT, Kind, cuts
from tests.strategies import SESSION_ID, document, file_contents, json_answer, json_round, json_user
from tests.tables import for_each
from tests.timing import is_done_within

PATH = f"/s/sessions/session_{SESSION_ID}.json"
WHOLE = document([json_user(), *json_round(), json_answer("Größe 漢字 is done.")])


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(PATH, id="session"),
        pytest.param("session_1.json", id="session-without-folder"),
        pytest.param("/a/b/session_api-0123456789abcdef.json", id="in-any-folder"),
        pytest.param("/s/sessions/request_dump_a_b.json", id="request-dump"),
        pytest.param("/s/sessions/sessions.json", id="session-index"),
        pytest.param("/s/sessions/abc.jsonl", id="gateway-transcript"),
        pytest.param("/s/sessions/saved/hermes_conversation_1.json", id="saved-conversation"),
    ],
)
def test_files_of_the_agent_are_recognised(path: str) -> None:
    assert claims(path)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/s/sessions/.session_a_12345678.tmp", id="temporary-session"),
        pytest.param("/s/sessions/.session_a.json.tmp", id="temporary-with-json-inside"),
        pytest.param("/s/sessions/.sessions_a.tmp", id="temporary-index"),
        pytest.param("/s/gateway_state.json", id="gateway-state"),
        pytest.param("/s/auth.json", id="secrets"),
        pytest.param("/s/state.db", id="database"),
        pytest.param("/s/sessions.json", id="index-outside-of-the-folder"),
        pytest.param("/s/logs/x.jsonl", id="lines-outside-of-the-folder"),
        pytest.param("/s/session_a.json.bak", id="backup"),
        pytest.param("/s/session_a.txt", id="another-ending"),
        pytest.param("/s/mysession_a.json", id="another-beginning"),
        pytest.param("/s/uniwizard/session_grades.db", id="our-own-database"),
        pytest.param("", id="no-name"),
    ],
)
def test_other_files_are_none_of_our_business(path: str) -> None:
    assert (claims(path), companion(path)) == (False, None)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("/s/sessions/request_dump_a_b.json", SkipReason.REQUEST_DUMP, id="request-dump"),
        pytest.param("/s/sessions/sessions.json", SkipReason.SESSION_INDEX, id="session-index"),
        pytest.param("/s/sessions/20261121_215204_35b00871.jsonl", SkipReason.GATEWAY_TRANSCRIPT, id="transcript"),
        pytest.param("/s/saved/hermes_conversation_1.json", SkipReason.SAVED_COPY, id="saved-conversation"),
        pytest.param(PATH, None, id="session"),
    ],
)
def test_the_name_tells_what_is_no_session(path: str, reason: SkipReason | None) -> None:
    assert companion(path) is reason


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b" \n\t", id="blank"),
        pytest.param(WHOLE[:1], id="truncated-after-a-byte"),
        pytest.param(WHOLE[: len(WHOLE) // 2], id="truncated-in-the-middle"),
        pytest.param(WHOLE[:-1], id="truncated-before-the-last-brace"),
        pytest.param(b'{"session_id": "\xe6\xbc', id="truncated-in-a-character"),
        pytest.param(b"\0" * 4096, id="nul-bytes"),
        pytest.param(WHOLE + b"\0\0", id="nul-bytes-at-the-end"),
        pytest.param(b'{"session_id": "a\0b", "messages": []}', id="raw-nul-in-a-text"),
        pytest.param(WHOLE + WHOLE[-40:], id="the-rest-of-a-longer-file"),
        pytest.param(WHOLE + b"\n" + WHOLE[-40:], id="the-rest-of-a-longer-file-in-a-line-of-its-own"),
    ],
)
def test_what_a_write_in_progress_explains_is_unfinished(content: bytes) -> None:
    with pytest.raises(UnfinishedFileError):
        parse(content, PATH)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b'{"session_id": "\xff", "messages": []}', "not UTF-8 at byte 16", id="invalid-utf-8"),
        pytest.param(b"[]", "array", id="list-at-the-top"),
        pytest.param(b'[{"role": "user"}]', "array", id="messages-at-the-top"),
        pytest.param(b"12", "int", id="number-at-the-top"),
        pytest.param(b'"a"', "str", id="text-at-the-top"),
        pytest.param(b"null", "null", id="null-at-the-top"),
        pytest.param(
            b'{"a": 1}\r\n{"a": 2}\n', "not a session of a known agent: several JSON obj", id="objects-in-lines"
        ),
        pytest.param(b"Dear diary", "not JSON", id="prose"),
        pytest.param(b"<html></html>", "not JSON", id="html"),
        pytest.param(b'{"session_id": 5, "messages": []}', "session_id", id="id-is-a-number"),
        pytest.param(b'{"session_id": "a", "messages": {}}', "messages", id="messages-are-an-object"),
        pytest.param(b'{"session_id": "a", "messages": ["x"]}', "messages", id="a-message-is-text"),
        pytest.param(b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply", id="deep-unknown-value"),
        pytest.param(b"[" * 100_000, "", id="deep-list-never-closed"),
        pytest.param(
            b'{"session_id": "a", "messages": [{"role": "x", "tool_calls": [{"function": {"arguments": '
            + b'{"a":' * 100_000
            + b"1"
            + b"}" * 100_000
            + b"}}]}]}",
            "nested too deeply",
            id="deep-arguments",
        ),
    ],
)
def test_what_will_not_become_a_session_is_told_in_one_line(content: bytes, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(content, PATH)
    assert not isinstance(caught.value, UnfinishedFileError)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\\ud83d", id="at-the-end-of-a-text"),
        pytest.param("\\ud83d and more", id="before-other-text"),
        pytest.param("\\udc00 alone", id="second-half"),
        pytest.param("\\ud83d\\ud83d", id="first-half-twice"),
    ],
)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param('{{"session_id": "a", "messages": [{{"role": "user", "content": "{0}"}}]}}', id="in-a-message"),
        pytest.param('{{"session_id": "a", "other": "{0}", "messages": []}}', id="in-a-value-that-is-skipped"),
    ],
)
def test_half_of_a_surrogate_pair_stands_as_a_question_mark(shape: str, text: str) -> None:
    session = parse(shape.format(text).encode(), PATH)

    assert isinstance(session, Session)
    assert {message.text for message in session.messages} <= {re.sub(r"\\ud[8c][03][0d]", "?", text)}


def test_a_surrogate_pair_is_a_character() -> None:
    session = parse(b'{"session_id": "a", "messages": [{"role": "user", "content": "\\ud83c\\udf89"}]}', PATH)
    assert isinstance(session, Session)
    assert session.messages[0].text == "🎉"


def test_a_number_that_is_none_is_a_parse_error() -> None:
    with pytest.raises(ParseError):
        parse(b'{"session_id": "a", "messages": [], "x": NaN}', PATH)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"session_id": "a", "session_id": "b", "messages": []}', id="id"),
        pytest.param(b'{"session_id": "b", "messages": [{"role": "user"}], "messages": []}', id="messages"),
        pytest.param(
            b'{"session_id": "b", "messages": [{"role": "user", "role": "tool", "content": "x", "content": "y"}]}',
            id="keys-of-a-message",
        ),
    ],
)
def test_of_duplicate_keys_the_last_wins_as_in_the_json_module(content: bytes) -> None:
    session = parse(content, PATH)
    expected = json.loads(content)
    assert isinstance(session, Session)
    assert session.session_id == expected["session_id"]
    assert [(message.role, message.content) for message in session.messages] == [
        (message["role"], message["content"]) for message in expected["messages"]
    ]


def test_an_unclaimed_name_is_read_all_the_same() -> None:
    session = parse(WHOLE, "/tmp/given-by-hand.json")
    assert isinstance(session, Session)
    assert session.session_id == SESSION_ID


@given(content=file_contents, path=st.sampled_from([PATH, "/x/other.json", "session_.json"]))
def test_any_bytes_give_a_session_or_a_reason_or_a_parse_error(content: bytes, path: str) -> None:
    parsed: object
    try:
        parsed = parse(content, path)
    except ParseError as error:
        parsed = error
    assert isinstance(parsed, Session | Skipped | ParseError)
    assert "\n" not in str(parsed) or not isinstance(parsed, ParseError)


@given(content=file_contents)
def test_whatever_was_parsed_can_be_encoded(content: bytes) -> None:
    try:
        parsed = parse(content, PATH)
    except ParseError:
        return
    if isinstance(parsed, Session):
        for message in parsed.messages:
            message.text.encode()


@given(cut=st.integers(0, len(WHOLE) - 1))
def test_every_beginning_of_a_session_is_unfinished(cut: int) -> None:
    with pytest.raises(UnfinishedFileError):
        parse(WHOLE[:cut], PATH)


def test_a_surrogate_in_a_broken_file_does_not_explain_it() -> None:
    with pytest.raises(UnfinishedFileError, match=r"ends too early|broken JSON"):
        parse(rb'{"session_id": "a\ud800", "messages": [', "/s/session_a.json")


def many(count: int, value: str) -> bytes:
    return f'{{"session_id": "a", "messages": [], "x": [{", ".join([value] * count)}]}}'.encode()


@pytest.mark.parametrize(
    "value", [pytest.param(value, id=value) for value in ("1", "{}", "[]", '""', "null", '{"a": 1}', '"a, [{"')]
)
def test_more_values_than_allowed_are_refused_before_they_are_decoded(value: str) -> None:
    limits = Limits(values=1000)
    assert parse(many(400, value), PATH, limits=limits)
    with pytest.raises(ParseError, match="more than max_values = 1,000 JSON values"):
        parse(many(1100, value), PATH, limits=limits)


@for_each("kind", [pytest.param(kind, id=name) for place in CUT_AT for name, kind in cuts(place)])
def test_values_are_counted_in_linear_time_wherever_a_file_is_cut(kind: Kind) -> None:
    content = b'{"x": "' + b"," * 1000 + b'", "y": ' + kind(40_000)

    def read() -> None:
        with pytest.raises(ParseError):
            parse(content, PATH, limits=Limits(values=1000))

    assert is_done_within(0.1, read)


@pytest.mark.parametrize("values", [pytest.param(999, id="few-enough"), pytest.param(1000, id="too-many")])
def test_what_stands_in_a_text_without_an_end_is_no_value(values: int) -> None:
    content = b'{"x": [' + b"0," * (values - 2) + b'"' + b",[{" * 1000
    refused = "more than max_values" if values == 1000 else "ends too early"

    with pytest.raises(ParseError, match=refused):
        parse(content, PATH, limits=Limits(values=1000))


def test_commas_in_texts_are_no_values() -> None:
    text = 'one, two, "three", [four], {five}\\ '.replace("\\", "\\\\").replace('"', '\\"') * 1000
    content = f'{{"session_id": "a", "messages": [{{"role": "user", "content": "{text}"}}]}}'.encode()
    assert isinstance(parse(content, PATH, limits=Limits(values=1000)), Session)


def test_more_messages_than_allowed_are_refused() -> None:
    content = document([json_user("go")] * 11)
    assert parse(content, PATH, limits=Limits(messages=11))
    with pytest.raises(ParseError, match="11 messages are more than max_messages = 10"):
        parse(content, PATH, limits=Limits(messages=10))


def test_a_session_id_without_end_is_refused() -> None:
    with pytest.raises(ParseError, match="length <= 256"):
        parse(document([json_user("go")], session_id="x" * 257), PATH)


def test_the_name_of_a_model_is_cut() -> None:
    session = parse(document([json_user("go")], model="m" * 2000), PATH)
    assert isinstance(session, Session)
    assert session.model == "m" * 1024  # four times as much as is kept, so that no secret is cut before it is known


def test_what_can_be_no_number_of_tokens_is_none() -> None:
    numbers = (0, 1 << 40, (1 << 40) + 1, -1, 1.5, "7", None)

    assert [token_count(value) for value in numbers] == [0, 1 << 40, None, None, None, None, None]


def test_fresh_tokens_are_those_that_no_cache_had() -> None:
    assert fresh_tokens(100, 60, None) == 40
    assert fresh_tokens(100, 60, 30) == 10
    assert fresh_tokens(100, 60, 50) == 0  # a wrong count takes nothing from others
    assert fresh_tokens(None, 60) is None


@pytest.mark.parametrize(
    ("value", "name"), [("gpt", "gpt"), ("x" * 1_025, "x" * 1_024), ("", None), (None, None), (7, None)]
)
def test_a_name_is_a_text_that_is_not_long(value: object, name: str | None) -> None:
    assert name_of(value) == name


@pytest.mark.parametrize(
    ("stamp", "known"),
    [
        pytest.param("2026-11-21T22:00:00+01:00", True, id="zone"),
        pytest.param("2026-11-21T21:00:00Z", True, id="utc"),
        pytest.param("2026-11-21T22:00:00", False, id="no-zone"),
        pytest.param("yesterday", False, id="words"),
        pytest.param(1763758800, False, id="number"),
    ],
)
def test_only_a_time_with_its_zone_is_one(stamp: object, known: bool) -> None:
    assert utc(stamp) == (datetime(2026, 11, 21, 21, tzinfo=UTC) if known else None)


@pytest.mark.parametrize(
    ("stamp", "zone", "moment"),
    [
        pytest.param("2026-11-22T10:00:00", UTC, datetime(2026, 11, 22, 10, tzinfo=UTC), id="in-the-zone-given"),
        pytest.param(
            "2026-11-22T10:00:00+02:00", UTC, datetime(2026, 11, 22, 8, tzinfo=UTC), id="in-the-zone-that-it-names"
        ),
        pytest.param(
            "2026-11-22T10:00:00", timezone(timedelta(hours=2)), datetime(2026, 11, 22, 8, tzinfo=UTC), id="made-utc"
        ),
        pytest.param("0001-01-01T00:00:00", timezone(timedelta(hours=2)), None, id="before-all-years"),
        pytest.param("yesterday", None, None, id="no-time"),
        pytest.param(1_795_327_639, None, None, id="no-text"),
    ],
)
def test_a_time_without_a_zone_is_of_the_one_given(stamp: object, zone: tzinfo | None, moment: datetime | None) -> None:
    assert utc_in(stamp, zone) == moment


def test_without_any_zone_a_time_is_of_this_machine() -> None:
    assert utc_in("2026-11-22T10:00:00", None) == datetime(2026, 11, 22, 10).astimezone(UTC)


@pytest.mark.parametrize(
    ("milliseconds", "moment"),
    [
        pytest.param(1_500, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC), id="a-time"),
        pytest.param(1e300, None, id="after-all-years"),
        pytest.param(float("nan"), None, id="no-number"),
        pytest.param(None, None, id="none"),
    ],
)
def test_milliseconds_since_1970_are_a_time_if_there_is_such_a_one(
    milliseconds: float | None, moment: datetime | None
) -> None:
    assert moment_of(milliseconds) == moment


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("said", "said", id="text"),
        pytest.param(Part("text", "said"), "said", id="part"),
        pytest.param((Part("text", "one"), Part("image"), Part("text", "two")), "one\ntwo", id="parts-but-pictures"),
        pytest.param(None, "", id="nothing"),
    ],
)
def test_the_text_of_a_content_is_that_of_its_parts(content: Text, text: str) -> None:
    assert text_in(content) == text


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('{"text": 1}', id="another-shape"),
        pytest.param("{", id="no-json"),
        pytest.param('"\ud800"', id="no-unicode"),
        pytest.param('{"other":' * 100_000, id="too-deep"),
    ],
)
def test_what_a_decoder_cannot_read_is_what_is_said_to_stand_for_it(content: str) -> None:
    read = msgspec.json.Decoder(Part).decode

    assert decoded_or(read, content, None) is None
    assert decoded_or(read, '{"text": "said"}', None) == Part(text="said")
