"""Processes: how many may run at once, how long one computed, who asks, and an end with whoever started one."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_GROUPS: Final = Path("/sys/fs/cgroup")
_PR_SET_PDEATHSIG: Final = 1
_LOOKS_EVERY_SECONDS: Final = 1.0
_CPU_CLOCK: Final = 2
"""Clock of another process: see CPUCLOCK_SCHED in the kernel's posix-timers, and clock_getcpuclockid(3)."""

_TIME: Final = re.compile(
    r"(?:(?:(?P<days>\d{1,9})-)?(?P<hours>\d{1,9}):)?(?P<minutes>\d{1,9}):(?P<seconds>\d{1,9}(?:\.\d{1,9})?)"
)
_PEER: Final = struct.Struct("3i")
"""``struct ucred`` of unix(7): process, user, group."""

_PEER_OF_DARWIN: Final = struct.Struct("=II")
"""Begin of ``struct xucred`` in sys/ucred.h of macOS: version, user."""

_SOL_LOCAL: Final = 0


def usable_cores(proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """Return how many processors this process may use: by its affinity, and the quota of its control group if any."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS has none
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    with suppress(OSError, ValueError, IndexError):
        own = (proc / "self" / "cgroup").read_text().strip().rpartition("::/")[2]
        quota, period = (groups / own / "cpu.max").read_text().split()
        cores = min(cores, max(1, int(quota) // int(period)))  # "max": no number
    return cores


def give_back_memory() -> None:
    """Hand the system what memory is free in this process, where its C library keeps that: glibc does."""
    import ctypes  # who never has so much need not wait for it

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def processor_seconds(pid: int) -> float:
    """Return how long a process of ours has computed; where its clock cannot be read, ps(1) tells.

    Raises:
        OSError: it has ended.
    """
    if _PROC.is_dir():
        return time.clock_gettime(~pid << 3 | _CPU_CLOCK)
    return _told_by_ps("time", pid)


def running_seconds(pid: int) -> float:
    """Return how long ago a process began, in whole seconds.

    Raises:
        OSError: it has ended.
    """
    return _told_by_ps("etime", pid)


def _told_by_ps(column: str, pid: int) -> float:
    words = ["ps", "-o", f"{column}=", "-p", str(pid)]
    return told_seconds(subprocess.run(words, capture_output=True, text=True, check=False).stdout)


def told_seconds(told: str) -> float:
    """Read a time as ps(1) tells it: ``0:00.05`` on macOS, ``00:00:00`` and ``1-00:00:00`` elsewhere.

    Raises:
        ProcessLookupError: there is none, as of a process that has ended.
    """
    found = _TIME.fullmatch(told.strip())
    if found is None:
        raise ProcessLookupError("there is no such process")
    days, hours, minutes = (int(found[name] or 0) for name in ("days", "hours", "minutes"))
    return ((days * 24 + hours) * 60 + minutes) * 60 + float(found["seconds"])


def end_with_parent(pid: int) -> None:
    """Have this process end with the thread that started it, in the process `pid`, also in the middle of a file.

    The kernel does that where it can, see prctl(2); elsewhere a thread looks every second for its parent.
    """
    with suppress(ImportError, OSError, MemoryError):
        import ctypes

        set_option = getattr(ctypes.CDLL(None), "prctl", None)
        if set_option is not None:
            set_option(_PR_SET_PDEATHSIG, signal.SIGKILL)
            return
    threading.Thread(target=_end_without, args=(pid,), daemon=True).start()


def _end_without(pid: int) -> None:
    while os.getppid() == pid:
        time.sleep(_LOOKS_EVERY_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def is_of_this_user(peer: socket.socket) -> bool:
    """Return whether a program of this user is at the other end. Where no system tells, the socket's mode has."""
    if (option := getattr(socket, "SO_PEERCRED", None)) is not None:
        _, user, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, option, _PEER.size))
    elif (option := getattr(socket, "LOCAL_PEERCRED", None)) is not None:
        _, user = _PEER_OF_DARWIN.unpack_from(peer.getsockopt(_SOL_LOCAL, option, 128))
    else:
        return True
    return bool(user == os.getuid())
