"""systemd's user manager, as far as services of the user need it: systemctl and journalctl."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from grader_daemon.errors import ServiceError
from grader_daemon.service import without_systemd
from grader_daemon.service.unit_value import LogEntry

_PROPERTIES = tuple(
    "LoadState ActiveState UnitFileState FragmentPath NeedDaemonReload MainPID ActiveEnterTimestamp"
    " ExecMainStartTimestamp ExecMainExitTimestamp Result ExecMainCode ExecMainStatus NRestarts StatusText".split()
)
_KILLED = {"2", "3"}
"""CLD_KILLED and CLD_DUMPED of sigaction(2): then the status is the number of a signal."""


class UnitState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a unit in the manager's own words; what has not happened is None.

    `started_at` and what follows are of the last process.
    """

    load: str
    active: str
    enabled: str
    path: str
    is_outdated: bool
    pid: int | None
    active_since: datetime | None
    restarts: int
    says: str
    started_at: datetime | None
    ended_at: datetime | None
    result: str
    exit_code: int | None
    signal: int | None


class UserManager:
    """The service manager of the user who runs this program."""

    def __init__(self) -> None:
        """Find it.

        Raises:
            ServiceError: there is no systemd, or no user manager that answers.
        """
        account = pwd.getpwuid(os.getuid())
        self.user = account.pw_name
        self.units = Path("~/.config/systemd/user").expanduser()
        self.runtime = runtime_folder()
        try:
            self._systemctl("show-environment")
        except _RefusedError as error:
            why = f"systemd's user manager does not answer ({error})"
            raise ServiceError(f"{why}: log in as this user, not by su or sudo, or {without_systemd()}") from error

    def state(self, unit: str) -> UnitState:
        """Return how a unit is; one that does not exist has the `load` state ``not-found``."""
        said = self._systemctl("show", "--timestamp=unix", f"--property={','.join(_PROPERTIES)}", unit)
        known = dict.fromkeys(_PROPERTIES, "") | dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
        code, status = known["ExecMainCode"], int(known["ExecMainStatus"] or 0)
        return UnitState(
            load=known["LoadState"],
            active=known["ActiveState"],
            enabled=known["UnitFileState"],
            path=known["FragmentPath"],
            is_outdated=known["NeedDaemonReload"] == "yes",
            pid=int(known["MainPID"] or 0) or None,
            active_since=_moment(known["ActiveEnterTimestamp"]),
            restarts=int(known["NRestarts"] or 0),
            says=known["StatusText"],
            started_at=_moment(known["ExecMainStartTimestamp"]),
            ended_at=_moment(known["ExecMainExitTimestamp"]),
            result=known["Result"],
            exit_code=status if code not in {"", "0", *_KILLED} else None,
            signal=status if code in _KILLED else None,
        )

    def reload(self) -> None:
        """Read all unit files anew."""
        self._systemctl("daemon-reload")

    def enable(self, unit: str) -> None:
        """Start a unit whenever the manager starts."""
        self._systemctl("--quiet", "enable", unit)

    def disable(self, unit: str) -> None:
        """Stop a unit, wait for its end, and do not start it again."""
        self._systemctl("--quiet", "disable", "--now", unit)

    def stop(self, unit: str) -> None:
        """Stop a unit, and wait for its end."""
        self._systemctl("stop", unit)

    def restart(self, unit: str) -> None:
        """Start a unit, anew if it runs, and wait until it says that it is ready.

        Raises:
            ServiceError: it did not.
        """
        self.forget(unit)
        self._systemctl("restart", unit)

    def forget(self, unit: str) -> None:
        """Forget that a unit failed, and how often."""
        with suppress(_RefusedError):  # there may be nothing to forget
            self._systemctl("reset-failed", unit)

    def _systemctl(self, *arguments: str) -> str:
        return _run("systemctl", "--user", *arguments, runtime=self.runtime)


def runtime_folder() -> Path:
    """Return the folder below /run of this user alone, in which the manager's sockets are."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")


def read_log(unit: str, *, lines: int, priority: str | None = None, follow: bool = False) -> Iterator[LogEntry]:
    """Return the last entries about a unit, the oldest first; `follow` goes on with new ones, without end.

    Raises:
        ServiceError: the journal cannot be read.
    """
    wanted = ["--user", f"--unit={unit}", f"--lines={lines}", "--output=json", "--all", "--quiet", "--no-pager"]
    wanted += [f"--priority={priority}"] if priority else []
    wanted += ["--follow"] if follow else []
    with _start("journalctl", *wanted) as journal:
        assert journal.stdout is not None
        assert journal.stderr is not None
        try:
            yield from map(_entry, journal.stdout)
            said = journal.stderr.read()
            if journal.wait():
                raise _RefusedError(first_line(said))
        finally:
            journal.terminate()


class _RefusedError(ServiceError):
    """A program ended in an error; the text is the first line of what it said."""


def _run(program: str, *arguments: str, runtime: Path | None = None) -> str:
    with _start(program, *arguments, runtime=runtime) as process:
        printed, said = process.communicate()
    if process.returncode:
        raise _RefusedError(first_line(said) or f"{program} ended with {process.returncode}")
    return printed


def _start(program: str, *arguments: str, runtime: Path | None = None) -> subprocess.Popen[str]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"}
    if runtime is not None:
        environment["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        return subprocess.Popen(
            [program, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise ServiceError(
            f"{program} cannot be run ({error.strerror}): without systemd, {without_systemd()}"
        ) from error


def first_line(said: str) -> str:
    """Return the first line of what a program said."""
    return said.strip().partition("\n")[0]


def _moment(stamp: str) -> datetime | None:
    """Read ``@1795327639``; what has not happened is empty or 0."""
    return datetime.fromtimestamp(int(stamp[1:]), UTC) if stamp.startswith("@") and int(stamp[1:]) else None


def _entry(line: str) -> LogEntry:
    fields = msgspec.json.decode(line, type=dict[str, object])
    return LogEntry(
        at=datetime.fromtimestamp(int(str(fields["__REALTIME_TIMESTAMP"])) / 1e6, UTC),
        priority=int(str(fields.get("PRIORITY", 6))),
        source=str(fields.get("SYSLOG_IDENTIFIER")),
        message=_text(fields.get("MESSAGE")),
    )


def _text(message: object) -> str:
    """Read a message; journald gives one that is no printable text as a list of its bytes."""
    if isinstance(message, list):
        return bytes(message).decode("utf-8", "replace")
    return str(message or "")
