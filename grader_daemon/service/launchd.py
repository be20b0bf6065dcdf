"""macOS's launchd, as far as agents of the user need it: launchctl, the property list of a job, and its log.

A job is an agent of the person's own session (launchd.plist(5)): no root, and no sandbox, which launchd has none of.
"""

from __future__ import annotations

import json
import os
import plistlib
import pwd
import re
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from grader_daemon.errors import ConfigurationError, ServiceError
from grader_daemon.integrations.machine import LABEL_PREFIX
from grader_daemon.log.rotation import LOG_FILE
from grader_daemon.service import without_systemd
from grader_daemon.service.installed_file import InstalledFile
from grader_daemon.service.systemd import first_line
from grader_daemon.service.unit_file import sum_of
from grader_daemon.service.unit_value import Fit, LogEntry, Unit

_NOT_FOUND: Final = frozenset({3, 113})
"""Exit codes of `launchctl print` for a job that it does not know: of old, and of macOS 11 and later."""

_AGAIN_SECONDS: Final = 60
"""Between two starts; launchd cannot leave out a program whose settings are wrong, which no restart mends."""

_FACT: Final = re.compile(r"^\t(state|pid|runs|last exit code|last terminating signal) = (.+)$", re.MULTILINE)
_NUMBER: Final = re.compile(r"-?\d+")
_WRITTEN: Final = "<!-- Written by `"
_SUMMED: Final = re.compile(r" Sum of what follows: (\w+)\. -->\n")
_LEVELS: Final = {"debug": 7, "info": 6, "notice": 5, "warning": 4, "error": 3, "critical": 2}
_WITHOUT_LEVEL: Final = 3
"""Priority of a line that is no event: a traceback, or a complaint before the log was set up."""

_LOOKS_EVERY_SECONDS: Final = 0.5


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a job in launchd's own words; what has not happened is None."""

    loaded: bool
    word: str
    pid: int | None = None
    runs: int = 0
    exit_code: int | None = None
    signal: str | None = None


class LaunchAgents:
    """The agents of the user who runs this program."""

    def __init__(self) -> None:
        """Find launchd.

        Raises:
            ServiceError: it does not answer.
        """
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.folder = Path("~/Library/LaunchAgents").expanduser()
        self._domain = f"gui/{os.getuid()}"
        answer = self._launchctl("print", self._domain)
        if answer.returncode:
            raise ServiceError(
                f"launchd has no session for you ({first_line(answer.stderr)}): log in at the screen, or"
                f" {without_systemd()}"
            )

    def state(self, label: str) -> JobState:
        """Return how a job is.

        Raises:
            ServiceError: launchd does not say.
        """
        answer = self._launchctl("print", f"{self._domain}/{label}")
        if answer.returncode in _NOT_FOUND:
            return JobState(loaded=False, word="not loaded")
        _require(answer)
        told = dict(_FACT.findall(answer.stdout))
        return JobState(
            loaded=True,
            word=told.get("state", "unknown"),
            pid=_number(told.get("pid")),
            runs=_number(told.get("runs")) or 0,
            exit_code=_number(told.get("last exit code")),  # "(never exited)": no number
            signal=told.get("last terminating signal"),
        )

    def load(self, label: str, path: Path) -> None:
        """Have a job run from now on, and with each session of the user.

        Raises:
            ServiceError: launchd did not do it.
        """
        _require(self._launchctl("enable", f"{self._domain}/{label}"))
        _require(self._launchctl("bootstrap", self._domain, str(path)))

    def unload(self, label: str) -> None:
        """Stop a job, and wait for its end: until then launchd takes no other of its name.

        Raises:
            ServiceError: it goes on.
        """
        self._launchctl("bootout", f"{self._domain}/{label}")  # it may not be loaded
        for _ in range(60):
            if not self.state(label).loaded:
                return
            time.sleep(_LOOKS_EVERY_SECONDS)
        raise ServiceError(f"launchd did not stop {label} within 30 s")

    def restart(self, label: str) -> None:
        """Start a job, anew if it runs.

        Raises:
            ServiceError: launchd did not do it.
        """
        _require(self._launchctl("kickstart", "-k", f"{self._domain}/{label}"))

    def _launchctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                ["launchctl", *arguments],  # noqa: S607
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise ServiceError(f"launchctl cannot be run ({error.strerror}): {without_systemd()}") from error


class InstalledJob(InstalledFile):
    """Property list of a job at its place."""

    @property
    def advice(self) -> str:
        """Advice to somebody who edited it."""
        return "Put your own settings into the settings file; --force replaces the list and keeps a copy"

    @staticmethod
    def was_edited(text: str) -> bool:
        """Return whether somebody changed a list after it was written, or wrote it."""
        summed = _SUMMED.search(text)
        return _WRITTEN not in text or summed is None or summed[1] != sum_of(text[summed.end() :])

    @staticmethod
    def edits(there: str, fitted: str) -> list[str]:
        """Return the keys whose values differ, or that one of the two lacks."""
        try:
            old = plistlib.loads(there.encode())
        except (plistlib.InvalidFileException, ValueError, SyntaxError):
            return ["it is not a property list"]
        new = plistlib.loads(fitted.encode())
        return [f"+{key}={old[key]}" for key in old if old[key] != new.get(key)] + [
            f"-{key}" for key in new if key not in old
        ]


def label(unit: Unit) -> str:
    """Return the name that launchd has for a service."""
    return f"{LABEL_PREFIX}.{unit.name}"


def log_file(unit_name: str) -> Path:
    """Return the file in which all that a service says ends up."""
    return Path(f"~/Library/Logs/grader-daemon/{unit_name}.log").expanduser()


def written_list(unit: Unit, fit: Fit, *, version: str) -> str:
    """Return the property list of a job, with who wrote it and a sum by which an edit is seen.

    Raises:
        ConfigurationError: a word cannot be written down in one.
    """
    try:
        text = plistlib.dumps(_job(unit, fit), sort_keys=False).decode()
    except ValueError as error:
        raise ConfigurationError(f"it cannot be stored in a property list: {error}") from error
    head, begin, rest = text.partition("<plist ")
    summed = f"{begin}{rest}"
    return f"{head}{_WRITTEN}{unit.install}`, version {version}. Sum of what follows: {sum_of(summed)}. -->\n{summed}"


def _job(unit: Unit, fit: Fit) -> Mapping[str, Any]:
    log = str(log_file(unit.name))
    return {
        "Label": label(unit),
        "ProgramArguments": list(fit.command),
        "EnvironmentVariables": {**dict(sorted(fit.environment.items())), LOG_FILE: log},
        "WorkingDirectory": str(fit.writable[0]),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": _AGAIN_SECONDS,
        "ExitTimeOut": 15,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        "Umask": 0o077,
        "HardResourceLimits": {"Core": 0},
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }


def read_file_log(unit_name: str, *, lines: int, priority: int, follow: bool) -> Iterator[LogEntry]:
    """Return the last entries of a service's log of this priority or a worse one, the oldest first.

    `follow` goes on with new ones, without end.

    Raises:
        ServiceError: there is no log.
    """
    path = log_file(unit_name)
    try:
        file = path.open("rb")
    except OSError as error:
        raise ServiceError(f"{path}: {error.strerror}") from error
    try:
        entries = (_entry(line, unit_name, file.fileno()) for line in file)
        yield from deque((each for each in entries if each.priority <= priority), maxlen=lines)
        while follow:
            added = [_entry(line, unit_name, file.fileno()) for line in _more(file)]
            yield from (each for each in added if each.priority <= priority)
            time.sleep(_LOOKS_EVERY_SECONDS)
            if not added and _is_another(path, file.fileno()):
                file.close()
                file = path.open("rb")
    finally:
        file.close()


def _more(file: BinaryIO) -> Iterator[bytes]:
    """Yield the whole lines that were added; of one that is being written, nothing."""
    while line := file.readline():
        if not line.endswith(b"\n"):
            file.seek(-len(line), os.SEEK_CUR)
            return
        yield line


def _is_another(path: Path, descriptor: int) -> bool:
    try:
        there = path.stat()
    except OSError:
        return False
    return there.st_ino != os.fstat(descriptor).st_ino


def _entry(line: bytes, source: str, descriptor: int) -> LogEntry:
    message = line.decode("utf-8", "replace").rstrip("\n")
    try:
        event = json.loads(message)
        at, priority = datetime.fromisoformat(event["timestamp"]), _LEVELS[event["level"]]
    except (ValueError, KeyError, TypeError):
        at, priority = datetime.fromtimestamp(os.fstat(descriptor).st_mtime, UTC), _WITHOUT_LEVEL
    return LogEntry(at=at, priority=priority, source=source, message=message)


def _require(answer: subprocess.CompletedProcess[str]) -> None:
    if answer.returncode:
        said = first_line(answer.stderr) or f"exit code {answer.returncode}"
        raise ServiceError(f"launchctl {answer.args[1]}: {said}")


def _number(told: str | None) -> int | None:
    found = _NUMBER.match(told or "")
    return int(found[0]) if found else None
