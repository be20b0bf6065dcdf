"""Faults that only the kernel can make: small file systems, system calls that fail, clocks that jump.

None reaches beyond this test run: what is mounted is seen by it and the programs that it starts alone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

from tests.e2e.daemon_process import DaemonProcess
from tests.needs import require, require_faketime, require_programs

_CLONE_NEWNS = 0x00020000
"""Of unshare(2): mounts of our own."""

_CHUNK = 1 << 20


def without_privileges() -> tuple[str, ...]:
    """Give what starts a program that permission bits bind, as they do not bind root."""
    if os.geteuid() != 0:
        return ()
    require_programs("setpriv")
    return ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


# -- file systems ------------------------------------------------------------------------------------------------------


class SmallDisk:
    """A file system in memory at `folder`. A context manager."""

    def __init__(self, folder: Path, *, megabytes: int = 64) -> None:
        self.folder = folder
        self._megabytes = megabytes
        self._ballast = folder / "ballast"

    def __enter__(self) -> SmallDisk:
        _have_mounts_of_our_own()
        self.folder.mkdir(parents=True, exist_ok=True)
        options = f"size={self._megabytes}m,mode=0700"
        _run("mount", "-t", "tmpfs", "-o", options, "grader-small-disk", str(self.folder))
        return self

    def __exit__(self, *_: object) -> None:
        _run("umount", "--lazy", str(self.folder))

    def fill(self) -> None:
        """Leave no room on it."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (_CHUNK, 1):
                with suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def free(self) -> None:
        """Give back what `fill` took."""
        self._ballast.unlink()

    @contextmanager
    def full(self) -> Iterator[None]:
        """No room as long as the block lasts."""
        self.fill()
        try:
            yield
        finally:
            self.free()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Nothing can be written to it as long as the block lasts, as after an error of the disk below."""
        self._remount("ro")
        try:
            yield
        finally:
            self._remount("rw")

    def _remount(self, mode: str) -> None:
        _run("mount", "-o", f"remount,{mode}", str(self.folder))


@cache
def _have_mounts_of_our_own() -> None:
    """From here on, what is mounted is seen by this test run and the programs that it starts alone."""
    require_programs("mount")
    require(os.geteuid() == 0, "the right to mount")
    libc = ctypes.CDLL(None, use_errno=True)
    may = libc.unshare(_CLONE_NEWNS) == 0
    require(may, f"the right to mounts of our own ({errno.errorcode.get(ctypes.get_errno())})")
    _run("mount", "--make-rprivate", "/")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# -- system calls ------------------------------------------------------------------------------------------------------


@contextmanager
def failing_calls(daemon: DaemonProcess, *calls: str, paths: Sequence[Path] = (), error: str = "EIO") -> Iterator[None]:
    """System calls of a running daemon fail as long as the block lasts; those on `paths` alone, if any are given."""
    require_programs("strace")
    names = ",".join(calls)
    faults = ("-e", f"trace={names}", "-e", f"inject={names}:error={error}")
    names_too = [each for path in paths for each in (str(path), path.name)]  # files are opened by name, in their folder
    places = [part for each in names_too for part in ("-P", each)]
    with NamedTemporaryFile(prefix="grader-strace-") as seen:
        command = ("strace", "-f", "-p", str(daemon.pid), *faults, *places, "-o", seen.name)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            said = tracer.stderr.readline()
            try:
                require("attached" in said, f"the right to trace ({said.strip()})")
                yield
            finally:
                tracer.send_signal(signal.SIGINT)
                tracer.communicate()
        assert b"INJECTED" in seen.read(), "no call failed"


# -- clocks ------------------------------------------------------------------------------------------------------------


_ANOTHER_SLEEP = """
import select
import time

time.sleep = lambda seconds: select.select([], [], [], seconds) and None
"""
"""Python sleeps until a moment of the monotonic clock, and libfaketime 0.9.10 takes it for one of the wall clock."""


class FakeClock:
    """The wall clock of programs started `under` it; their monotonic clock and the times of files stay real."""

    def __init__(self, folder: Path) -> None:
        library = require_faketime()
        (folder / "sitecustomize.py").write_text(_ANOTHER_SLEEP)
        self._offset = folder / "clock"
        self.set(timedelta())
        self.under = (
            "env",
            f"PYTHONPATH={folder}",
            f"LD_PRELOAD={library}",
            f"FAKETIME_TIMESTAMP_FILE={self._offset}",
            "FAKETIME_CACHE_DURATION=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
        )

    def set(self, offset: timedelta) -> None:
        """Let it go wrong by `offset`, within a second."""
        temporary = self._offset.with_suffix(".new")
        temporary.write_text(f"{offset.total_seconds():+.0f}\n")
        os.replace(temporary, self._offset)
