"""Files: opened without following links, kept in memory, brought to the disk, named in few bytes, locked by range."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags to open a file that is not ours."""

ROOT_FLAGS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
"""Flags to open a folder on the way to one, which may be a link; without O_PATH it must be readable."""

FOLDER_FLAGS: Final = ROOT_FLAGS | os.O_NOFOLLOW
"""Flags to open a folder that may be no link."""

_FULL_SYNC: Final = getattr(fcntl, "F_FULLFSYNC", None)
_OF_DARWIN: Final = 90
"""F_OFD_SETLK in the headers of macOS; a Python that was built with older ones has no name for it."""

_LONGEST_PATH: Final = 1024
"""MAXPATHLEN of macOS."""

_DESCRIPTORS: Final = Path("/proc/self/fd")


def is_journal(stream: TextIO) -> bool:
    """Return whether lines that go to `stream` end up in the journal; see JOURNAL_STREAM in systemd.exec(5)."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def stored_path(folder: str) -> str:
    """Return the path of a folder as its file system has it: links followed, letters as they were once written.

    On macOS ``/tmp`` is a link, and ``~/Work`` may be asked for as ``~/work``.

    Raises:
        OSError: it cannot be opened.
    """
    ask = getattr(fcntl, "F_GETPATH", None)
    if ask is None:
        return os.path.realpath(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        told: bytes = fcntl.fcntl(descriptor, ask, bytes(_LONGEST_PATH))
    finally:
        os.close(descriptor)
    return os.fsdecode(told.rstrip(b"\0"))


def nameless_file(prefix: str) -> int:
    """Open a file that goes with its last descriptor: in memory, or where a system has no such, a deleted one."""
    in_memory = getattr(os, "memfd_create", None)
    if in_memory is not None:
        return int(in_memory(prefix))
    descriptor, name = tempfile.mkstemp(prefix=f"{prefix}-")
    os.unlink(name)
    return descriptor


def sync(descriptor: int) -> None:
    """Bring a file, or the names in a folder, to the disk; on macOS fsync(2) alone leaves them in the drive's memory.

    Raises:
        OSError: that failed.
    """
    if _FULL_SYNC is not None:
        with suppress(OSError):  # a network's file system has none
            fcntl.fcntl(descriptor, _FULL_SYNC)
            return
    os.fsync(descriptor)


@contextmanager
def in_few_bytes(path: Path, *, most: int) -> Iterator[str]:
    """Yield a name of a path that has at most so many bytes, by way of its folder, while it is needed."""
    if len(os.fsencode(path)) <= most:
        yield str(path)
    elif _DESCRIPTORS.is_dir():
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"{_DESCRIPTORS}/{folder}/{path.name}"
        finally:
            os.close(folder)
    else:
        with tempfile.TemporaryDirectory(prefix="grader-") as short:
            link = Path(short) / "to"
            link.symlink_to(path.parent, target_is_directory=True)
            yield str(link / path.name)


def lock_for_reading(descriptor: int, start: int, length: int) -> None:
    """Lock a range against writers, until the descriptor is closed; see F_OFD_SETLK in fcntl(2).

    Raises:
        BlockingIOError: it is locked for writing.
        OSError: this system, or this file system, has no such lock.
    """
    command = getattr(fcntl, "F_OFD_SETLK", _OF_DARWIN if sys.platform == "darwin" else None)
    if command is None:
        raise OSError(errno.ENOTSUP, "this system has no lock of an open file")
    try:
        fcntl.fcntl(descriptor, command, read_lock(sys.platform, start, length))
    except PermissionError as error:  # POSIX allows this for the same
        raise BlockingIOError(*error.args) from error


def read_lock(platform: str, start: int, length: int) -> bytes:
    """Return the ``struct flock`` of fcntl(2) for a lock to read."""
    if platform == "darwin":
        return struct.pack("qqihh", start, length, 0, fcntl.F_RDLCK, os.SEEK_SET)
    return struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, start, length, 0)
