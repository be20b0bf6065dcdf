"""The decode of a JSON document that holds a session, with every way to be wrong told in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final, TypeVar

import msgspec
import xxhash

from grader_daemon.domain.limits import LONGEST_NAME, Limits
from grader_daemon.domain.session import NO_SESSION_KNOWN, Part, Session, Skipped
from grader_daemon.errors import ParseError, UnfinishedFileError

C = TypeVar("C")
D = TypeVar("D")
T = TypeVar("T")

Text = str | Part | tuple[Part, ...] | None
UNREADABLE: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
"""Raised by a decoder for what is no JSON of its shape."""

_LIMITS = Limits()
_MOST_TOKENS = 1 << 40
"""Most tokens of one answer: far more than any model takes, and so few that their sum fits into a database."""

_TO_NEXT_VALUE = re.compile(rb'(?:[^",\[{]++|"(?:[^"\\]++|\\.)*+"?)*+([,\[{])?', re.DOTALL)
"""All up to and with the next byte that announces a value. A string without an end reaches to the end of the file, and
the pattern matches everywhere, so no byte is looked at twice."""

_ANNOUNCES_NO_VALUE = bytes(byte for byte in range(256) if byte not in b",[{")
_LINES = re.compile(rb"\s*+\{[^\r\n]*+(?<=\})\r?+\n\s*+\{")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def decode(
    content: bytes, read: Callable[[bytes], Session | Skipped], *, limits: Limits = _LIMITS
) -> Session | Skipped:
    """Decode a JSON document that holds one session, with `read`.

    Args:
        content: the whole document; without a byte-order mark.
        read: may raise what msgspec does, UnicodeDecodeError, and RecursionError.
        limits: what a session may hold.

    Raises:
        UnfinishedFileError: it may be in the middle of being written.
        ParseError: it is not a session and will not become one by reading it again.
    """
    if not content or content.isspace():
        raise UnfinishedFileError("the file is empty")
    check_values([content], limits)
    try:
        session = mending(read, content)
    except RecursionError as error:
        raise ParseError("nested too deeply to be a session") from error
    except msgspec.ValidationError as error:
        raise ParseError(f"{NO_SESSION_KNOWN}: {_one_line(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _why_undecodable(content, error) from error
    if isinstance(session, Session):
        check_messages(session, limits)
    return session


def check_messages(session: Session, limits: Limits) -> None:
    """See that a session has not too many messages.

    Raises:
        ParseError: it has.
    """
    if len(session.messages) > limits.messages:
        raise ParseError(f"{len(session.messages):,} messages are more than max_messages = {limits.messages:,}")


def check_values(pieces: Sequence[bytes], limits: Limits) -> None:
    """Small values take many times their bytes when they are decoded, so they are counted before, the cheap way first.

    Raises:
        ParseError: there are too many in all pieces together.
    """
    if sum(map(len, pieces)) <= 2 * limits.values:
        return
    if sum(len(piece.translate(None, _ANNOUNCES_NO_VALUE)) for piece in pieces) < limits.values:
        return
    values = 0
    for found in (found for piece in pieces for found in _TO_NEXT_VALUE.finditer(piece)):
        values += found.lastindex is not None
        if values >= limits.values:
            raise ParseError(f"more than max_values = {limits.values:,} JSON values")


def setup_digest(value: msgspec.Raw | bytes) -> str | None:
    """Return 16 characters that tell apart what an agent was set up with, a value in JSON; None where that is none."""
    content = memoryview(value)
    is_null = len(content) <= len(b"null") and bytes(content) in (b"", b"null")
    return None if is_null else xxhash.xxh3_64_hexdigest(content)


def _why_undecodable(content: bytes, error: Exception) -> ParseError:
    if b"\0" in content:
        return UnfinishedFileError("holds NUL bytes, so it is damaged or not written yet")
    if not content.lstrip().startswith((b"{", b"[")):
        return ParseError("not JSON")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as undecodable:
        if undecodable.end < len(content):
            return ParseError(f"not UTF-8 at byte {undecodable.start}")
        return UnfinishedFileError("the file ends in the middle of a character")
    if "truncated" in str(error):
        return UnfinishedFileError("the JSON ends too early")
    if _LINES.match(content) is not None:
        return ParseError(f"{NO_SESSION_KNOWN}: several JSON objects, one per line, instead of one")
    return UnfinishedFileError(f"broken JSON: {_one_line(error)}")


def moment_of(milliseconds: object) -> datetime | None:
    """Return a time in milliseconds since 1970 as aware UTC; None where it is none."""
    try:
        return datetime.fromtimestamp(milliseconds / 1_000, UTC) if isinstance(milliseconds, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None


def utc(stamp: object) -> datetime | None:
    """Return an ISO 8601 time with a time zone as aware UTC; None for anything else."""
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        if moment.tzinfo is UTC:  # as nearly all say it
            return moment
        return None if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def utc_in(stamp: object, zone: tzinfo | None) -> datetime | None:
    """Return an ISO 8601 time as aware UTC; one that names no zone is of this one, None: the machine's."""
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        if moment.tzinfo is None and zone is not None:
            moment = moment.replace(tzinfo=zone)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def token_count(value: object) -> int | None:
    """Return a number of tokens; None where it is none that can be."""
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else None


def fresh_tokens(read: int | None, *cached: int | None) -> int | None:
    """Return the tokens of an input without those read from a cache or written to one, which it counts too."""
    return None if read is None else max(0, read - sum(filter(None, cached)))


def name_of(value: object) -> str | None:
    """Return a text that names something, cut if it is long; None if it is none, or empty."""
    return value[: 4 * LONGEST_NAME] if isinstance(value, str) and value else None


def text_in(content: Text) -> str:
    """Return the text of a content; pictures and sounds have none."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in ((content,) if isinstance(content, Part) else content or ()) if part.text)


def decoded_or(decode: Callable[[C], T], content: C, otherwise: D) -> T | D:
    """Return what a decoder makes of JSON; `otherwise` where that has not the shape that it reads."""
    try:
        return decode(content)
    except UNREADABLE:
        return otherwise


def mending(read: Callable[[bytes], T], content: bytes) -> T:
    """Read JSON; half of a UTF-16 surrogate pair, left where JavaScript cuts a text, stands as a question mark.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: that was not what is wrong with it.
    """
    try:
        return read(content)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        mended = _without_halves(content)
        if mended is None:
            raise
    return read(mended)


def _without_halves(content: bytes) -> bytes | None:
    """Return JSON without halves of surrogate pairs; None if that is not all that is wrong with it.

    The decoder has several words for that; that Python's decoder takes it tells it from others.
    """
    if _SURROGATE.search(content) is None:
        return None
    try:
        return json.dumps(json.loads(content), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
