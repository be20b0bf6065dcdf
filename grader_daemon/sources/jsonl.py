"""Sessions that are written line by line: each line a JSON value of some kind, read by a list of the kinds to read.

Lines end at a line feed and nowhere else: agents write U+2028 and U+0085 as they are inside strings. Agents add kinds
of lines with every version, some of which repeat what others say. So only kinds that are known are read; a line of any
other, or one with a shape that its kind does not have, is noted and passed over, and nothing of it is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import msgspec

from grader_daemon.domain.limits import LONGEST_NAME, Limits
from grader_daemon.errors import ParseError, UnfinishedFileError
from grader_daemon.sources.decoding import check_values, mending

T = TypeVar("T")

_LIMITS = Limits()
_MOST_KINDS = 20
"""Unknown ones that are named; a hostile file can have any number."""

_FIRST_KEY = re.compile(rb'\{"type":"([\w./-]{1,%d})"' % LONGEST_NAME)


class _Kind(msgspec.Struct, frozen=True):
    type: str = ""


_KIND = msgspec.json.Decoder(_Kind).decode
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Lines(NamedTuple, Generic[T]):
    """Content of the lines of a file.

    read: of each line of a kind that is read, in their order.
    unknown: the kinds of lines that nothing is known of, or that have not the shape of their kind, each once.
    broken: how many lines are no JSON object.
    """

    read: list[T]
    unknown: tuple[str, ...]
    broken: int


def kind_of(line: bytes) -> str:
    """Return the ``type`` of a line, "" where it has none; quickly where it comes first.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is no JSON object.
    """
    first = _FIRST_KEY.match(line)
    return _KIND(line).type if first is None else first[1].decode()


def read_lines(
    content: bytes,
    kinds: Mapping[str, Callable[[bytes], T] | None],
    *,
    kind_of: Callable[[bytes], str] = kind_of,
    limits: Limits = _LIMITS,
) -> Lines[T]:
    """Read the whole lines of a file.

    Args:
        content: what it holds, or did a moment ago: the last line may be unfinished, and is then left for later.
        kinds: by the kind of a line, what reads it; None for those that are known and passed over.
        kind_of: tells the kind of a line; may raise what msgspec does, UnicodeDecodeError, and RecursionError.
        limits: what a session may hold.

    Raises:
        UnfinishedFileError: it has no whole line yet.
        ParseError: it holds too much, or not one JSON object.
    """
    sorted_out = _sort_out(content, kinds, kind_of)
    known, unknown, broken = sorted_out.read, dict.fromkeys(sorted_out.unknown), sorted_out.broken
    check_values([line for _, _, line in known], limits)
    read: list[T] = []
    for kind, reader, line in known:
        try:
            read.append(mending(reader, line))
        except msgspec.ValidationError:
            unknown[kind] = None
        except _NOT_JSON:
            broken += 1
    return Lines(read, tuple(kind[:LONGEST_NAME] for kind in list(unknown)[:_MOST_KINDS]), broken)


def _sort_out(
    content: bytes, kinds: Mapping[str, Callable[[bytes], T] | None], kind_of: Callable[[bytes], str]
) -> Lines[tuple[str, Callable[[bytes], T], bytes]]:
    """Return the lines that are to be read, each with its kind and its reader."""
    known: list[tuple[str, Callable[[bytes], T], bytes]] = []
    unknown: dict[str, None] = {}
    lines = broken = 0
    for line in whole_lines(content):
        lines += 1
        try:
            kind = mending(kind_of, line)
        except _NOT_JSON:
            broken += 1
            continue
        reader = kinds.get(kind)
        if reader is not None:
            known.append((kind, reader, line))
        elif kind not in kinds:
            unknown[kind] = None
    if broken == lines:
        raise _why_nothing(content, lines)
    return Lines(known, tuple(unknown), broken)


def _why_nothing(content: bytes, lines: int) -> ParseError:
    if not content.strip():
        return UnfinishedFileError("the file is empty")
    if b"\0" in content:
        return UnfinishedFileError("holds NUL bytes, so it is damaged or not written yet")
    return ParseError("not lines of JSON") if lines else UnfinishedFileError("its first line is not complete yet")


def whole_lines(content: bytes) -> Iterator[bytes]:
    """Yield the lines that are not blank, without the last if it is unfinished.

    Without a line feed behind it the last line is whole if it is JSON: no beginning of an object is one.
    """
    start = 0
    while (end := content.find(b"\n", start)) >= 0:
        line = content[start:end]
        start = end + 1
        if line and not line.isspace():
            yield line
    rest = content[start:]
    if rest.rstrip().endswith(b"}") and _is_whole(rest):
        yield rest


def _is_whole(line: bytes) -> bool:
    try:
        mending(_KIND, line)
    except _NOT_JSON:
        return False
    return True
