"""One daemon per database: a lock that the kernel gives back however its holder ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from grader_daemon.errors import AlreadyRunningError, StoreError


class DaemonLock:
    """Holds ``<database>.lock`` while the daemon runs. A context manager."""

    def __init__(self, db_path: Path) -> None:
        self._db_path = db_path
        self._path = lock_path(db_path)
        self._descriptor: int | None = None

    def __enter__(self) -> DaemonLock:
        """Take the lock.

        Raises:
            AlreadyRunningError: another daemon holds it.
            StoreError: the lock file cannot be made.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"lock file {self._path}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            pid = holder_pid(self._db_path)
            raise AlreadyRunningError(
                f"another grader-daemon (pid {pid or 'unknown'}) is running on {self._db_path}"
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def lock_path(db_path: Path) -> Path:
    """Give the name of the lock file of a database."""
    return db_path.with_name(db_path.name + ".lock")


def is_running(db_path: Path) -> bool:
    """Is a daemon running on this database?"""
    try:
        descriptor = os.open(lock_path(db_path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder_pid(db_path: Path) -> int | None:
    """Give the process that took the lock last, as far as it says so."""
    try:
        pid = lock_path(db_path).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(pid) if pid.isdecimal() else None
