"""Objects of an archive as the files in them, slice by slice.

A tar file may hold a million sessions and can only be read from its beginning. So it is graded in slices of about a
thousand files, each a task of its own: whatever ends costs a slice. A process that has read one keeps the file open, so
that its next slice of it goes on from there; whoever takes one without having read those before it passes over them.
"""

from __future__ import annotations

import gzip
import time
import zlib
from collections import OrderedDict
from collections.abc import Generator, Iterator
from itertools import takewhile
from threading import Lock
from typing import Any, Final, NamedTuple

import msgspec
import xxhash

from grader_daemon.archive.objects import SHARD_BYTES, TARS, Archive, StoredObject, split_name
from grader_daemon.archive.tar import Stream, members
from grader_daemon.errors import ReadError
from grader_daemon.system import zstd

SLICE_FILES: Final = 1_000
"""A slice ends behind so many, at the next folder; behind twice as many in any case."""
MOST_SLICES: Final = 10_000
MOST_SECONDS: Final = 15 * 60
"""For a slice, to be read: its thousand files take a second, what is passed over behind one as long as it is large."""
_MOST_OPEN: Final = 4
_OVERFULL: Final = 2
_DEEP: Final = 10**6
"""No two names have so many folders in common."""
_LAST_SECOND: Final = 2**33
"""No time later than in 2242 is one of a file."""


class Slice(msgspec.Struct, frozen=True, array_like=True):
    """Some of the files of an object: of one that is no tar file, its only one."""

    stored: StoredObject
    number: int = 0

    @property
    def digest(self) -> int:
        """Return 64 bits, signed, that tell it apart from slices, also such as were cut in another way, and objects."""
        stored, cut = self.stored, f"{self.number}/{SLICE_FILES}/{SHARD_BYTES}"
        key = f"{stored.name}\0{stored.version}\0{cut}".encode("utf-8", "surrogateescape")
        return xxhash.xxh3_64_intdigest(key) - 2**63


class File(NamedTuple):
    """One file of an object.

    size: in bytes, as it lies in the object.
    content: what can be read until the next file is asked for; None for what is none, as a link.
    refused: why its content cannot be had.
    """

    name: str
    size: int
    written_ns: int
    content: Stream | None
    refused: str | None = None


class Reading:
    """An object that is read; `number` is the slice that comes next."""

    def __init__(self, archive: Archive, stored: StoredObject) -> None:
        self._clock = _Clock()
        self._files = _files_of(archive, stored, self._clock)
        self._ahead: File | None = None
        self._has_begun = False
        self._count = self._bytes = 0
        self._shallowest = _DEEP
        self.number = 0

    @property
    def has_ended(self) -> bool:
        """True if there is nothing behind what was read."""
        return self._has_begun and self._ahead is None

    def files(self, number: int) -> Iterator[File]:
        """Yield the files of a slice; those before it are passed over.

        Raises:
            ReadError: it cannot be read, is damaged, or holds too much.
            OSError: it cannot be read.
        """
        if not self._has_begun:
            self._ahead, self._has_begun = next(self._files, None), True
        while self._ahead is not None and self.number <= number:
            if self.number == number:
                yield self._ahead
            self._advance(self._ahead)

    def close(self) -> None:
        """Close what it reads: there is nothing behind it any more."""
        self._files.close()
        self._ahead, self._has_begun = None, True

    def _advance(self, file: File) -> None:
        self._ahead = following = next(self._files, None)
        self._count += 1
        self._bytes += min(file.size, SHARD_BYTES)
        depth = _DEEP if following is None else _common_folders(file.name, following.name)
        self._shallowest = min(depth, self._shallowest)
        if following is not None and self._is_full(depth):
            self.number += 1
            self._count = self._bytes = 0
            self._shallowest = _DEEP
            self._clock.start()
            if self.number >= MOST_SLICES:
                raise ReadError(f"more than {MOST_SLICES * SLICE_FILES:,} files in one object")

    def _is_full(self, depth: int) -> bool:
        """Several files may be one session: they lie in one folder, so a slice ends where a folder of all does."""
        filled = max(self._count / SLICE_FILES, self._bytes / SHARD_BYTES)
        return filled >= _OVERFULL or (filled >= 1 and depth <= self._shallowest)


class OpenReadings:
    """Objects that this process has read some slices of; what is taken is nobody else's until it is put back."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: OrderedDict[tuple[str, StoredObject], Reading] = OrderedDict()
        """Guarded by `_lock`; the one that was put back last stands last."""

    def take(self, archive: Archive, piece: Slice) -> Reading:
        """Return what reads an object, not behind that slice."""
        with self._lock:
            known = self._open.pop((archive.url, piece.stored), None)
        if known is not None and known.number > piece.number:
            known.close()
            known = None
        return known or Reading(archive, piece.stored)

    def put_back(self, archive: Archive, piece: Slice, reading: Reading) -> None:
        """Keep it open for its next slice, unless there is none."""
        if reading.has_ended:
            reading.close()
            return
        key = (archive.url, piece.stored)
        with self._lock:
            replaced = self._open.pop(key, None)
            self._open[key] = reading
            oldest = self._open.popitem(last=False)[1] if len(self._open) > _MOST_OPEN else None
        for each in (replaced, oldest):
            if each is not None:
                each.close()


class _Clock:
    """Bounds the time of a slice."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._ends_at = time.monotonic() + MOST_SECONDS

    def check(self) -> None:
        if time.monotonic() > self._ends_at:
            raise ReadError(f"reading about {SLICE_FILES:,} files of it took more than {MOST_SECONDS // 60} minutes")


class _Timed:
    """A stream that is read for so long and no longer; its errors are those of files."""

    def __init__(self, stream: Any, clock: _Clock) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, size: int) -> bytes:
        self._clock.check()
        try:
            return bytes(self._stream.read(size))
        except (EOFError, zlib.error, zstd.ZstdError) as error:
            raise ReadError(str(error) or type(error).__name__) from error


def _files_of(archive: Archive, stored: StoredObject, clock: _Clock) -> Generator[File, None, None]:
    with archive.open(stored) as content:
        stem, suffix = split_name(stored.name)
        plain = _Timed(_decompressed(content, suffix), clock)
        if suffix not in TARS:
            yield File(stem, stored.bytes, stored.written_ns, plain)
            return
        for member in members(plain):
            refused = "a sparse file; pack it without --sparse" if member.is_sparse else None
            written_ns = int(member.mtime * 1e9) if 0 <= member.mtime < _LAST_SECOND else stored.written_ns
            yield File(f"{stem}/{member.name}", member.size, written_ns, member.content, refused)


def _common_folders(one: str, other: str) -> int:
    folders = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], folders))


def _decompressed(content: Any, suffix: str) -> Any:
    if suffix.endswith("gz"):
        return gzip.GzipFile(fileobj=content)
    if suffix.endswith("zst"):
        return zstd.ZstdFile(content)
    return content
