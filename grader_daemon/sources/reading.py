"""Bytes of a file that is not ours: nothing but regular files opened, changes noticed, no links followed.

Not those of folders either: a file is opened folder by folder from the root that is watched, so a link that is put in
the place of one of them leads nowhere. The root itself, and what is above it, may be links.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

import msgspec

from grader_daemon.domain.ledger import FileStamp
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, VanishedFileError
from grader_daemon.redaction import public_id
from grader_daemon.sources.decoding import parse

_EDGE = 1 << 63
"""The ledger keeps integers of 64 bits with a sign, as SQLite does."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ROOT = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER = _ROOT | os.O_NOFOLLOW


def read_session(content: bytes, path: str, *, zone: tzinfo | None, limits: Limits) -> Session | Skipped:
    """Decode the content of a session file; from here on a session is known by the id that can be stored and shown.

    Raises:
        UnfinishedFileError, ParseError: see `parse`.
    """
    read = parse(content, path, zone=zone, limits=limits)
    shown = read.session_id and public_id(read.session_id)
    return read if shown == read.session_id else msgspec.structs.replace(read, session_id=shown)


def look_at(path: str) -> os.stat_result:
    """Give the status of `path` itself, links not followed.

    Raises:
        VanishedFileError: it is gone.
        ReadError: it cannot be looked at.
    """
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise VanishedFileError("the file is gone") from error
    except OSError as error:
        raise ReadError(_explain(error)) from error


def read_file(path: str, found: os.stat_result, *, limits: Limits, roots: Sequence[str] = ()) -> bytes:
    """Read the file whose status was `found`; below one of `roots`, no link is followed to it.

    Raises:
        ParseError: no regular file, or larger than `limits` allow.
        VanishedFileError: it is gone, or a folder on the way to it is.
        ChangingFileError: it is another file by now, or was written to meanwhile.
        ReadError: it cannot be opened or read.
    """
    if not stat.S_ISREG(found.st_mode):
        raise ParseError("not a regular file")
    if found.st_size > limits.bytes:
        raise ParseError(f"{found.st_size:,} bytes are more than max_file_bytes = {limits.bytes:,}")
    try:
        descriptor = _open(path, roots)
        try:
            content = _read_all(descriptor, found.st_size)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise VanishedFileError("the file is gone") from error
    except OSError as error:
        raise ReadError(_explain(error)) from error
    if stamp_of(after) != stamp_of(found):
        raise ChangingFileError("the file was written to while it was read")
    return content


def _open(path: str, roots: Sequence[str]) -> int:
    for root in sorted(roots, key=len, reverse=True):  # the one that is nearest to the file
        head = os.path.join(root, "")
        if path.startswith(head):
            return _open_below(root, path[len(head) :])
    return os.open(path, _FLAGS)


def _open_below(root: str, way: str) -> int:
    *folders, name = way.split(os.sep)
    here = os.open(root, _ROOT)
    try:
        for folder in folders:
            above, here = here, os.open(folder, _FOLDER, dir_fd=here)
            os.close(above)
        return os.open(name, _FLAGS, dir_fd=here)
    finally:
        os.close(here)


def stamp_of(status: os.stat_result) -> FileStamp:
    """What the ledger keeps of a file's status, whatever numbers the file system gives.

    Numbers of devices and inodes (mergerfs hashes these to 64 bits without a sign) are folded and stay distinct. Times
    before 1677 or after 2262 are the nearest in between: a change still shows in the change time.
    """
    return FileStamp(
        _folded(status.st_dev),
        _folded(status.st_ino),
        _bounded(status.st_size),
        _bounded(status.st_mtime_ns),
        _bounded(status.st_ctime_ns),
    )


def written_at(stamp: FileStamp) -> datetime:
    """Modification time as aware UTC."""
    return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)


def _folded(number: int) -> int:
    return (number + _EDGE) % (2 * _EDGE) - _EDGE


def _bounded(number: int) -> int:
    return max(-_EDGE, min(number, _EDGE - 1))


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


def _explain(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied; the daemon must run as the user that owns the session files"
    return error.strerror or str(error)
