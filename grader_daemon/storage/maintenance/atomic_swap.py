"""Putting a new database file in the place of an old one, which is kept.

SQLite finds a database's write-ahead log by its name alone, so a log that is left behind by one file and found by
another damages it (https://www.sqlite.org/howtocorrupt.html, 1.4 and 2.4). Hence the order here:

1. Nobody else has the file open. SQLite's own locks tell: each connection to a WAL database holds one all the time.
2. The log moves to the name under which the old database will be kept.
3. The old file gets that name too, as a second one.
4. The new file, which has no companions, takes the first name.

A crash between them leaves the old database under its name, from 2 on without its log, and never a log beside another
file; nothing is lost, for all of it is there under one name or the other.

A descriptor of the database is never opened but by SQLite: closing it would drop this process's locks (2.2 there).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

import apsw

from grader_daemon.errors import StoreBusyError, StoreError
from grader_daemon.storage.sqlite.database import translated
from grader_daemon.system.open_files import sync

COMPANIONS = ("-wal", "-shm", "-journal")
_TEMPORARY = ".tmp"
_FLAGS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Return an empty file beside `path`, readable by its owner alone; what is left of it at the end is deleted.

    Raises:
        StoreError: the folder does not exist, or may not be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_TEMPORARY)
        os.close(descriptor)
    except OSError as error:
        raise StoreError(f"{path.parent}: cannot be written: {error.strerror}") from error
    try:
        yield Path(name)
    finally:
        for suffix in ("", *COMPANIONS):
            with suppress(FileNotFoundError):
                os.unlink(name + suffix)


def leftovers(path: Path) -> list[Path]:
    """Temporary files that an interrupted program left beside the database `path`."""
    head = f".{path.name}."
    ends = tuple(_TEMPORARY + suffix for suffix in ("", *COMPANIONS))
    return sorted(each for each in path.parent.iterdir() if each.name.startswith(head) and each.name.endswith(ends))


def kept_copies(path: Path) -> list[Path]:
    """Former databases that stand beside the database `path`, the oldest first."""
    heads = tuple(f"{path.name}.{why}-" for why in ("damaged", "before-restore", "before-upgrade", "before-release"))
    kept = [each for each in path.parent.iterdir() if each.name.startswith(heads)]
    return sorted(
        (each for each in kept if not each.name.endswith(COMPANIONS)), key=lambda each: each.name.rpartition("-")[2]
    )


def swap_in(fresh: Path, path: Path, *, why: str, now: datetime) -> Path | None:
    """Rename the closed database `fresh` to `path`; returns the name under which the former one is kept.

    `why` ("damaged", "before-restore") and the time are part of that name. None when there was none.

    Raises:
        StoreBusyError: a program has the former database open.
        StoreError: it cannot be done; the former database is where it was.
    """
    try:
        _sync(fresh)
        with _alone_in(path), ExitStack() as undo:
            kept = _keep(path, why, now, undo)
            os.replace(fresh, path)
            undo.pop_all()
        _sync(path.parent)
    except OSError as error:
        raise StoreError(f"database {path}: cannot be replaced: {error.strerror}") from error
    return kept


def publish(fresh: Path, target: Path) -> None:
    """Rename the closed file `fresh` to `target`, for good; a link in its place is replaced, not followed.

    Raises:
        StoreError: it cannot.
    """
    try:
        _sync(fresh)
        os.replace(fresh, target)
        _sync(target.parent)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror}") from error


@contextmanager
def _alone_in(path: Path) -> Iterator[None]:
    """Keep everybody else out of the file, whatever is in it. Nothing to do where there is none."""
    if not os.path.lexists(path):
        yield
        return
    with translated(path):
        file = apsw.VFSFile("", str(path), [_FLAGS, 0])
    try:
        _lock(file, path)
        yield
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()


def _lock(file: apsw.VFSFile, path: Path) -> None:
    try:
        with translated(path):
            for level in (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED, apsw.SQLITE_LOCK_EXCLUSIVE):
                file.xLock(level)
    except StoreBusyError as error:
        raise StoreBusyError(f"database {path}: a program is using it; stop that program and try again") from error


def _keep(path: Path, why: str, now: datetime, undo: ExitStack) -> Path | None:
    """Rename a database and its log, and return the new name; SQLite makes a ``-shm``, an index of the log, anew."""
    logs = [suffix for suffix in ("-wal", "-journal") if _has_content(f"{path}{suffix}")]
    if not logs and not os.path.lexists(path):
        return None
    kept = _free_name(path.with_name(f"{path.name}.{why}-{now:%Y%m%dT%H%M%SZ}"))
    for suffix in logs:
        os.rename(f"{path}{suffix}", f"{kept}{suffix}")
        undo.callback(os.rename, f"{kept}{suffix}", f"{path}{suffix}")
    for suffix in COMPANIONS:
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")
    _sync(path.parent)
    if os.path.lexists(path):
        os.link(path, kept, follow_symlinks=False)
        undo.callback(os.unlink, kept)
    return kept


def _has_content(file: str) -> bool:
    try:
        return os.lstat(file).st_size > 0
    except FileNotFoundError:
        return False


def _free_name(wanted: Path) -> Path:
    """Return the name, with a number if it is taken."""
    candidates = (wanted, *(wanted.with_name(f"{wanted.name}.{number}") for number in range(2, 1000)))
    return next((name for name in candidates if not os.path.lexists(name)), wanted)


def _sync(path: Path) -> None:
    """Bring a closed file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)
