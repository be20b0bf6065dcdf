"""First grading of a home: agents that are found on this machine are enabled and graded, at a click on the page.

A process of its own grades as `run --once` does: its lock keeps a second daemon away, and pages are answered meanwhile.
Only a page that somebody started at the prompt has this; the sandbox of the service allows no such thing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final

import msgspec

from grader_daemon.api.ungraded import UngradedAgent
from grader_daemon.domain.text import clean
from grader_daemon.errors import ConfigurationError

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_NICE: Final = 10
_ENDING_SECONDS: Final = 10.0
_MOST_BYTES: Final = 65_536
_LONGEST_LINE: Final = 300
_ENDED_WELL: Final = (0, 1)
"""Exit codes of `run --once`: 1 says that some files could not be graded, which the pages say of each."""


class GradingState(msgspec.Struct, frozen=True, kw_only=True):
    """State of the grading; `failed` is why it ended before it had graded all, None if it did not."""

    goes_on: bool
    failed: str | None = None


class FirstGrading:
    """Grades what is found, once at a time."""

    def __init__(self, read: Callable[[], Settings], *, config: str | None, options: Sequence[str]) -> None:
        """`read` reads the settings again; `config` and `options` are the flags with which the page was started."""
        self._read = read
        self._config = config
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    @property
    def state(self) -> GradingState | None:
        """State of the grading that was begun last; None before the first."""
        if self._process is None:
            return None
        code = self._process.poll()
        failed = None if code in (None, *_ENDED_WELL) else self._last_line() or f"exit code {code}"
        return GradingState(goes_on=code is None, failed=failed)

    @property
    def pid(self) -> int | None:
        """Process that grades, or did last; None before the first."""
        return None if self._process is None else self._process.pid

    def begin(self, agents: Sequence[UngradedAgent]) -> Settings:
        """Enable agents and begin to grade, unless that goes on; return the settings in which they are enabled.

        Raises:
            InputError: an agent cannot be enabled.
            ConfigurationError: the file of settings cannot be written, or no process can be started.
        """
        from grader_daemon.api.source_switches import enable_source  # nobody clicks on most pages

        before = self._read()
        if self._process is not None and self._process.poll() is None:
            return before
        for each in agents:
            enable_source(each.agent, (each.path,) if each.agent in before.sources else (), config=self._config)
        self._start()
        return self._read()

    def close(self) -> None:
        """End the grading, which keeps what it has graded."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
        self._forget_output()

    def _start(self) -> None:
        self._forget_output()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  `_forget_output` closes it
        once = ["run", "--once", "--log-level", "error", *self._options]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "grader_daemon", *once],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
            )
        except OSError as error:
            raise ConfigurationError(f"cannot start grading ({error.strerror}); run: grader-daemon run") from error
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, self._process.pid, _NICE)

    def _forget_output(self) -> None:
        if self._said is not None:
            self._said.close()
            self._said = None

    def _last_line(self) -> str:
        assert self._said is not None  # a process has begun
        lines = os.pread(self._said.fileno(), _MOST_BYTES, 0).decode("utf-8", "replace").strip().splitlines()
        return clean(lines[-1])[:_LONGEST_LINE] if lines else ""
