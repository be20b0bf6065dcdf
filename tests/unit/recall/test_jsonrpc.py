from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from grader_daemon.errors import RequestError
from grader_daemon.recall.jsonrpc import LONGEST_LINE, Code, decode, id_of, read_line, to_message


def test_lines_are_read_to_the_end_also_one_that_does_not_end() -> None:
    stream = BytesIO(b'{"a":1}\n\n{"b":2}')
    assert [read_line(stream) for _ in range(4)] == [b'{"a":1}\n', b"\n", b'{"b":2}', None]


@pytest.mark.parametrize("over", [pytest.param(1, id="a-byte"), pytest.param(3 * LONGEST_LINE, id="several-lengths")])
def test_a_line_that_is_too_long_is_passed_over(over: int) -> None:
    stream = BytesIO(b"x" * (LONGEST_LINE + over) + b"\nnext\n")
    with pytest.raises(RequestError, match="at most") as told:
        read_line(stream)
    assert told.value.code == Code.INVALID_REQUEST
    assert read_line(stream) == b"next\n"


def test_a_line_of_the_longest_length_is_read() -> None:
    line = b"x" * LONGEST_LINE + b"\n"
    assert read_line(BytesIO(line)) == line


def test_a_long_line_without_an_end_is_the_end() -> None:
    stream = BytesIO(b"x" * (LONGEST_LINE + 9))
    with pytest.raises(RequestError):
        read_line(stream)
    assert read_line(stream) is None


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"{", id="cut-off"),
        pytest.param(b"hello\n", id="a-word"),
        pytest.param(b'{"a": "\xff"}', id="not-utf-8"),
        pytest.param(b'{"a": "\\ud800"}', id="half-a-character"),
        pytest.param(b"[" * 200_000, id="too-deep"),
        pytest.param(b'{"a": NaN}', id="no-number"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte-order-mark"),
    ],
)
def test_what_is_no_json_is_told(line: bytes) -> None:
    with pytest.raises(RequestError) as told:
        decode(line)
    assert told.value.code == Code.PARSE_ERROR
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "decoded",
    [
        pytest.param(1, id="a-number"),
        pytest.param([], id="nothing-in-a-list"),
        pytest.param({}, id="an-empty-object"),
        pytest.param({"id": 1, "method": "ping"}, id="no-version"),
        pytest.param({"jsonrpc": "1.0", "id": 1, "method": "ping"}, id="another-version"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": 5}, id="a-method-without-a-name"),
        pytest.param({"jsonrpc": "2.0", "id": None, "method": "ping"}, id="an-id-of-nothing"),
        pytest.param({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, id="an-id-with-a-fraction"),
        pytest.param({"jsonrpc": "2.0", "id": True, "method": "ping"}, id="an-id-of-truth"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, id="params-without-names"),
    ],
)
def test_what_is_no_request_is_told(decoded: object) -> None:
    with pytest.raises(RequestError) as told:
        to_message(decoded)
    assert told.value.code == Code.INVALID_REQUEST


@pytest.mark.parametrize(
    ("decoded", "found"),
    [
        pytest.param({"id": "a"}, "a", id="text"),
        pytest.param({"id": 0}, 0, id="number"),
        pytest.param({"id": True}, None, id="truth"),
        pytest.param({"id": 1.5}, None, id="fraction"),
        pytest.param({}, None, id="none"),
        pytest.param([{"id": 1}], None, id="a-list"),
    ],
)
def test_an_id_is_read_where_there_is_one(decoded: Any, found: object) -> None:
    assert id_of(decoded) is found or id_of(decoded) == found


def test_an_answer_is_no_request() -> None:
    assert to_message({"jsonrpc": "2.0", "id": 1, "result": {}}) is None
    assert to_message({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}) is None
