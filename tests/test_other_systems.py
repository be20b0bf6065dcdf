"""The package where the system lacks what only Linux has: it is imported, and does without."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys

import pytest

from grader_daemon.errors import ReadError
from grader_daemon.integrations.machine import usable_cores
from grader_daemon.pipeline.crash_marks import CrashMarks
from grader_daemon.sources import sqlite_files
from grader_daemon.sources.sqlite_files import read_lock
from tests.units import unit

LINUX_ALONE = {
    "os": ["O_PATH", "O_TMPFILE", "sched_getaffinity", "memfd_create", "pidfd_open", "eventfd", "posix_fadvise"],
    "fcntl": ["F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW"],
    "socket": ["SOCK_CLOEXEC", "SOCK_NONBLOCK"],
}
"""What the same modules of Python have on Linux, and not on macOS."""

_IMPORT_ALL = f"""
import importlib, pkgutil
for module, names in {LINUX_ALONE}.items():
    for name in names:
        vars(importlib.import_module(module)).pop(name, None)
import grader_daemon
found = [each.name for each in pkgutil.walk_packages(grader_daemon.__path__, "grader_daemon.")]
failed = []
for name in found:
    try:
        name.endswith("__main__") or importlib.import_module(name)
    except AttributeError as error:
        failed.append((name, str(error)))
    except ImportError as error:  # of an extra
        assert "grader_daemon" not in str(error), error
print(len(found), failed)
"""


def test_every_module_is_imported_without_what_only_linux_has() -> None:
    ended = subprocess.run([sys.executable, "-c", _IMPORT_ALL], capture_output=True, text=True, check=True)

    found, _, failed = ended.stdout.partition(" ")
    assert (int(found) > 400, failed) == (True, "[]\n")


def test_cores_are_counted_where_no_affinity_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")

    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


def test_what_is_read_is_marked_where_no_file_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    marks = CrashMarks()
    marks.open()

    marks.of(1).set(unit("/a"))

    assert marks.of(1).read() == unit("/a")
    marks.close()


def test_a_lock_is_written_as_each_system_reads_it() -> None:
    """fcntl(2) of Linux, x86-64 and AArch64: type, whence, start, length, process; of macOS: start, length first."""
    lock = (fcntl.F_RDLCK, os.SEEK_SET)

    assert struct.unpack("=hh4xqqi4x", read_lock("linux")) == (*lock, 0x40000002, 510, 0)
    assert struct.unpack("=qqihh", read_lock("darwin")) == (0x40000002, 510, 0, *lock)


def test_a_database_that_cannot_be_kept_still_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(fcntl, "F_OFD_SETLK")

    with pytest.raises(ReadError, match="no lock"):
        sqlite_files._hold_still(0)
