"""Examines in a process of its own what may take long or end whoever reads it: a large file, or one that did before.

A regular expression holds its interpreter until it is done, and memory may end in the middle of a C function; a process
can be ended from outside whatever it does. It is started when it is needed, and ended when it has not been for a while.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from multiprocessing.connection import Connection
from time import clock_gettime, monotonic

import msgspec

from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline.examine import BusyUnit, Examined, Examiner
from grader_daemon.pipeline.trouble import ENDED_THE_DAEMON, OnBug, examine_any, trouble_with

LARGE_BYTES = 2_000_000
"""Hardly any session is larger. Smaller files take seconds at most, so the daemon reads them itself (measured: 2.3 s/MB
for the worst kind known, 0.01 s/MB for ordinary ones)."""

_ENDED_THE_HELPER = "the process that was to grade it ended"
_MAYBE_MEMORY = "if it takes more memory than there is, raise the memory limit or lower max_file_bytes"
_TOO_LONG = (
    "grading it takes more of a processor than max_cpu_seconds_per_100_mb = {:g} allows; raise that setting if the file"
    " is a session of yours"
)

_LOOK_SECONDS = 0.1
_IDLE_SECONDS = 60.0
_LEAST_CPU_SECONDS = 5.0
_CPU_CLOCK = 2
"""Of another process: see CPUCLOCK_SCHED in the kernel's posix-timers, and clock_getcpuclockid(3)."""


_PR_SET_PDEATHSIG = 1


class _Answer(msgspec.Struct, frozen=True):
    """What a file is found to be, and the traceback if we failed on it."""

    examined: Examined
    bug: str | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Answer).decode


class HelperProcess:
    """One process, or none. Only one thread uses it."""

    def __init__(self, *, may_wait: Callable[[], bool]) -> None:
        """Set up; nothing is started. `may_wait` is asked ten times a second while a file is examined."""
        self._may_wait = may_wait
        self._examiner: Examiner | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._used_at = 0.0

    def is_for(self, examiner: Examiner, unit: Unit, known: LedgerEntry | None) -> bool:
        """Is the unit large, or did it end a process before? `known` is its ledger row."""
        if (
            known is not None
            and known.attempts
            and (known.reason or "").startswith((ENDED_THE_DAEMON, _ENDED_THE_HELPER))
        ):
            return True
        return examiner.sources.size_of(unit) > LARGE_BYTES

    def examine(
        self,
        examiner: Examiner,
        unit: Unit,
        *,
        now: datetime,
        known: LedgerEntry | None,
        on_bug: OnBug,
    ) -> Examined:
        """Examine a unit as `examiner` does; one that takes longer than its limits allow is given up.

        When waiting is no longer allowed the process is ended, and the file counts as busy.
        """
        try:
            connection = self._connect(examiner)
            connection.send((unit, now, known))
            answer = self._wait(connection, unit, examiner)
        except (EOFError, OSError) as error:
            answer = _Answer(trouble_with(unit, self._why_ended(error), examiner.sources, hope=True))
            self.end()
        self._used_at = monotonic()
        if answer.bug is not None:
            on_bug(unit, RuntimeError(answer.bug))
        return answer.examined

    def rest(self) -> None:
        """End the process if it was not needed for a while."""
        if self._process is not None and monotonic() - self._used_at > _IDLE_SECONDS:
            self.end()

    def end(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    def _connect(self, examiner: Examiner) -> Connection:
        """Return the way to a process that examines as `examiner` does."""
        if self._connection is None or self._examiner is not examiner:
            self.end()
            self._process, self._connection = _start()
            self._connection.send(examiner)
            self._examiner = examiner
        return self._connection

    def _wait(self, connection: Connection, unit: Unit, examiner: Examiner) -> _Answer:
        """Wait for an answer.

        Raises:
            EOFError: the process ended.
            OSError: the same.
        """
        allowed = examiner.limits.cpu_seconds_per_100_mb
        most = self._cpu_seconds() + max(_LEAST_CPU_SECONDS, allowed * examiner.sources.size_of(unit) / 1e8)
        while not connection.poll(_LOOK_SECONDS):
            if not self._may_wait():
                self.end()
                return _Answer(BusyUnit(unit=unit))
            if self._cpu_seconds() > most:
                self.end()
                return _Answer(trouble_with(unit, _TOO_LONG.format(allowed), examiner.sources, hope=False))
        return _decode(connection.recv_bytes())

    def _cpu_seconds(self) -> float:
        assert self._process is not None
        return clock_gettime(~self._process.pid << 3 | _CPU_CLOCK)

    def _why_ended(self, error: Exception) -> str:
        if self._process is None:
            return f"no process can be started to grade it: {error}"
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_LOOK_SECONDS)
            if code < 0:
                return f"{_ENDED_THE_HELPER} ({signal.Signals(-code).name}); {_MAYBE_MEMORY}"
        return f"{_ENDED_THE_HELPER}; {_MAYBE_MEMORY}"


def _start() -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a process that finds the same modules as this one.

    Raises:
        OSError: there are no more processes or descriptors to have.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return process, Connection(ours.detach())


def _serve(connection: Connection) -> None:
    """Examine what is asked for until nobody asks any more. Ctrl-C is for the process that asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_whoever_asks()
    bugs: list[str] = []
    with suppress(EOFError, OSError):
        examiner: Examiner = connection.recv()
        while True:
            unit, now, known = connection.recv()
            examined = examine_any(
                examiner,
                unit,
                now=now,
                known=known,
                on_bug=lambda _, error: bugs.append("".join(traceback.format_exception(error))),
            )
            connection.send_bytes(_encode(_Answer(examined, bugs.pop() if bugs else None)))


def _end_with_whoever_asks() -> None:
    """Have the kernel end this process with the thread that started it, also in the middle of a file; see prctl(2)."""
    with suppress(ImportError, OSError, MemoryError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
