from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from pathlib import Path

import pytest

from grader_daemon.system import open_files
from grader_daemon.system.open_files import in_few_bytes, lock_for_reading, nameless_file, read_lock, stored_path, sync

_RANGE = (0x40000002, 510)
_FULL_SYNC = 51
_F_OFD_SETLK_OF_LINUX = 37


@pytest.mark.parametrize("memory", [True, False], ids=["in-memory", "deleted"])
def test_a_nameless_file_keeps_what_is_written(monkeypatch: pytest.MonkeyPatch, *, memory: bool) -> None:
    if not memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)

    descriptor = nameless_file("grader-daemon.test")

    os.pwrite(descriptor, b"kept", 3)
    assert (os.pread(descriptor, 9, 0), os.fstat(descriptor).st_nlink) == (b"\0\0\0kept", 0)
    os.close(descriptor)


def test_a_lock_is_written_as_each_system_reads_it() -> None:
    """fcntl(2) of Linux, x86-64 and AArch64: type, whence, start, length, process; of macOS: start, length first."""
    lock = (fcntl.F_RDLCK, os.SEEK_SET)

    assert struct.unpack("=hh4xqqi4x", read_lock("linux", *_RANGE)) == (*lock, *_RANGE, 0)
    assert struct.unpack("=qqihh", read_lock("darwin", *_RANGE)) == (*_RANGE, 0, *lock)


def test_a_system_without_such_a_lock_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(fcntl, "F_OFD_SETLK", raising=False)
    monkeypatch.setattr("sys.platform", "other")

    with pytest.raises(OSError, match="no lock of an open file") as raised:
        lock_for_reading(0, *_RANGE)
    assert raised.value.errno == errno.ENOTSUP


def test_a_python_without_the_name_locks_on_macos_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bytes]] = []
    monkeypatch.delattr(fcntl, "F_OFD_SETLK", raising=False)
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr(fcntl, "fcntl", lambda _, command, lock: asked.append((command, lock)))

    lock_for_reading(0, *_RANGE)

    assert asked == [(90, read_lock("darwin", *_RANGE))]


def test_a_range_that_somebody_writes_in_is_busy(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as writer, (tmp_path / "a").open("rb") as reader:
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, *_RANGE, 0)
        fcntl.fcntl(writer, _F_OFD_SETLK_OF_LINUX, lock)

        with pytest.raises(BlockingIOError):
            lock_for_reading(reader.fileno(), *_RANGE)


@pytest.mark.parametrize(
    ("refused", "synced"), [pytest.param(False, 0, id="by-the-drive"), pytest.param(True, 1, id="where-there-is-none")]
)
def test_what_is_written_leaves_the_memory_of_the_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, refused: bool, synced: int
) -> None:
    asked: list[int] = []
    fallen_back: list[int] = []

    def full_sync(_: int, command: int) -> None:
        asked.append(command)
        if refused:
            raise OSError(errno.ENOTSUP, "not here")

    monkeypatch.setattr(open_files, "_FULL_SYNC", _FULL_SYNC)
    monkeypatch.setattr(fcntl, "fcntl", full_sync)
    monkeypatch.setattr(os, "fsync", fallen_back.append)

    with (tmp_path / "a").open("wb") as file:
        sync(file.fileno())

    assert (asked, len(fallen_back)) == ([_FULL_SYNC], synced)


@pytest.mark.parametrize("descriptors", [True, False], ids=["by-descriptor", "by-link"])
def test_a_socket_is_bound_at_a_path_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, descriptors: bool
) -> None:
    if not descriptors:
        monkeypatch.setattr(open_files, "_DESCRIPTORS", tmp_path / "none")
    place = tmp_path / ("long" * 40) / "socket"
    place.parent.mkdir()

    with socket.socket(socket.AF_UNIX) as bound, in_few_bytes(place, most=100) as short:
        bound.bind(short)

    assert (place.is_socket(), len(short) <= 100, Path(short).exists()) == (True, True, False)


def test_a_folder_has_the_path_that_its_file_system_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F_GETPATH of macOS writes it into what it is given, and leaves the rest as it was."""
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    by_link = stored_path(str(tmp_path / "link"))
    monkeypatch.setattr(fcntl, "F_GETPATH", 50, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda _, __, room: b"/Users/Anna".ljust(len(room), b"\0"))

    assert (by_link, stored_path(str(tmp_path))) == (str(tmp_path.resolve() / "there"), "/Users/Anna")


def test_a_short_path_stays_as_it_is(tmp_path: Path) -> None:
    with in_few_bytes(tmp_path / "a", most=4096) as short:
        assert short == str(tmp_path / "a")
