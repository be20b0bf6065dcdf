from __future__ import annotations

import fcntl
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader_daemon.errors import AlreadyRunningError, StoreBusyError, StoreError
from grader_daemon.storage import lock
from grader_daemon.storage.lock import DaemonLock, holder_pid, is_running, lock_path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "grades.db"


@contextmanager
def held(database: Path, kind: int) -> Iterator[int]:
    """Another program holds the lock."""
    descriptor = os.open(lock_path(database), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, kind)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def test_a_daemon_runs_while_it_holds_the_lock(database: Path) -> None:
    before = is_running(database)
    with DaemonLock(database):
        assert (is_running(database), holder_pid(database)) == (True, os.getpid())

    assert (before, is_running(database)) == (False, False)


def test_a_second_daemon_is_refused(database: Path) -> None:
    with DaemonLock(database):
        before = _open_descriptors()
        with pytest.raises(AlreadyRunningError, match=f"pid {os.getpid()}"), DaemonLock(database):
            pass

        assert _open_descriptors() == before


def test_asking_whether_a_daemon_runs_keeps_none_from_starting(database: Path) -> None:
    """Somebody asks again and again; with a lock that is tried once, about one start in ten was refused."""
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            is_running(database)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(300):
            with DaemonLock(database):
                pass
    finally:
        done.set()
        asking.join()


def test_who_asks_is_waited_for(database: Path) -> None:
    with held(database, fcntl.LOCK_SH) as descriptor:
        leaving = threading.Timer(0.05, fcntl.flock, (descriptor, fcntl.LOCK_UN))
        leaving.start()
        with DaemonLock(database):
            assert holder_pid(database) == os.getpid()
        leaving.join()


def test_a_program_that_never_lets_go_is_told(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_ASKED_SECONDS", 0.0)
    with (
        held(database, fcntl.LOCK_SH),
        pytest.raises(StoreBusyError, match="another program holds it"),
        DaemonLock(database),
    ):
        pass


@pytest.fixture
def full_disk() -> Iterator[None]:
    """This process may write no byte to a file, as on a full disk; the test's own output is no file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("full_disk")
def test_a_lock_file_that_cannot_be_written_is_named_and_closed(database: Path) -> None:
    before = _open_descriptors()
    with pytest.raises(StoreError, match=r"lock file .*grades\.db\.lock: File too large"), DaemonLock(database):
        pass

    assert _open_descriptors() == before
    assert not is_running(database)
