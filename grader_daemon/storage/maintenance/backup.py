"""A copy of the database while programs write to it, and the way back.

The copy is made within one read transaction, so it is one moment of the database however much is written meanwhile; in
a WAL database a reader holds no writer up. It is a single file that needs no companions (its journal mode is DELETE),
with a mark in its header that says whose backup it is: only such files are ever replaced.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import apsw
import msgspec

from grader_daemon.domain.text import clean
from grader_daemon.errors import InputError, StoreDamagedError, StoreError, StoreFullError
from grader_daemon.storage.maintenance.atomic_swap import COMPANIONS, publish, swap_in, temporary_beside
from grader_daemon.storage.maintenance.inspection import Inspection
from grader_daemon.storage.sqlite.database import MAGIC, check_can_be_read, distrust, translated
from grader_daemon.storage.sqlite.schema import newest_version
from grader_daemon.storage.sqlite.store import SqliteStore

BACKUP_MARK: Final = 0x47724442
"""The application id (https://www.sqlite.org/fileformat.html, 1.3.17) of our backups: "GrDB"."""

_OF_THE_DAEMON = (".lock", ".reading")
_PAGES_A_STEP = 2000
_BUSY_MILLISECONDS = 5000
_MARK_AT = 68
_HEADER = 100


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A finished backup: where it is, how many grades are in it, its size."""

    path: str
    grades: int
    bytes: int


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """A finished restore: how many grades there are now, and where the former database is kept, if there was one."""

    path: str
    grades: int
    kept: str | None


def back_up(path: Path, target: Path) -> Backup:
    """Copy the database `path` to `target`, which gets its name only when the copy is whole and checked.

    Raises:
        InputError: `target` is the database, one of its companions, or anything but an older backup of ours.
        StoreError: the database is damaged or cannot be read, or `target` cannot be written.
    """
    _check_target(path, target)
    with temporary_beside(target) as copy:
        copy_pages(path, copy, target=target, mark=BACKUP_MARK)
        grades = check_copy(copy, of=path)
        publish(copy, target)
    return Backup(path=str(target), grades=grades, bytes=target.stat().st_size)


def restore(backup: Path, path: Path, *, now: datetime) -> Restored:
    """Swap in a copy of `backup` for the database `path`, which is kept; no daemon may run on it.

    Raises:
        InputError: `backup` is not a database of grades, or newer than this program.
        StoreError: it is damaged, or a program has the database open, or something cannot be written.
    """
    with _of_backup(backup):
        _check_backup(backup, path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with temporary_beside(path) as fresh:
        with translated(backup):
            source = distrust(apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY))
        with closing(source), _of_backup(backup), translated(backup), _writing_to(path):
            _copy(source, fresh, mark=0)
        settle(fresh)
        grades = check_copy(fresh, of=backup)
        _fold_log_in(path)
        kept = swap_in(fresh, path, why="before-restore", now=now)
    return Restored(path=str(path), grades=grades, kept=None if kept is None else str(kept))


def copy_pages(path: Path, copy: Path, *, target: Path, mark: int) -> None:
    """Copy the database `path`, as of one moment, into the empty file `copy`, which `target` is the name of at the end.

    Raises:
        StoreError: it cannot be read, or the copy not be written.
    """
    check_can_be_read(path)
    with translated(path):
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    with closing(source), translated(path), _writing_to(target):
        source.set_busy_timeout(_BUSY_MILLISECONDS)
        _copy(source, copy, mark=mark)


def settle(fresh: Path) -> None:
    """Bring a database that nobody uses to the current schema, and leave it as one file without companions."""
    store = SqliteStore(fresh)
    with closing(store), translated(fresh):
        store.connection.execute("PRAGMA journal_mode = DELETE").fetchall()


def _fold_log_in(path: Path) -> None:
    """Empty the log into the database if nobody uses it, so that it is one file; a damaged one stays as it is.

    Of an empty file SQLite would delete the log.
    """
    if not path.exists() or not path.stat().st_size:
        return
    with suppress(apsw.Error), closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _copy(source: apsw.Connection, fresh: Path, *, mark: int) -> None:
    """Copy all pages as of now into an empty file."""
    with closing(apsw.Connection(str(fresh))) as copy:
        # A file that nobody else knows needs no journal, and it is synced when it is whole.
        copy.execute("PRAGMA journal_mode = OFF").fetchall()
        copy.execute("PRAGMA synchronous = OFF")
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchall()  # the transaction begins to read here
        with copy.backup("main", source, "main") as pages:
            while not pages.done:
                pages.step(_PAGES_A_STEP)
        source.execute("COMMIT")
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        copy.execute(f"PRAGMA application_id = {mark}")


def check_copy(copy: Path, *, of: Path) -> int:
    """Count the grades of a copy.

    Raises:
        StoreError: it is damaged, which the original then is too, or holds no grades.
    """
    with Inspection(copy) as inspection:
        if inspection.schema() is None:
            raise StoreError(f"database {of}: there are no grades in it")
        damage = inspection.damage()
        if damage:
            raise StoreError(f"database {of}: damaged ({damage[0]}); see 'grader-daemon doctor'")
        return inspection.grades()


def _check_target(path: Path, target: Path) -> None:
    """Check that `target` may be written."""
    real = target.parent.resolve() / target.name
    reserved = {path.parent.resolve() / f"{path.name}{suffix}" for suffix in ("", *COMPANIONS, *_OF_THE_DAEMON)}
    if real in reserved or _is_same(target, path):
        raise InputError(f"{target}: belongs to the database itself; name another file")
    try:
        status = target.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{target}: {error.strerror}") from error
    if stat.S_ISLNK(status.st_mode) and (not target.exists() or target.is_file() or target.is_dir()):
        return
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{target}: is a folder; name a file")
    if not stat.S_ISREG(status.st_mode) or _mark_of(target) != BACKUP_MARK:
        raise InputError(f"{target}: already exists and is not a backup of grader-daemon; name another file")


def _check_backup(backup: Path, path: Path) -> None:
    """Check that `backup` can take the place of the database."""
    if not backup.is_file():
        fault = "is a folder; name a file" if backup.is_dir() else "no such file"
        raise InputError(f"{backup}: {fault}")
    if _is_same(backup, path):
        raise InputError(f"{backup}: is the database itself")
    with Inspection(backup) as inspection:
        schema = inspection.schema()
        if schema is None:
            raise InputError(f"{backup}: is not a database of grades")
        damage = inspection.damage()
        if damage:
            raise StoreError(f"{backup}: is damaged ({damage[0]}); nothing was changed: restore another backup")
        if schema > newest_version():
            raise InputError(f"{backup}: its schema {schema} is newer than this program's; update grader-daemon")
        strange = inspection.strange_entries() or ["user_version"] * (inspection.user_version() != 0)
        if strange:
            named = ", ".join(map(clean, strange[:3]))
            raise InputError(f"{backup}: its schema is not grader-daemon's ({named}); nothing was changed")


def _mark_of(target: Path) -> int | None:
    """Return the application id of a file; None when it is no SQLite database, or cannot be read."""
    try:
        with open(target, "rb") as file:
            header = file.read(_HEADER)
    except OSError:
        return None
    return int.from_bytes(header[_MARK_AT : _MARK_AT + 4]) if header.startswith(MAGIC) else None


def _is_same(one: Path, other: Path) -> bool:
    """Return whether these are one file, by whatever name; a link is none of the files that it leads to."""
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


@contextmanager
def _of_backup(backup: Path) -> Iterator[None]:
    """A backup that is damaged is not repaired: the database in its place is whole."""
    try:
        yield
    except StoreDamagedError as error:
        raise StoreError(
            f"{backup}: is damaged, or not a database; nothing was changed: restore another backup"
        ) from error


@contextmanager
def _writing_to(target: Path) -> Iterator[None]:
    """Return what goes wrong with the copy, not with what is copied."""
    try:
        yield
    except apsw.FullError as error:
        raise StoreFullError(f"{target}: the disk is full; the incomplete file was removed") from error
    except (apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError) as error:
        raise StoreError(f"{target}: cannot be written: {error}") from error
