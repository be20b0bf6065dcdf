"""Short looks at a SQLite database that another program writes meanwhile, which must not notice.

Nothing is written: no file is made beside it, none goes away, and no lock outlives a look. Which way is safe depends on
what lies beside the file, so it is decided before SQLite opens it, and held still meanwhile: with a shared lock on the
file, no other connection can close as the last one and delete its ``-wal``. That lock belongs to our descriptor, not
to the process, so SQLite does not lose it.

| beside the file | how it is read |
|---|---|
| ``-wal`` and ``-shm`` | as any reader |
| no ``-wal``, or an empty one | as a file that nobody changes, and looked at again afterwards |
| ``-wal`` without ``-shm``: it was copied, or its owner begins | without ``-shm`` or locks, and looked at again |

In a file without a write-ahead log a reader keeps writers out while it reads, so each statement is to be short.
"""

from __future__ import annotations

import os
import stat
import struct
import threading
import time
import urllib.parse
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import Enum
from typing import Final, NamedTuple, TypeVar

import apsw

from grader_daemon.errors import ChangingFileError, ReadError
from grader_daemon.sources.file_reading import explain, look_at, opened, stamp_of
from grader_daemon.system.open_files import lock_for_reading

Value = str | int | float | bytes | None
T = TypeVar("T")

MAGIC: Final = b"SQLite format 3\0"
"""The beginning of every database."""

_VERSIONS = slice(18, 20)
"""Versions for writing and reading in the header; 2 is with a write-ahead log."""

_WITH_LOG = 2
_SHARED_RANGE = (0x40000002, 510)
"""The bytes of a file that SQLite's readers lock, and whoever wants it alone."""

_EDGE = 1 << 64
_BESIDE = struct.Struct(">4Q").pack
_FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
_TRIES = 3
_PAUSE_SECONDS = 0.05
_BUSY_MILLISECONDS = 200
_SHORT_SECONDS = 0.08
_LONGEST_SECONDS = 5.0
_LONGEST_VALUE = 268_435_456
_STEPS = 10_000
_COLUMNS = (
    "SELECT c.name FROM pragma_table_list(?1) AS t JOIN pragma_table_info(?1) AS c WHERE t.type = 'table'"
    " AND t.schema = 'main'"
)

_guards: weakref.WeakValueDictionary[tuple[int, int], threading.Lock] = weakref.WeakValueDictionary()
"""Locks by device and inode, held by who looks at a file, alone. Closing any descriptor of a file drops the locks that
our process has on it, those of another thread's connection too. Guarded by `_guarding`.
"""

_guarding = threading.Lock()


class Reader:
    """A connection to read by, for one look. Statements are committed one by one."""

    def __init__(self, connection: apsw.Connection, identity: tuple[int, int]) -> None:
        """`identity`: device and inode of the file."""
        self.identity = identity
        self._connection = connection
        self._began = time.monotonic()

    @property
    def is_late(self) -> bool:
        """True if the look has lasted so long that what is left belongs into another one."""
        return time.monotonic() - self._began > _SHORT_SECONDS

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        """Return all rows of one SELECT, which is to end in a LIMIT where many are possible."""
        return self._connection.execute(statement, values).fetchall()

    def columns(self, table: str) -> frozenset[str]:
        """Return the names of a table's columns; none where there is no such table.

        Values that are computed, in a view or a generated column, are none: a small file could hold any number of any
        size.
        """
        return frozenset(str(row[0]) for row in self.rows(_COLUMNS, (table,)))


def number_of(value: Value) -> int:
    """Return a whole number; 0 for what is none."""
    return value if isinstance(value, int) else 0


def look_into(path: str, read: Callable[[Reader], T], *, roots: Sequence[str] = ()) -> T:
    """Return what `read` makes of the database at `path`.

    Args:
        path: below one of `roots` no link is followed to it.
        read: may be called again if the file changed meanwhile, so it has no effect but its result. It should return
            once its reader is late.
        roots: the folders that are watched.

    Raises:
        VanishedFileError: it is gone.
        ChangingFileError: its owner is writing, or keeps it locked.
        ReadError: it cannot be read, or is damaged.
    """
    for tried in range(1, _TRIES + 1):
        try:
            return _look_once(path, read, roots)
        except (ChangingFileError, apsw.BusyError, apsw.LockedError) as error:
            if tried == _TRIES:
                raise ChangingFileError("the database is being written to") from error
        except (apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
            if tried == _TRIES:
                raise ReadError(f"the database cannot be read: {error}") from error
        except apsw.InterruptError as error:
            raise ReadError(f"reading the database takes longer than {_LONGEST_SECONDS:g} s") from error
        except (apsw.Error, UnicodeDecodeError) as error:
            raise ReadError(f"the database has an unknown structure: {' '.join(str(error).split())}") from error
        time.sleep(_PAUSE_SECONDS)
    raise AssertionError("unreachable")


def database_beside(path: str) -> str:
    """Return the database whose log or journal a file is; any other file is one itself."""
    log = next((end for end in ("-wal", "-journal") if path.endswith(end)), "")
    return path.removesuffix(log)


def database_stamp(path: str) -> bytes:
    """Return what differs whenever the content of a database does: the stamps of its file and of its ``-wal``.

    Raises:
        VanishedFileError: it is gone.
        ReadError: it cannot be looked at.
    """
    return stamp_of(look_at(path)) + _stamp_beside(path, "-wal")


class _Way(Enum):
    """Parameters of a file's address that say how SQLite is to open it."""

    AS_READER = "mode=ro"
    UNCHANGING = "mode=ro&immutable=1"
    ALONE = "mode=ro&vfs=unix-none"


class _Surroundings(NamedTuple):
    """State that must not change while a file is read in a way in which SQLite does not see that."""

    file: bytes
    log: bytes
    has_index: bool


def _look_once(path: str, read: Callable[[Reader], T], roots: Sequence[str]) -> T:
    with _alone_with(path), opened(path, roots) as descriptor:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ReadError("not a regular file")
        real = _real_path(path, roots)
        has_log = _has_log(os.pread(descriptor, 100, 0))
        if has_log:
            _hold_still(descriptor)
        before = _surroundings(real, descriptor)
        way = _way(has_log, before, real)
        if way is _Way.AS_READER and has_log and status.st_uid != os.geteuid():
            raise ReadError("belongs to another user; the daemon must run as the user that owns it")
        with closing(_connect(real, way)) as connection:
            result = read(Reader(connection, (status.st_dev, status.st_ino)))
        if way is not _Way.AS_READER and _surroundings(real, descriptor) != before:
            raise ChangingFileError("the database was written to while it was read")
        now = look_at(path)
        if (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino):
            raise ChangingFileError("the database was replaced while it was read")
        return result


@contextmanager
def _alone_with(path: str) -> Iterator[None]:
    """Keep other threads of ours from looking at the same file."""
    status = look_at(path)
    if stat.S_ISLNK(status.st_mode):
        raise ReadError("a symbolic link, which is not followed")
    with _guarding:
        guard = _guards.setdefault((status.st_dev, status.st_ino), threading.Lock())
    with guard:
        yield


def _has_log(header: bytes) -> bool:
    """Return whether a database has a write-ahead log, by its first bytes."""
    if not header:
        raise ChangingFileError("the database is empty")  # and SQLite would delete a -wal beside it
    if not header.startswith(MAGIC):
        raise ReadError("not a SQLite database")
    return _WITH_LOG in header[_VERSIONS]


def _hold_still(descriptor: int) -> None:
    """Keep other connections from closing as the last one; our lock goes when the descriptor is closed."""
    try:
        lock_for_reading(descriptor, *_SHARED_RANGE)
    except BlockingIOError as error:
        raise ChangingFileError("the database is locked by its owner") from error
    except OSError as error:
        raise ReadError(f"it cannot be locked for reading: {explain(error)}") from error


def _way(has_log: bool, before: _Surroundings, real: str) -> _Way:  # noqa: FBT001  what the header says
    if before.log:
        return _Way.AS_READER if before.has_index else _Way.ALONE
    return _Way.UNCHANGING if has_log or os.path.lexists(real + "-wal") else _Way.AS_READER


def _surroundings(real: str, descriptor: int) -> _Surroundings:
    return _Surroundings(stamp_of(os.fstat(descriptor)), _stamp_beside(real, "-wal"), os.path.lexists(real + "-shm"))


def _stamp_beside(path: str, suffix: str) -> bytes:
    """Return what tells the content of a file beside a database from another; nothing for none or an empty one.

    Not the time of its change: SQLite sets the owner of what it opens beside a database anew where it runs as root.
    """
    try:
        status = os.lstat(path + suffix)
    except OSError:
        return b""
    return _BESIDE(*(number % _EDGE for number in _numbers_of(status))) if status.st_size else b""


def _numbers_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _real_path(path: str, roots: Sequence[str]) -> str:
    """Return a path without links but those below a root, so that SQLite can be told to follow none."""
    for root in sorted(roots, key=len, reverse=True):
        head = os.path.join(root, "")
        if path.startswith(head):
            return os.path.join(os.path.realpath(root), path[len(head) :])
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _connect(real: str, way: _Way) -> apsw.Connection:
    address = urllib.parse.quote_from_bytes(os.fsencode(real))
    connection = apsw.Connection(f"file://{address}?{way.value}", flags=_FLAGS)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        ends = time.monotonic() + _LONGEST_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
        if way is _Way.ALONE:
            connection.execute(
                "PRAGMA locking_mode = EXCLUSIVE"
            ).fetchall()  # so the index of the log is kept in memory
    except BaseException:
        connection.close()
        raise
    return connection
