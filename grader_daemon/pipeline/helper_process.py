"""A process that examines: one that is ended from outside does not take the database, or the daemon, with it.

A regular expression holds its interpreter until it is done, and memory may end in the middle of a C function. A helper
is handed a few units at a time and answers when it has examined them all; which one it reads stands in its crash mark.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from multiprocessing.connection import Connection
from typing import NamedTuple

import msgspec

from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline.crash_marks import CrashMark
from grader_daemon.pipeline.examine import Examined, Examiner
from grader_daemon.pipeline.trouble import examine_any
from grader_daemon.system.running import end_with_parent, processor_seconds

ENDED_THE_HELPER = "the process that graded it crashed"

_MAYBE_MEMORY = "if it needs too much memory, raise the memory limit or lower max_file_bytes"
_END_SECONDS = 0.1
_LEAST_CPU_SECONDS = 5.0
_NICE = 5
"""Niceness of a helper beside the thread that saves and grades what ends now."""


class Task(NamedTuple):
    """A unit to be examined; `settled` is its ledger row, if that still holds."""

    unit: Unit
    settled: LedgerEntry | None
    known: LedgerEntry | None


class Answer(msgspec.Struct, frozen=True):
    """Result of examining a unit, and the traceback if we failed on it."""

    examined: Examined
    bug: str | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Answer]).decode


class HelperProcess:
    """One process from its start to its end. Only the thread that started it uses it: the process ends with that."""

    def __init__(self, examiner: Examiner, mark: CrashMark) -> None:
        """Start it. It examines as `examiner` does, and names in `mark` what it reads.

        Raises:
            OSError: there are no more processes or descriptors to have.
        """
        self.examiner = examiner
        self._mark = mark
        self.in_hand: list[Task] = []
        """Tasks that it was handed and has not answered."""
        self._reads: Unit | None = None
        self._cpu_before = 0.0
        self._process, self.connection = _start(mark)
        try:
            self.connection.send(examiner)
        except OSError:
            self.end()
            raise

    def hand_over(self, tasks: Sequence[Task], now: datetime) -> None:
        """Have it examine `tasks`; only when it has nothing in hand, so that neither waits for the other to read.

        Raises:
            OSError: it has ended.
        """
        self.in_hand += tasks
        self.connection.send(([(task.unit, task.settled) for task in tasks], now))

    def receive(self) -> list[tuple[Task, Answer]]:
        """Wait for what it found of all that it has in hand.

        Raises:
            EOFError: it has ended.
            OSError: the same.
        """
        answers = _decode(self.connection.recv_bytes())
        tasks, self.in_hand = self.in_hand, []
        return list(zip(tasks, answers, strict=True))

    def reads(self) -> Unit | None:
        """Return the unit that it reads, or read when it ended.

        Raises:
            OSError: that cannot be told.
        """
        return self._mark.read()

    def is_over_limit(self) -> bool:
        """Return whether the unit that it reads takes more processor time than its size allows; to be asked repeatedly.

        Raises:
            OSError: it has ended.
        """
        used, reads = processor_seconds(self._process.pid), self.reads()
        if reads != self._reads or reads is None:
            self._reads, self._cpu_before = reads, used
            return False
        allowed = self.examiner.limits.cpu_seconds_per_100_mb * self.examiner.sources.size_of(reads) / 1e8
        return used - self._cpu_before > max(_LEAST_CPU_SECONDS, allowed)

    def why_ended(self) -> str:
        """Return words for why it ended, for one that has."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_END_SECONDS)
            if code < 0:
                return f"{ENDED_THE_HELPER} ({signal.Signals(-code).name}); {_MAYBE_MEMORY}"
        return f"{ENDED_THE_HELPER}; {_MAYBE_MEMORY}"

    def end(self) -> None:
        """End the process, whatever it does."""
        self.connection.close()
        self._process.kill()
        self._process.wait()
        self._mark.set(None)


def _start(mark: CrashMark) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a process that finds the same modules as this one.

    Raises:
        OSError: there are no more processes or descriptors to have.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = map(str, (theirs.fileno(), mark.descriptor, mark.slot, os.getpid()))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[theirs.fileno(), mark.descriptor],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return process, Connection(ours.detach())


def _serve(connection: Connection, mark: CrashMark, parent: int) -> None:
    """Examine what is asked for until nobody asks any more. Ctrl-C is for the process that asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(parent)
    with suppress(PermissionError):  # a unit of an older version does not allow it
        os.nice(_NICE)
    with suppress(EOFError, OSError):
        examiner: Examiner = connection.recv()
        while True:
            tasks, now = connection.recv()
            answers = [_examine(examiner, unit, settled, now, mark) for unit, settled in tasks]
            mark.set(None)
            connection.send_bytes(_encode(answers))


def _examine(examiner: Examiner, unit: Unit, settled: LedgerEntry | None, now: datetime, mark: CrashMark) -> Answer:
    mark.set(unit)
    bugs: list[str] = []
    examined = examine_any(
        examiner,
        unit,
        now=now,
        known=settled,
        on_bug=lambda _, error: bugs.append("".join(traceback.format_exception(error))),
    )
    return Answer(examined, bugs[0] if bugs else None)


if __name__ == "__main__":
    _connection, _descriptor, _slot, _parent = map(int, sys.argv[1:])
    _serve(Connection(_connection), CrashMark(_descriptor, _slot), _parent)
