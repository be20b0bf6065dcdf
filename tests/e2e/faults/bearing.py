"""What a daemon does with a fault: it bears it quietly, or refuses to start in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from tests.e2e.daemon_process import DaemonProcess, Event

_CPU_SHARE = 0.7
"""What the agent goes on to write is graded meanwhile, which takes a fifth; a loop without a pause takes all."""

_LINES = 5
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class Burden:
    """What a daemon did since a fault began."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self._daemon = daemon
        self._began = monotonic()
        self._cpu = _cpu_seconds(daemon.pid)
        self._told = len(daemon.troubles())

    @property
    def cpu_share(self) -> float:
        """The part of one processor that it took."""
        return (_cpu_seconds(self._daemon.pid) - self._cpu) / (monotonic() - self._began)

    @property
    def troubles(self) -> list[Event]:
        """Its warnings and errors."""
        return self._daemon.troubles()[self._told :]


@contextmanager
def borne(daemon: DaemonProcess) -> Iterator[Burden]:
    """A fault lasts as long as the block; the daemon may neither spin meanwhile, nor say the same again and again."""
    burden = Burden(daemon)
    yield burden
    cpu_share, troubles = burden.cpu_share, burden.troubles
    assert cpu_share < _CPU_SHARE
    assert len(troubles) <= _LINES, troubles


def refusal(home: Path, *, under: Sequence[str] = ()) -> str:
    """Start a daemon that must refuse to work; gives the one line in which it says why."""
    daemon = DaemonProcess(home, under=under)
    try:
        assert daemon.wait_for_end() == 2
        (line,) = daemon.strange_lines()
        return line
    finally:
        daemon.end()


def _cpu_seconds(pid: int) -> float:
    """What a process took so far, of all processors."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND
