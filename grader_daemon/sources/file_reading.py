"""Bytes of a file that is not ours: nothing but regular files opened, changes noticed, no links followed.

Not those of folders either: a file is opened folder by folder from the root that is watched, so a link that is put in
the place of one of them leads nowhere. The root itself, and what is above it, may be links.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, VanishedFileError
from grader_daemon.system.open_files import FILE_FLAGS, FOLDER_FLAGS, ROOT_FLAGS

_EDGE = 1 << 63
"""The ledger keeps integers of 64 bits with a sign, as SQLite does."""

_MARK = b"\xef\xbb\xbf"
"""The byte-order mark of UTF-8, which tools on Windows write first, and which says nothing."""

_STAMP = struct.Struct(">5q")
_SIZE = 2
"""Index of the size in a stamp; the fields before it identify the file."""


def look_at(path: str) -> os.stat_result:
    """Return the status of `path` itself; does not follow links.

    Raises:
        VanishedFileError: it is gone.
        ReadError: it cannot be looked at.
    """
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise VanishedFileError("the file is gone") from error
    except OSError as error:
        raise ReadError(explain(error)) from error


def read_file(
    found: Found, status: os.stat_result, *, limits: Limits, roots: Sequence[str] = (), grows: bool = False
) -> bytes:
    """Read a unit's file with this status, exactly as it was found; below one of `roots`, no link to it is followed.

    A byte-order mark at the start is left out. A file that `grows` may be longer by now; it is read up to its former
    end.

    Raises:
        ParseError: no regular file, or larger than `limits` allow.
        VanishedFileError: it is gone, or a folder on the way to it is.
        ChangingFileError: it is another file by now, or was written to meanwhile.
        ReadError: it cannot be opened or read.
    """
    path = found.unit.locator
    if not stat.S_ISREG(status.st_mode):
        raise ParseError("not a regular file")
    size = min(_STAMP.unpack(found.stamp)[_SIZE], status.st_size) if grows else status.st_size
    if size > limits.bytes:
        raise ParseError(f"{size:,} bytes are more than max_file_bytes = {limits.bytes:,}")
    with opened(path, roots) as descriptor:
        content = _read_first(descriptor, size) if grows else _read_all(descriptor, size)
        stamp = stamp_of(os.fstat(descriptor))
    if stamp != found.stamp and not (grows and _has_grown(found.stamp, stamp)):
        raise ChangingFileError("the file was written to while it was read")
    return content.removeprefix(_MARK)


def read_as_is(path: str, *, limits: Limits, roots: Sequence[str]) -> bytes:
    """Read a file as it is now, which nobody looked at before.

    Raises:
        ParseError, VanishedFileError, ChangingFileError, ReadError: see `read_file`.
    """
    status = look_at(path)
    return read_file(found_file(Unit("", path), status), status, limits=limits, roots=roots)


def read_part(path: str, stamp: Stamp, *, start: int, size: int, roots: Sequence[str]) -> bytes:
    """Read a part of a file that is still of this stamp, such as one of its lines.

    Raises:
        VanishedFileError, ChangingFileError, ReadError: see `read_file`.
    """
    with opened(path, roots) as descriptor:
        content = os.pread(descriptor, size, start)
        after = stamp_of(os.fstat(descriptor))
    if after != stamp:
        raise ChangingFileError("the file was written to while it was read")
    return content


def read_beginning(path: str, size: int) -> bytes:
    """Return the first bytes of a file; none of what is no regular file, and of what whoever reads it cannot read."""
    try:
        descriptor = os.open(path, FILE_FLAGS)
        try:
            content = os.read(descriptor, size) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
            return content.removeprefix(_MARK)
        finally:
            os.close(descriptor)
    except OSError:
        return b""


@contextmanager
def opened(path: str, roots: Sequence[str]) -> Iterator[int]:
    """Hand out a descriptor to read a file by; see `open_file`.

    Raises:
        VanishedFileError: it is gone.
        ReadError: it cannot be opened or read.
    """
    try:
        descriptor = open_file(path, roots)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise VanishedFileError("the file is gone") from error
    except OSError as error:
        raise ReadError(explain(error)) from error


def open_file(path: str, roots: Sequence[str]) -> int:
    """Return a descriptor to read a file by, its name no link; below one of `roots`, no link is followed to it.

    Raises:
        OSError: it cannot be opened.
    """
    for root in sorted(roots, key=len, reverse=True):  # the one that is nearest to the file
        head = os.path.join(root, "")
        if path.startswith(head):
            return _open_below(root, path[len(head) :])
    return os.open(path, FILE_FLAGS)


def _open_below(root: str, way: str) -> int:
    *folders, name = way.split(os.sep)
    here = os.open(root, ROOT_FLAGS)
    try:
        for folder in folders:
            above, here = here, os.open(folder, FOLDER_FLAGS, dir_fd=here)
            os.close(above)
        return os.open(name, FILE_FLAGS, dir_fd=here)
    finally:
        os.close(here)


def found_file(unit: Unit, status: os.stat_result) -> Found:
    """Return a file with this status as a found unit. Times outside 1677 to 2262 become the nearest limit."""
    written_ns = status.st_mtime_ns
    if not -_EDGE <= written_ns < _EDGE:
        written_ns = -_EDGE if written_ns < 0 else _EDGE - 1
    return Found(unit, stamp_of(status), written_ns)


def stamp_of(status: os.stat_result) -> Stamp:
    """Return what tells the content of a file from another: device, inode, size, and times of modification and change.

    A modification time can be set by any program, the change time only by the kernel. Whatever numbers the file system
    gives (mergerfs hashes inodes to 64 bits without a sign), they are folded into 64 bits each.
    """
    numbers = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    try:
        return _STAMP.pack(*numbers)
    except struct.error:
        return _STAMP.pack(*((number + _EDGE) % (2 * _EDGE) - _EDGE for number in numbers))


def _has_grown(was: Stamp, now: Stamp) -> bool:
    """Return whether they are of one file, which became longer; one that differs at the same size was written anew."""
    before, after = _STAMP.unpack(was), _STAMP.unpack(now)
    return before[:_SIZE] == after[:_SIZE] and before[_SIZE] < after[_SIZE]


def _read_first(descriptor: int, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := os.read(descriptor, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _read_all(descriptor: int, size: int) -> bytes:
    """Read `size` bytes and see that nothing follows; `read` may give less than it is asked for."""
    content = os.read(descriptor, size + 1)
    if len(content) == size or not content:
        return content
    pieces = [content]
    while piece := os.read(descriptor, 1 << 24):
        pieces.append(piece)
        if sum(map(len, pieces)) > size:
            break
    return b"".join(pieces)


def explain(error: OSError) -> str:
    """Return why a file cannot be read."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied; the daemon must run as the user that owns the session files"
    return error.strerror or str(error)
