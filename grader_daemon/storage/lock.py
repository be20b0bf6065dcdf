"""One daemon per database: a lock that the kernel gives back however its holder ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from grader_daemon.errors import AlreadyRunningError, StoreBusyError, StoreError

_ASKED_SECONDS = 5.0
"""Who only asks holds the lock for a moment; whoever holds it for so long does something else."""

_PAUSE_SECONDS = 0.001


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is not there.

    Raises:
        StoreBusyError: another program holds it, and goes on to for some seconds.
        StoreError: it cannot be made.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"lock file {path}: {error.strerror}") from error
    try:
        deadline = monotonic() + _ASKED_SECONDS
        while not _locks(descriptor, fcntl.LOCK_EX):
            if monotonic() > deadline:
                raise StoreBusyError(f"lock file {path}: another program holds it")
            sleep(_PAUSE_SECONDS)
        yield
    finally:
        os.close(descriptor)


class DaemonLock:
    """Holds ``<database>.lock`` while the daemon runs. A context manager."""

    def __init__(self, db_path: Path) -> None:
        self._db_path = db_path
        self._path = lock_path(db_path)
        self._descriptor: int | None = None

    def __enter__(self) -> DaemonLock:
        """Acquire the lock; a process that asks at this moment whether a daemon runs is waited for.

        Raises:
            AlreadyRunningError: another daemon holds it.
            StoreBusyError: a program that is no daemon holds it, and goes on to.
            StoreError: the lock file cannot be made or written.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                self._take(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as error:
            raise StoreError(f"lock file {self._path}: {error.strerror}") from error
        self._descriptor = descriptor
        return self

    def _take(self, descriptor: int) -> None:
        deadline = monotonic() + _ASKED_SECONDS
        while not _locks(descriptor, fcntl.LOCK_EX):
            if not _locks(descriptor, fcntl.LOCK_SH):  # only a daemon shuts out those who ask
                pid = holder_pid(self._db_path) or "unknown"
                raise AlreadyRunningError(f"another grader-daemon (pid {pid}) is running on {self._db_path}")
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            if monotonic() > deadline:
                raise StoreBusyError(f"lock file {self._path}: another program holds it")
            sleep(_PAUSE_SECONDS)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def lock_path(db_path: Path) -> Path:
    """Return the name of the lock file of a database."""
    return db_path.with_name(db_path.name + ".lock")


def is_running(db_path: Path) -> bool:
    """Return whether a daemon runs on this database."""
    try:
        descriptor = os.open(lock_path(db_path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locks(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def holder_pid(db_path: Path) -> int | None:
    """Return the process that took the lock last, as far as it says so."""
    try:
        pid = lock_path(db_path).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(pid) if pid.isdecimal() else None


def _locks(descriptor: int, kind: int) -> bool:
    """Acquire a lock of this kind (see flock(2)), unless it is held in a way that stands against it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
