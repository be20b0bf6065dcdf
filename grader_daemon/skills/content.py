"""Content of a skill or a configuration file, and the digest of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

import xxhash

from grader_daemon.domain.unit import shown_path

MOST_FILES: Final = 500
"""Most files of a folder that are looked at, in order of their names."""
MOST_FILE_BYTES: Final = 1_048_576
"""Most bytes of a file that is read; of a larger one, name and size count alone."""
_DEEPEST: Final = 4
MADE_BY_RUNNING: Final = frozenset({"__pycache__", "node_modules"})
"""Folders that are there because something was run or fetched, not because somebody wrote a skill."""


class Part(NamedTuple):
    """A file, and what the file system says of it: what is in it differs if this does."""

    name: str
    bytes: int
    mtime_ns: int
    ctime_ns: int
    inode: int


def parts_of(path: str) -> tuple[Part, ...]:
    """Return the files of a folder, or a file itself, named from there; hidden ones and links are none of them.

    Raises:
        OSError: it cannot be looked at.
    """
    status = os.lstat(path)
    if stat.S_ISREG(status.st_mode):
        return (_part("", status),)
    return tuple(islice(_below(path, "", depth=0), MOST_FILES))


def digest_of(path: str, parts: tuple[Part, ...]) -> str:
    """Return a digest of names and content: 32 hex digits of XXH3.

    Raises:
        OSError: a file cannot be read.
    """
    digest = xxhash.xxh3_128()
    for part in parts:
        content = b"" if part.bytes > MOST_FILE_BYTES else _read(os.path.join(path, part.name) if part.name else path)
        digest.update(f"{shown_path(part.name)}\0{part.bytes}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def read_beginning(path: str, most_bytes: int) -> bytes:
    """Return up to so many bytes of a file; what is no file, or a link, is not opened.

    Raises:
        OSError: it cannot be read.
    """
    # O_NONBLOCK: opening a pipe would wait for its other end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "no regular file", path)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most_bytes)
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes:
    return read_beginning(path, MOST_FILE_BYTES)


def _below(folder: str, above: str, *, depth: int) -> Iterator[Part]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith(".") or entry.name in MADE_BY_RUNNING:
            continue
        if entry.is_file(follow_symlinks=False):
            yield _part(above + entry.name, entry.stat(follow_symlinks=False))
        elif depth < _DEEPEST and entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, f"{above}{entry.name}/", depth=depth + 1)


def _part(name: str, status: os.stat_result) -> Part:
    return Part(name, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
