"""Packs of a git repository: objects by the index, many of them as deltas. The format: gitformat-pack(5)."""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from grader_daemon.errors import ReadError
from grader_daemon.outcomes.budget import Budget
from grader_daemon.sources.file_reading import open_file

MOST_INFLATED: Final = 4_000_000
"""Bytes of the largest object that is read: larger files are no text that a session writes by hand."""
_LONGEST_CHAIN: Final = 512
"""Deltas that an object may be made of; git makes chains of 50, and of 4,095 at most."""
_CHUNK: Final = 16_384
_MOST_KEPT: Final = 16_000_000
KINDS: Final = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFFSET_DELTA, _NAMED_DELTA = 6, 7
_INDEX_MAGIC: Final = b"\xfftOc\x00\x00\x00\x02"
_FAN_OUT: Final = 8
_NAMES: Final = _FAN_OUT + 256 * 4
_LARGE: Final = 1 << 31
_HEAD: Final = 12
"""Bytes of a pack before its first object."""
_LONGEST_HEADER: Final = 64
_LONGEST_NUMBER: Final = 10
"""Bytes of a number of 64 bits, 7 in each."""
_LARGEST_BITS: Final = 63


class GitObject(NamedTuple):
    """An object: commit, tree, blob or tag, and its content."""

    kind: str
    content: bytes


class Pack:
    """A pack by its index of version 2."""

    def __init__(self, index: int, pack: int, budget: Budget) -> None:
        self._index = index
        self._pack = pack
        self._budget = budget
        self._counts = struct.unpack(">256I", self._at(_FAN_OUT, 256 * 4))
        self._total = self._counts[-1]
        self._kept: dict[int, GitObject] = {}
        self._kept_bytes = 0

    def close(self) -> None:
        """Close both files."""
        os.close(self._index)
        os.close(self._pack)

    def offset_of(self, raw: bytes) -> int | None:
        """Return where an object stands; None where it is not in this pack."""
        low, high = self._range(raw[0])
        place = self._first_from(raw, low, high)
        if place >= high or self._name(place) != raw:
            return None
        return self._offset(place)

    def names(self, prefix: str) -> Iterator[str]:
        """Yield the names that begin like this, two at most."""
        padded = bytes.fromhex(prefix.ljust(40, "0"))
        low, high = self._range(padded[0])
        place = self._first_from(padded, low, high)
        for each in range(place, min(place + 2, high)):
            name = self._name(each).hex()
            if name.startswith(prefix):
                yield name

    def read(self, offset: int) -> GitObject | None:
        """Return the object at an offset, made of its deltas; None where it is larger than what is read."""
        deltas: list[tuple[int, bytes]] = []
        base = self._kept.get(offset)
        while base is None:
            number, size, at, before = self._header(offset)
            if size > MOST_INFLATED:
                return None
            content = inflate(self._pack, at, size, self._budget, exact=True)
            if content is None:
                return None
            if number in KINDS:
                base = self._keep(offset, GitObject(KINDS[number], content))
            elif len(deltas) < _LONGEST_CHAIN:
                deltas.append((offset, content))
                offset = before
                base = self._kept.get(offset)
            else:
                raise ReadError("an object in it depends on too many others")
        for place, delta in reversed(deltas):
            made = _applied(delta, base.content, self._budget)
            if made is None:
                return None
            base = self._keep(place, GitObject(base.kind, made))
        return base

    def _keep(self, offset: int, found: GitObject) -> GitObject:
        """Keep an object for those that are made of it: neighbours in a history are."""
        if self._kept_bytes > _MOST_KEPT:
            self._kept.clear()
            self._kept_bytes = 0
        self._kept[offset] = found
        self._kept_bytes += len(found.content)
        return found

    def _header(self, offset: int) -> tuple[int, int, int, int]:
        """Return the number of a kind, a size, where the content begins, and where what it is made of stands."""
        head = self._read(self._pack, _LONGEST_HEADER, offset).ljust(_LONGEST_HEADER, b"\0")
        size, at = head[0] & 15, 1
        shift = 4
        while head[at - 1] & 128:
            size |= (head[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if at > _LONGEST_NUMBER:
                raise ReadError("a pack in it is damaged")
        number = head[0] >> 4 & 7
        if number == _OFFSET_DELTA:
            back, at = _distance(head, at)
            return number, size, offset + at, self._earlier(offset - back)
        if number == _NAMED_DELTA:
            before = self.offset_of(head[at : at + 20])
            if before is None:
                raise ReadError("an object in it needs one that is missing")
            return number, size, offset + at + 20, before
        if number not in KINDS:
            raise ReadError("a pack in it is damaged")
        return number, size, offset + at, 0

    @staticmethod
    def _earlier(offset: int) -> int:
        if offset < _HEAD:
            raise ReadError("a pack in it is damaged")
        return offset

    def _range(self, first: int) -> tuple[int, int]:
        low, high = (self._counts[first - 1] if first else 0), self._counts[first]
        if not 0 <= low <= high <= self._total:
            raise ReadError("the index of a pack in it is damaged")
        return low, high

    def _first_from(self, raw: bytes, low: int, high: int) -> int:
        while low < high:
            middle = (low + high) // 2
            if self._name(middle) < raw:
                low = middle + 1
            else:
                high = middle
        return low

    def _name(self, place: int) -> bytes:
        return self._at(_NAMES + 20 * place, 20)

    def _offset(self, place: int) -> int:
        table = _NAMES + 24 * self._total
        offset = int(struct.unpack(">I", self._at(table + 4 * place, 4))[0])
        if offset & _LARGE:
            at = table + 4 * self._total + 8 * (offset - _LARGE)
            offset = int(struct.unpack(">Q", self._at(at, 8))[0])
        if not _HEAD <= offset < 1 << 62:
            raise ReadError("the index of a pack in it is damaged")
        return offset

    def _at(self, offset: int, size: int) -> bytes:
        content = self._read(self._index, size, offset)
        if len(content) != size:
            raise ReadError("the index of a pack in it is truncated")
        return content

    def _read(self, descriptor: int, size: int, offset: int) -> bytes:
        self._budget.charge(size)
        try:
            content = os.pread(descriptor, size, offset)
        except OSError as error:
            raise ReadError(f"a pack in it cannot be read: {error.strerror}") from error
        if not content:
            raise ReadError("a pack in it is truncated")
        return content


def open_pack(index_path: str, budget: Budget) -> Pack | None:
    """Open a pack and its index; None where it was packed anew meanwhile, or its index is of an earlier version."""
    root = [os.path.dirname(index_path)]
    descriptors: list[int] = []
    try:
        descriptors.append(open_file(index_path, root))
        descriptors.append(open_file(index_path.removesuffix(".idx") + ".pack", root))
        are_files = all(stat.S_ISREG(os.fstat(each).st_mode) for each in descriptors)
        if are_files and os.pread(descriptors[0], len(_INDEX_MAGIC), 0) == _INDEX_MAGIC:
            pack = Pack(descriptors[0], descriptors[1], budget)
            descriptors = []
            return pack
    except OSError:
        return None
    finally:
        for each in descriptors:
            os.close(each)
    return None


def inflate(descriptor: int, offset: int, size: int, budget: Budget, *, exact: bool) -> bytes | None:
    """Inflate what stands at an offset: exactly `size` bytes, or at most; None where it is longer than may be."""
    inflater = zlib.decompressobj()
    pieces: list[bytes] = []
    left = size + 1
    try:
        while left > 0 and not inflater.eof:
            compressed = inflater.unconsumed_tail or os.pread(descriptor, _CHUNK, offset)
            if not compressed:
                raise ReadError("an object in it is truncated")
            if not inflater.unconsumed_tail:
                offset += len(compressed)
            piece = inflater.decompress(compressed, left)
            budget.charge(len(compressed) + len(piece))
            pieces.append(piece)
            left -= len(piece)
    except (OSError, zlib.error) as error:
        raise ReadError("an object in it is damaged") from error
    if left <= 0 and not exact:
        return None
    if exact and left != 1:
        raise ReadError("an object in it is damaged")
    return b"".join(pieces)


def _distance(head: bytes, at: int) -> tuple[int, int]:
    """Return how far back the base of a delta stands, and where that number ends."""
    back = head[at] & 127
    while head[at] & 128:
        at += 1
        back = (back + 1 << 7) | head[at] & 127
        if at > 2 * _LONGEST_NUMBER:
            raise ReadError("a pack in it is damaged")
    return back, at + 1


def _applied(delta: bytes, base: bytes, budget: Budget) -> bytes | None:
    """Return the object that a delta makes of another; None where it is larger than what is read."""
    try:
        before, at = _length(delta, 0)
        after, at = _length(delta, at)
        if before != len(base):
            raise ReadError("an object in it is damaged")
        if after > MOST_INFLATED:
            return None
        budget.charge(after)
        made = _pieces(delta, at, base, after)
    except IndexError as error:
        raise ReadError("an object in it is damaged") from error
    if len(made) != after:
        raise ReadError("an object in it is damaged")
    return made


def _pieces(delta: bytes, at: int, base: bytes, most: int) -> bytes:
    made = bytearray()
    while at < len(delta) and len(made) <= most:
        order, at = delta[at], at + 1
        if order & 128:
            start, size, at = _copied(delta, at, order)
            made += base[start : start + size]
        elif order:
            made += delta[at : at + order]
            at += order
        else:
            raise ReadError("an object in it is damaged")
    return bytes(made)


def _copied(delta: bytes, at: int, order: int) -> tuple[int, int, int]:
    """Return which part of the base is copied, and where the order ends."""
    start = size = 0
    for bit in range(4):
        if order & 1 << bit:
            start, at = start | delta[at] << 8 * bit, at + 1
    for bit in range(3):
        if order & 16 << bit:
            size, at = size | delta[at] << 8 * bit, at + 1
    return start, size or 0x10000, at


def _length(delta: bytes, at: int) -> tuple[int, int]:
    length = shift = 0
    while True:
        byte, at = delta[at], at + 1
        length |= (byte & 127) << shift
        shift += 7
        if not byte & 128 or shift > _LARGEST_BITS:
            return length, at
