"""Messages of JSON-RPC 2.0, one a line; see https://www.jsonrpc.org/specification."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, BinaryIO, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from grader_daemon.errors import RequestError

LONGEST_LINE: Final = 1_048_576
"""Bytes of a message. Questions have some hundreds; what is longer is passed over without being kept."""

Id = str | int | None
"""Names a request in its answer; None where it could not be read."""


class Code(IntEnum):
    """Error code of a message."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603


class Message(msgspec.Struct, frozen=True):
    """A request; without an id a notification, which is never answered."""

    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | UnsetType = UNSET
    params: dict[str, Any] = {}


def read_line(stream: BinaryIO) -> bytes | None:
    """Return the next line; None at the end.

    Raises:
        RequestError: it is too long.
    """
    line = stream.readline(LONGEST_LINE + 1)
    if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
        return line or None
    while line and not line.endswith(b"\n"):
        line = stream.readline(LONGEST_LINE)
    raise RequestError(f"a message has at most {LONGEST_LINE:,} bytes", code=Code.INVALID_REQUEST)


def decode(line: bytes) -> Any:
    """Return what a line says, which may be no message.

    Raises:
        RequestError: it is no JSON.
    """
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"no JSON: {error}", code=Code.PARSE_ERROR) from error


def to_message(decoded: object) -> Message | None:
    """Return a message; None for an answer, which nobody here waits for.

    Raises:
        RequestError: it is none.
    """
    if isinstance(decoded, dict) and "method" not in decoded and not decoded.keys().isdisjoint(("result", "error")):
        return None
    try:
        return msgspec.convert(decoded, Message)
    except msgspec.ValidationError as error:
        raise RequestError(f"no request: {error}", code=Code.INVALID_REQUEST) from error


def id_of(decoded: object) -> Id:
    """Return the id of what may be no message."""
    found = decoded.get("id") if isinstance(decoded, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def result(id_: Id, content: dict[str, Any]) -> dict[str, Any]:
    """Return an answer."""
    return {"jsonrpc": "2.0", "id": id_, "result": content}


def failure(id_: Id, error: RequestError) -> dict[str, Any]:
    """Return an answer that says what is wrong."""
    data = {} if error.data is None else {"data": error.data}
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": error.code, "message": str(error), **data}}


def encode(answer: object) -> bytes:
    """Return an answer as a line."""
    return msgspec.json.encode(answer) + b"\n"
