"""Plain files in a stream of a tar file, read strictly: its headers come from strangers.

The standard module reads a long name, or a record of PAX, as a whole however long it says that it is; here a header
holds 64 KB at most. Formats: POSIX.1-1988 (ustar), POSIX.1-2001 (pax), and the long names of GNU tar.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from grader_daemon.errors import ReadError

_BLOCK: Final = 512
_CHUNK: Final = 64 * 1024
_MOST_HEADER_BYTES: Final = 64 * 1024
"""Of a long name, or of the records of PAX for one file: a path in Linux has at most 4,096."""
_MOST_HEADERS: Final = 8
"""Before one file: writers of PAX put two there, GNU tar two."""
_LONG_NAME: Final = tarfile.GNUTYPE_LONGNAME
_PAX: Final = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_EXTENSIONS: Final = (_LONG_NAME, *_PAX, tarfile.GNUTYPE_LONGLINK, tarfile.XGLTYPE)
_WITHOUT_CONTENT: Final = set(tarfile.SUPPORTED_TYPES) - set(tarfile.REGULAR_TYPES)
_RECORD: Final = re.compile(rb"(\d{1,20}) ([^=\n]{1,200}+)=")


class Stream(Protocol):
    """Bytes, one after the other."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many, none at the end."""


class Content:
    """The content of a member; to be read before the next one is asked for."""

    def __init__(self, stream: Stream, size: int) -> None:
        self._stream = stream
        self._left = size
        self._padding = -size % _BLOCK

    def read(self, size: int) -> bytes:
        """Return at most so many bytes, none at the end.

        Raises:
            ReadError: the tar file ends before.
        """
        if not self._left:
            return b""
        chunk = self._stream.read(min(size, self._left, _CHUNK))
        if not chunk:
            raise ReadError("the tar file ends in the middle of a file")
        self._left -= len(chunk)
        return chunk

    def skip(self) -> None:
        """Read what is left of it, up to the next header."""
        self._left, self._padding = self._left + self._padding, 0
        while self.read(_CHUNK):
            pass


class Member(NamedTuple):
    """One entry of a tar file.

    size: bytes of its content.
    mtime: seconds since 1970, or no number at all.
    content: of a plain file; None for links, folders and devices.
    is_sparse: a plain file with holes, whose content is not read.
    """

    name: str
    size: int
    mtime: float
    content: Content | None
    is_sparse: bool = False


def members(stream: Stream) -> Iterator[Member]:
    """Yield the entries of a tar file; the content of each can be read until the next one is asked for.

    Raises:
        ReadError: it is no tar file, ends too early, or has a header of more than 64 KB.
    """
    is_first = True
    while (member := _next(stream, is_first=is_first)) is not None:
        is_first = False
        yield member
        if member.content is not None:
            member.content.skip()


def _next(stream: Stream, *, is_first: bool) -> Member | None:
    records: dict[str, str] = {}
    for number in range(_MOST_HEADERS):
        block = _exactly(stream, _BLOCK)
        if not block.strip(b"\0") and (block or not is_first) and number == 0:
            return None  # by the standard two empty blocks are the end; many write one, or none
        header = _header(block)
        if header.type not in _EXTENSIONS:
            return _member(stream, block, header, records)
        content = _extension(stream, header.size)
        if header.type == _LONG_NAME:
            records["path"] = _text(content.partition(b"\0")[0])
        elif header.type in _PAX:
            records |= _records(content)
    raise ReadError(f"more than {_MOST_HEADERS} headers for one file")


def _header(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError) as error:
        raise ReadError(f"not a tar file, or a damaged one: {error}") from error


def _extension(stream: Stream, size: int) -> bytes:
    if not 0 <= size <= _MOST_HEADER_BYTES:
        raise ReadError(f"a header of {size:,} bytes; at most {_MOST_HEADER_BYTES:,} are read")
    padded = size + -size % _BLOCK
    content = _exactly(stream, padded)
    if len(content) < padded:
        raise ReadError("the tar file ends in the middle of a header")
    return content[:size]


def _member(stream: Stream, block: bytes, header: tarfile.TarInfo, records: Mapping[str, str]) -> Member:
    size = _size(records.get("size"), otherwise=header.size)
    name, mtime = records.get("path", header.name), _seconds(records.get("mtime"), otherwise=header.mtime)
    if header.type in _WITHOUT_CONTENT:
        return Member(name, 0, mtime, None)
    content = Content(stream, size)
    if header.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE) and "GNU.sparse.name" not in records:
        return Member(name, size, mtime, content)
    is_sparse = header.type in tarfile.REGULAR_TYPES
    if header.type == tarfile.GNUTYPE_SPARSE:
        _skip_map(stream, block)
    content.skip()
    return Member(records.get("GNU.sparse.name", name), 0, mtime, None, is_sparse)


def _skip_map(stream: Stream, block: bytes) -> None:
    """Read where the holes of a sparse file of GNU tar are, as far as its header has no room for that."""
    goes_on = block[482] != 0
    while goes_on:
        following = _exactly(stream, _BLOCK)
        goes_on = len(following) == _BLOCK and following[504] != 0


def _records(content: bytes) -> dict[str, str]:
    """Return the records of PAX, each of which is "LENGTH KEY=VALUE" and a line break."""
    found: dict[str, str] = {}
    start = 0
    while match := _RECORD.match(content, start):
        end = start + int(match[1])
        if end <= match.end():
            raise ReadError("a damaged header of PAX")
        found[_text(match[2])] = _text(content[match.end() : end - 1])
        start = end
    return found


def _size(text: str | None, *, otherwise: int) -> int:
    try:
        size = int(text) if text is not None else otherwise
    except ValueError:
        size = -1
    if size < 0:
        raise ReadError("a damaged header: a file without size")
    return size


def _seconds(text: str | None, *, otherwise: float) -> float:
    try:
        return float(text) if text is not None else otherwise
    except ValueError:
        return otherwise


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _exactly(stream: Stream, size: int) -> bytes:
    """Return so many bytes, less at the end."""
    gathered = bytearray()
    while len(gathered) < size and (chunk := stream.read(size - len(gathered))):
        gathered += chunk
    return bytes(gathered)
