"""Objects of an archive as files in a folder of their own, where the sources find the sessions in them.

Names come from whoever packed them: nothing is written outside of the folder, and nothing but plain files.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from grader_daemon.archive.objects import Archive
from grader_daemon.archive.slices import File, OpenReadings, Slice
from grader_daemon.domain.text import count
from grader_daemon.errors import ReadError

AT_ONCE_BYTES: Final = 64 * 1024 * 1024
"""So much is unpacked at once, at least one file: a packed file of any size needs no more room."""
_AT_ONCE_FILES: Final = 4_000
_CHUNK: Final = 64 * 1024
"""Memory for more than 128 KB at once comes from the kernel, which takes longer than to read a session."""
_LONGEST_NAME: Final = 255
"""In bytes, of a name in Linux."""
_MOST_FOLDERS: Final = 100
"""Of a path here, with those of the folder itself: agents have ten; who makes folders calls himself for each."""
_SHOWN: Final = 200
"""Characters of a name that is told."""
_BY_ITS_NAME: Final = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG)
_DAMAGED: Final = (OSError, EOFError, OverflowError, ValueError, ReadError, RecursionError, MemoryError)


class Unreadable(NamedTuple):
    """An object that cannot be read, or not to its end, and why."""

    name: str
    reason: str


class Unpacked(NamedTuple):
    """The files that lie in the folder now, and what was found since the time before.

    files: how many they are.
    unreadable: what could not be read.
    goes_on: slices behind which there are others.
    """

    files: int
    unreadable: list[Unreadable]
    goes_on: list[Slice]


def unpack(
    archive: Archive, slices: Iterable[Slice], folder: Path, *, most_bytes: int, readings: OpenReadings
) -> Iterator[Unpacked]:
    """Fill a folder with the files of some slices, over and over until all were there; it is emptied in between.

    Of a file of more than `most_bytes` one byte more is written: whoever looks at it sees that it is too large.
    """
    files = size = 0
    unreadable: list[Unreadable] = []
    goes_on: list[Slice] = []
    for piece in slices:
        refused = _Refused()
        reading = readings.take(archive, piece)
        try:
            for file in reading.files(piece.number):
                path = os.path.join(folder, *_parts(file.name))
                if os.path.lexists(path) or size >= AT_ONCE_BYTES or files >= _AT_ONCE_FILES:
                    yield Unpacked(files, unreadable, goes_on)
                    _empty(folder)
                    files, size, unreadable, goes_on = 0, 0, [], []
                written = refused.unless_written(file, path, most_bytes)
                size += written or 0
                files += written is not None
        except _DAMAGED as error:
            unreadable.append(Unreadable(piece.stored.name, str(error) or type(error).__name__))
            reading.close()
        else:
            goes_on += [] if reading.has_ended else [piece]
            readings.put_back(archive, piece, reading)
        unreadable += refused.told(piece.stored.name)
    yield Unpacked(files, unreadable, goes_on)


class _Refused:
    """Files of a slice that cannot be written here: told in one line, however many they are."""

    def __init__(self) -> None:
        self._first: tuple[str, str] | None = None
        self._others = 0

    def unless_written(self, file: File, path: str, most_bytes: int) -> int | None:
        """Write a file and return how large it is, None if it is none or cannot be written."""
        if file.content is None and file.refused is None:
            return None
        try:
            return _write(file, path, most_bytes)
        except _UnwritableError as error:
            self._others += self._first is not None
            self._first = self._first or (file.name, str(error))
        return None

    def told(self, stored: str) -> list[Unreadable]:
        if self._first is None:
            return []
        name, reason = self._first
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}\N{HORIZONTAL ELLIPSIS}"
        others = f" (and {count(self._others, 'file')} more)" if self._others else ""
        return [Unreadable(f"{stored}: {shown}", f"{reason}{others}")]


def _write(file: File, path: str, most_bytes: int) -> int:
    """Write a file, whole or not at all, and return how large it is.

    Raises:
        _UnwritableError: it, or its name, is one that no file here can be or have.
    """
    if file.content is None:
        raise _UnwritableError(file.refused)
    left = most_bytes + 1
    written = _created(path)
    try:
        with written:
            while left > 0 and (chunk := file.content.read(min(_CHUNK, left))):
                left -= written.write(chunk)
        os.utime(path, ns=(file.written_ns, file.written_ns))
    except BaseException:
        os.unlink(path)
        raise
    return most_bytes + 1 - left


class _UnwritableError(Exception):
    """A file cannot be made; those behind it can."""


def _created(path: str) -> BinaryIO:
    if path.count("/") > _MOST_FOLDERS:
        raise _UnwritableError(f"it is nested in more than {_MOST_FOLDERS} folders")
    try:
        if not os.path.isdir(folder := os.path.dirname(path)):
            os.makedirs(folder)
        return open(path, "wb")
    except OSError as error:
        if error.errno not in _BY_ITS_NAME:
            raise
        raise _UnwritableError(f"its name cannot be that of a file here: {error.strerror}") from error


def _parts(name: str) -> list[str]:
    """Return the folders and the name of a file, none of which leads out of where they are."""
    parts = [_short(part.replace("\0", "_")) for part in name.split("/") if part not in ("", ".", "..")]
    return parts or ["unnamed"]


def _short(part: str) -> str:
    """Return the end of a name that is too long: what it is, its suffix tells."""
    encoded = os.fsencode(part)
    return part if len(encoded) <= _LONGEST_NAME else os.fsdecode(encoded[-_LONGEST_NAME:])


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
