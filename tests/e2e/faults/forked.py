"""One daemon after the other, or another command that stays, forked at once: for tests with hundreds of starts."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.e2e.daemon_process import DATABASE, environment
from tests.e2e.forked_commands import ForkedProcess


class ForkedDaemons:
    """One daemon after the other in one home. A context manager; what they say is in `log`."""

    def __init__(
        self, home: Path, settings: Mapping[str, object], command: Sequence[str] = ("run", "--log-format", "json")
    ) -> None:
        self.database = home / DATABASE
        self.log = home / "daemons.log"
        self._home = home
        self._settings = settings
        self._command = command
        self._process: ForkedProcess | None = None

    def __enter__(self) -> ForkedDaemons:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.kill()

    def start(self) -> None:
        """Start a daemon; the one before must have ended."""
        found = environment(self._home, self._settings)
        with open(os.devnull, "wb") as nothing, self.log.open("ab") as log:
            self._process = ForkedProcess(
                self._command, environment=found, folder=self._home, output=nothing.fileno(), errors=log.fileno()
            )

    def freeze(self) -> None:
        """Stop it where it is: it does nothing more before it is killed."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)
        while _state_of(self._process.pid) not in "TZ":
            os.sched_yield()

    def kill(self) -> int:
        """End the daemon as a crash does; gives its exit code."""
        assert self._process is not None
        process, self._process = self._process, None
        process.send_signal(signal.SIGKILL)
        return process.wait()


def _state_of(pid: int) -> str:
    """One letter; see /proc/pid/stat in proc(5)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
