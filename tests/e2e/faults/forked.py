"""Daemons, and others that stay, that start at once: a process that has imported the program forks, and becomes it.

A start takes 0.6 s, nearly all of it imports; a test with hundreds of starts pays for them once. From the fork on it is
the real thing: a process with its own settings, database, threads and signals, and reached from outside only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType

from tests.e2e.daemon_process import DATABASE, environment

_IMPORTED = {
    "run": ("cli.run", "pipeline.ingest", "rules", "jobs.degradation", "jobs.weekly"),
    "push": ("push.commands", "cli.self_grader", "fleet.push_job", "api.tables", "settings"),
}
"""By the first word of a command."""


class ForkedDaemons:
    """One daemon after the other in one home. A context manager; what they say is in `log`."""

    def __init__(
        self, home: Path, settings: Mapping[str, object], command: Sequence[str] = ("run", "--log-format", "json")
    ) -> None:
        self.database = home / DATABASE
        self.log = home / "daemons.log"
        self.pid = 0
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.faults.forked", self.log, *command],
            env=environment(home, settings) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> ForkedDaemons:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.pid:
            self.kill()
        self._parent.communicate()

    def start(self) -> None:
        """Start a daemon; the one before must have ended."""
        assert self._parent.stdin is not None
        self._parent.stdin.write("\n")
        self._parent.stdin.flush()
        self.pid = self._heard()

    def freeze(self) -> None:
        """Stop it where it is: it does nothing more before it is killed."""
        os.kill(self.pid, signal.SIGSTOP)
        while _state_of(self.pid) not in "TZ":
            os.sched_yield()

    def kill(self) -> int:
        """End the daemon as a crash does; gives its exit code."""
        os.kill(self.pid, signal.SIGKILL)
        self.pid = 0
        return self._heard()

    def _heard(self) -> int:
        assert self._parent.stdout is not None
        return int(self._parent.stdout.readline())


def _state_of(pid: int) -> str:
    """One letter; see /proc/pid/stat in proc(5)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _main(log: str, *command: str) -> None:
    """Fork a daemon for each line of input: say its pid, wait for its end, say its exit code."""
    for name in _IMPORTED[command[0]]:
        import_module(f"grader_daemon.{name}")
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become_daemon(log, command)
        _say(pid)
        _say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _become_daemon(log: str, command: Sequence[str]) -> None:
    from grader_daemon.cli import main

    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), sys.stderr.fileno())
    sys.argv = ["grader-daemon", *command]
    try:
        main()
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 1)


if __name__ == "__main__":
    _main(*sys.argv[1:])
