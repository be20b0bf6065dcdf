"""Objects of an archive as files in a folder of their own, where the sources find the sessions in them.

Names come from whoever packed them: nothing is written outside of the folder, and nothing but plain files.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from grader_daemon.archive.objects import Archive, StoredObject, import_package
from grader_daemon.errors import ReadError

AT_ONCE_BYTES: Final = 64 * 1024 * 1024
"""So much is unpacked at once, at least one file: a packed file of any size needs no more room."""
_AT_ONCE_FILES: Final = 4_000
_CHUNK: Final = 64 * 1024
"""Memory for more than 128 KB at once comes from the kernel, which takes longer than to read a session."""
_LONGEST_NAME: Final = 255
"""In bytes, of a name in Linux."""
_LAST_SECOND: Final = 2**33
"""No time later than in 2242 is one of a file."""
_TARS: Final = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")


class Unreadable(NamedTuple):
    """An object that cannot be read, or not to its end, and why."""

    name: str
    reason: str


class Unpacked(NamedTuple):
    """What lies in the folder now: how many files, and what could not be read since the time before."""

    files: int
    unreadable: list[Unreadable]


class _File(NamedTuple):
    name: str
    written_ns: int
    content: Any


def unpack(archive: Archive, objects: Iterable[StoredObject], folder: Path, *, most_bytes: int) -> Iterator[Unpacked]:
    """Fill a folder with the files of some objects, over and over until all were there; it is emptied in between.

    Of a file of more than `most_bytes` one byte more is written: whoever looks at it sees that it is too large.
    """
    files = size = 0
    unreadable: list[Unreadable] = []
    for stored in objects:
        try:
            for file in _files_of(archive, stored):
                path = os.path.join(folder, *_parts(file.name))
                if os.path.lexists(path) or size >= AT_ONCE_BYTES or files >= _AT_ONCE_FILES:
                    yield Unpacked(files, unreadable)
                    _empty(folder)
                    files, size, unreadable = 0, 0, []
                try:
                    size += _write(file, path, most_bytes)
                    files += 1
                except _UnwritableError as error:
                    unreadable.append(Unreadable(f"{stored.name}: {file.name}", str(error)))
        except (OSError, EOFError, OverflowError, ValueError, tarfile.TarError, zlib.error, ReadError) as error:
            unreadable.append(Unreadable(stored.name, str(error) or type(error).__name__))
    yield Unpacked(files, unreadable)


def _files_of(archive: Archive, stored: StoredObject) -> Iterator[_File]:
    with archive.open(stored) as content:
        stem, suffix = _split(stored.name)
        plain = _decompressed(content, suffix)
        if suffix not in _TARS:
            yield _File(stem, stored.written_ns, plain)
            return
        with tarfile.open(fileobj=plain, mode="r|", errorlevel=2) as tar:
            for member in tar:
                inside = tar.extractfile(member) if member.isreg() else None
                if inside is not None:
                    yield _File(f"{stem}/{member.name}", _nanoseconds(member.mtime, stored.written_ns), inside)


def _nanoseconds(seconds: float, otherwise: int) -> int:
    """Return a time in a tar file, which may be none at all."""
    return int(seconds * 1e9) if 0 <= seconds < _LAST_SECOND else otherwise


def _split(name: str) -> tuple[str, str]:
    """Return the name of what is packed, and how: "a.json", ".gz"."""
    suffixes = (*_TARS[1:], ".tar", ".gz", ".zst")
    suffix = next((each for each in suffixes if name.lower().endswith(each)), "")
    return name[: len(name) - len(suffix)], suffix


def _decompressed(content: Any, suffix: str) -> Any:
    if suffix.endswith(("gz",)):
        return gzip.GzipFile(fileobj=content)
    if suffix.endswith("zst"):
        return _Zstandard(content)
    return content


class _Zstandard:
    """A stream of Zstandard, whose errors are those of other streams."""

    def __init__(self, content: Any) -> None:
        self._package = import_package("zstandard")
        self._stream = self._package.ZstdDecompressor().stream_reader(content, read_across_frames=True)

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except self._package.ZstdError as error:
            raise ReadError(str(error)) from error


def _write(file: _File, path: str, most_bytes: int) -> int:
    """Write a file, whole or not at all, and return how large it is.

    Raises:
        _UnwritableError: its name is one that no file here can have.
    """
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
    try:
        if not os.path.isdir(folder := os.path.dirname(path)):
            os.makedirs(folder)
        return open(path, "wb")
    except (NotADirectoryError, FileExistsError, IsADirectoryError) as error:
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
