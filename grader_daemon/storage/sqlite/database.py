"""One connection to the database file: opening, transactions, and SQLite's exceptions as ours.

SQLite comes with `apsw`: releases up to 3.51.2 can corrupt a WAL database that two connections write and checkpoint at
the same moment, and distributions ship those.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import apsw
import msgspec

from grader_daemon.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReplacedError,
    UnstorableError,
)
from grader_daemon.storage.disk import identity_of, is_disk_full
from grader_daemon.storage.sqlite.schema import applied_version, check_readable, migrate, refuse_unreleased

_BUSY_SECONDS = 5.0
_PRAGMAS = (
    *("journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 4000", "cache_size = -8000"),
    "checkpoint_fullfsync = ON",
)
"""NORMAL: a power cut may take the last commits back, never damage the file; the disk tells what to grade again.

The last is of macOS alone, see `system.open_files.sync`.
"""

_PAGE_BYTES = 4096
"""Of SQLite by itself. A database with our tables may be as small as one page while all of them are in its log."""

_SMALL_BYTES = 100_000_000
"""A database of so many is read through in a fifth of a second."""

MAGIC = b"SQLite format 3\x00"
_TRACE = b"CREATE TABLE session_"
_CHUNK = 1_048_576

IN_MEMORY = Path(":memory:")
"""The path of a database without a file, which is gone when it is closed."""

LISTED = "(SELECT value FROM json_each(?))"
"""A list of values in SQL, given as the one parameter that `listed` makes of them."""


class Database:
    """Reads may come from any thread (one at a time: a lock keeps them apart); writes happen inside `transaction()`."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open, and unless `read_only` create and migrate, the database at `path`, or one `IN_MEMORY`.

        Raises:
            StoreError: it cannot be opened, is no database, or is newer than this program; to read: or older.
        """
        self.path = path
        self.lock = threading.RLock()
        in_file = path != IN_MEMORY
        if in_file and not read_only:
            _create(path)
            _check_writable(path)
        self._doubted = in_file and (not _is_there(path) or path.stat().st_size <= _SMALL_BYTES or _was_left_open(path))
        with translated(path):
            self.connection = distrust(_connect_to_read(path) if read_only else apsw.Connection(str(path)))
            try:
                self._begin(read_only=read_only)
            except BaseException:
                self.connection.close()  # else it and its locks would stay as long as the exception
                raise
        self._files = _identities_of(path, *_log_files_of(path)) if in_file else {}

    def _begin(self, *, read_only: bool) -> None:
        self.connection.set_busy_timeout(int(_BUSY_SECONDS * 1000))
        if read_only:
            check_readable(self.connection, str(self.path))
            return
        self._prepare_patiently()
        if self.path != IN_MEMORY:
            _make_private(self.path)
        self.connection.execute("SELECT 1 FROM session_files LIMIT 1").fetchall()

    def _prepare_patiently(self) -> None:
        """Several programs may open a new database at once; SQLite does not wait for a change of the journal mode."""
        try:
            self._prepare()
        except apsw.BusyError:
            import tenacity  # takes 40 ms, and almost nobody needs it here

            patiently = tenacity.Retrying(
                retry=tenacity.retry_if_exception_type(apsw.BusyError),
                stop=tenacity.stop_after_delay(_BUSY_SECONDS),
                wait=tenacity.wait_random(0.01, 0.1),
                reraise=True,
            )
            patiently(self._prepare)

    def _prepare(self) -> None:
        refuse_unreleased(applied_version(self.connection), str(self.path))
        for pragma in _PRAGMAS:
            self.connection.execute(f"PRAGMA {pragma}").fetchall()
        migrate(self.connection, str(self.path))

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        with self.lock:
            self.connection.close()
        self.part_from_log()

    def part_from_log(self) -> None:
        """Remove the log of the file that is gone, if another one was put in the database's place.

        SQLite cannot know that they do not belong together, and would replay the log into the other file.
        """
        if identity_of(self.path) == self._files.get(self.path):
            return
        for file, identity in self._files.items():
            if file != self.path and identity_of(file) == identity:
                with suppress(OSError):
                    file.unlink()

    @property
    def data_version(self) -> int:
        """A number that is another one after somebody else has written; asked for, it costs microseconds."""
        return int(self.rows("PRAGMA data_version")[0][0])

    @property
    def identity(self) -> str:
        """The file that was opened; one that is put in its place, as by `backup restore`, has another."""
        device, inode = self._files.get(self.path, (0, 0))
        return f"{device:x}.{inode:x}"

    @property
    def in_place(self) -> bool:
        """True if the file that was opened, and its log, are still those at their paths; else writes may be lost."""
        return all(identity_of(file) == identity for file, identity in self._files.items())

    def check_if_doubted(self) -> None:
        """See that the file is sound; a large one is only read through after an unclean end, which leaves a log.

        Raises:
            StoreDamagedError: it is not.
        """
        if self._doubted:
            self.check()

    def check(self) -> None:
        """Read the whole file and see that it is sound; 2 ms for a megabyte.

        Raises:
            StoreDamagedError: it is not.
        """
        found = self.rows("PRAGMA quick_check(1)")[0][0]
        if found != "ok":
            raise _damaged(self.path, " ".join(str(found).split()))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside happens, or nothing of it.

        Raises:
            StoreReplacedError: the file was deleted, moved or replaced.
            StoreBusyError: another program keeps the database locked.
            UnstorableError: it does not take what was to be written.
            StoreError: it cannot be written (full disk, I/O error, damage).
        """
        with self.lock, translated(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._check_place()
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def _check_place(self) -> None:
        if not self.in_place:
            raise StoreReplacedError(f"database {self.path}: it was deleted, moved or replaced")

    def rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        """Run one query and give all its rows."""
        with self.lock, translated(self.path):
            return self.connection.execute(sql, tuple(values)).fetchall()


class Table:
    """A part of the store: some of its tables, on its one connection."""

    def __init__(self, database: Database) -> None:
        self._database = database


def is_made(path: Path) -> bool:
    """Return whether there is a database to read; one without a table is none yet: another program begins to make it.

    A file that cannot be read counts as one: who opens it says what is wrong with it.
    """
    try:
        if not _is_there(path):
            return False
        if not path.is_file() or path.stat().st_size > _PAGE_BYTES:
            return True
        with closing(_connect_to_read(path)) as connection:
            connection.set_busy_timeout(int(_BUSY_SECONDS * 1000))
            return bool(connection.execute("SELECT count(*) FROM sqlite_master").get)
    except (apsw.Error, StoreError):
        return True


def _connect_to_read(path: Path) -> apsw.Connection:
    """Open a database that stays as it is.

    SQLite makes a file beside a WAL database that it reads. Where it may not, nobody who could write has the database
    open if there is no log beside it: then it can be read as one that never changes.
    """
    check_can_be_read(path)
    log = _log_files_of(path)[0]
    if not path.exists() or log.exists() or os.access(path.parent, os.W_OK, effective_ids=True):
        return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    return apsw.Connection(
        f"{path.absolute().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )


def check_can_be_read(path: Path) -> None:
    """Check that what may be a database is a readable file, or not there: to open a pipe would wait for its writer.

    Raises:
        StoreError: it is no file, or this user may not read it or look into its folder.
    """
    if not _is_there(path):
        return
    if not path.is_file():
        raise StoreError(f"database {path}: it is a folder, a device or a pipe; set db_path to a file")
    if not os.access(path, os.R_OK, effective_ids=True):
        mode = stat.S_IMODE(path.stat().st_mode)
        raise StoreError(f"database {path}: no permission to read it (mode {mode:04o}); run this as its owner")


def _is_there(path: Path) -> bool:
    """Return whether there is something at a path; unlike `Path.exists`, in each version of Python alike.

    Raises:
        StoreError: nobody can say, because this user may not look into a folder above it.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        why = str(error.strerror).lower()
        raise StoreError(f"database {path}: cannot be read: {why}; check the mode of its folder") from error
    return True


def _create(path: Path) -> None:
    """Make an empty file for the database, readable by its owner alone: it tells what people do all day.

    A file that exists is never opened here. Closing it would take away every lock that this process holds on it (POSIX
    locks belong to the process, not to the descriptor), and with them the safety of all its other connections.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.lexists(path):
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        regular = stat.S_ISREG(path.lstat().st_mode)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreFullError(f"database {path}: the disk is full") from error
        raise StoreError(f"database {path}: cannot be created: {error.strerror}") from error
    if not regular:
        raise StoreError(
            f"database {path}: cannot be created: it is a link, a folder, a device or a pipe; set db_path to a file"
        )


def _check_writable(path: Path) -> None:
    """SQLite opens what may only be read without a word, and leaves files beside it that nobody may write later.

    Raises:
        StoreError: the file, its folder, or a file that SQLite keeps beside it may not be written to.
    """
    logs = [file for file in _log_files_of(path) if file.exists()]
    for place, name in ((path, "it"), (path.parent, "its folder"), *((file, str(file)) for file in logs)):
        if place in logs and not os.access(place, os.W_OK, effective_ids=True):  # made while it was only to be read
            with suppress(OSError):
                place.chmod(0o600)
        if not os.access(place, os.W_OK, effective_ids=True):
            mode = stat.S_IMODE(os.stat(place).st_mode)
            raise StoreError(f"database {path}: {name} is not writable (mode {mode:04o}, or a read-only disk)")


def _make_private(path: Path) -> None:
    """Keep everybody else from reading the database and the files that SQLite keeps beside it."""
    for file in (path, *_log_files_of(path)):
        with suppress(FileNotFoundError, PermissionError):
            file.chmod(0o600)


def _log_files_of(path: Path) -> tuple[Path, Path]:
    """Return the names of the files that SQLite keeps beside a database while it is open."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def _identities_of(*files: Path) -> dict[Path, tuple[int, int]]:
    """Return device and inode of those of some files that exist."""
    found = {file: identity_of(file) for file in files}
    return {file: identity for file, identity in found.items() if identity is not None}


def distrust(connection: apsw.Connection) -> apsw.Connection:
    """Keep what a file's schema says from reaching out of the file, and from writing where only SQLite may."""
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's exceptions as ours."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusyError(f"database {path}: locked by another program") from error
    except apsw.CantOpenError as error:
        raise StoreError(f"database {path}: cannot be opened; check that it exists and is readable") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise _damaged(path, str(error)) from error
    except (apsw.FullError, apsw.IOError) as error:
        if isinstance(error, apsw.FullError) or is_disk_full(path):
            raise StoreFullError(f"database {path}: the disk is full") from error
        raise StoreError(f"database {path}: {error}") from error
    except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError) as error:
        raise UnstorableError(f"database {path}: it refused a value ({error})") from error
    except apsw.Error as error:
        raise StoreError(f"database {path}: {error}") from error


def _damaged(path: Path, what: str) -> StoreDamagedError:
    """Return the error for a damaged file, which is left as it is, or for one that a wrong setting names."""
    if not is_ours(path):
        return StoreDamagedError(f"database {path}: not a database but another file; check db_path")
    import shlex  # as most databases are sound

    command = f"grader-daemon --db-path {shlex.quote(str(path))}"
    return StoreDamagedError(
        f"database {path}: damaged or not a database ({what}); to repair it: {command} doctor --repair;"
        f" or restore a backup: {command} backup restore FILE"
    )


def is_ours(path: Path) -> bool:
    """Return whether a file begins as SQLite's do, or holds our tables if not; an empty one may become ours."""
    if path.exists() and not path.is_file():
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) in (b"", MAGIC) or _names_our_tables(file)
    except OSError:
        return True


def holds_grades(path: Path) -> bool:
    """Return whether a file or its log names our tables; other programs keep databases of SQLite, too."""
    for each in filter(Path.is_file, (path, _log_files_of(path)[0])):
        with suppress(OSError), open(each, "rb") as file:
            if _names_our_tables(file):
                return True
    return False


def _names_our_tables(file: BinaryIO) -> bool:
    """Return whether our tables are named in the rest of a file."""
    return any(_TRACE in chunk for chunk in iter(partial(file.read, _CHUNK), b""))


def listed(values: Sequence[str] | Sequence[int | None] | Sequence[tuple[int | str | None, ...]]) -> str:
    """Many values as one parameter, for `LISTED` or ``json_each(?)``."""
    return msgspec.json.encode(values).decode()


def _was_left_open(path: Path) -> bool:
    """Return whether there is a log with something in it: SQLite takes it away when the last connection closes."""
    log, _ = _log_files_of(path)
    return log.exists() and log.stat().st_size > 0
