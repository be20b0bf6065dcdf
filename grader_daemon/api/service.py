"""The daemon as a service of this user: put it in place, ask how it is, take it away.

What is put in place is a function of the settings: the same settings change nothing, others are put in force.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.api.installed_unit import InstalledUnit, make_folders
from grader_daemon.api.service_fit import daemon_fit, serves_daemon
from grader_daemon.errors import AlreadyRunningError, ServiceError
from grader_daemon.integrations.systemd import LogEntry, UnitState, UserManager, read_log
from grader_daemon.integrations.unit_file import DAEMON, directives, fitted_unit
from grader_daemon.settings import Settings
from grader_daemon.storage.lock import holder_pid, is_running

_EXIT_CODES = {
    78: "the configuration is wrong",
    203: "its program is gone",
    217: "its sandbox cannot be set up: this machine allows no user namespaces",
    226: "its sandbox cannot be set up: the folder of the database is missing, or user namespaces are not allowed",
}
"""What exit codes mean beside those of the daemon itself; from 200 on they are systemd's (systemd.exec(5))."""


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """What `UserService.install` did, and how things stand then; `unit.Fit` says what `network` and `programs` mean.

    `kept` is the copy of an edited unit that was replaced.
    """

    unit: Path
    written: bool
    kept: Path | None
    enabled: bool
    started: bool
    pid: int | None
    writable: tuple[Path, ...]
    network: tuple[str, ...]
    programs: tuple[str, ...]
    user: str
    lingers: bool | None


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the service is.

    `state` is systemd's word; `ended` says how the last process ended, while none runs. `lingers` is None where that
    is not known. `outdated` says that the unit is not what the settings, or this version, ask for.
    """

    installed: bool
    running: bool
    enabled: bool
    state: str
    pid: int | None
    since: datetime | None
    says: str | None
    restarts: int
    ended: str | None
    ended_at: datetime | None
    edited: bool
    outdated: bool
    unit: str
    user: str
    lingers: bool | None


class UserService:
    """The service, in the hands of the user's own systemd."""

    def __init__(self, *, clock: bootstrap.Clock) -> None:
        """Find systemd.

        Raises:
            ServiceError: there is none for this user.
        """
        self._manager = UserManager()
        self._clock = clock
        self._unit = InstalledUnit(self._manager, DAEMON)

    def install(self, settings: Settings, *, force: bool = False) -> Installation:
        """Write the unit, enable it, and have it run as written; wait until the daemon is ready.

        What flags and environment say of `settings` is passed on to the daemon. `force` replaces a unit that somebody
        edited, and keeps a copy.

        Raises:
            ConfigurationError: a rule is wrong; nothing was changed.
            AlreadyRunningError: a daemon that is no service works on the database; nothing was changed.
            ServiceError: somebody edited the unit and nothing was changed, systemd did not do it, or the daemon did
                not get ready.
        """
        bootstrap.make_examiner(settings, bootstrap.make_policy(settings, None))
        fit = daemon_fit(settings, runtime=self._manager.runtime)
        fitted = fitted_unit(DAEMON, fit, version=__version__)
        before = self._manager.state(DAEMON.name)
        _refuse_what_is_in_the_way(before, settings.db_path)
        if not force:
            self._unit.refuse_if_edited(fitted)

        kept = self._unit.keep_if_edited(fitted)
        make_folders([*fit.writable, settings.given.file.parent])
        written = self._unit.write(fitted)
        if written or before.is_outdated:
            self._manager.reload()
        enabled = self._unit.enable()
        started = written or before.active != "active" or self._is_older_than_unit(before)
        if started:
            self._start()
        return Installation(
            unit=self._unit.path,
            written=written,
            kept=kept,
            enabled=enabled,
            started=started,
            pid=self._manager.state(DAEMON.name).pid,
            writable=fit.writable,
            network=fit.network,
            programs=fit.programs,
            user=self._manager.user,
            lingers=self._manager.lingers(),
        )

    def uninstall(self) -> str | None:
        """Stop the daemon, and remove the unit; return the folders that it wrote in, which stay. None: there was none.

        Raises:
            ServiceError: systemd did not do it.
        """
        unit = self._unit.read()
        if unit is None:
            return None
        self._manager.disable(DAEMON.name)
        self._unit.path.unlink()
        self._manager.reload()
        self._manager.forget(DAEMON.name)
        return directives(unit).get("ReadWritePaths", "")

    def status(self, settings: Settings) -> ServiceStatus:
        """Return how the service is, and whether it fits these settings."""
        unit, state = self._unit.read(), self._manager.state(DAEMON.name)
        return ServiceStatus(
            installed=state.load == "loaded",
            running=state.active == "active",
            enabled=state.enabled == "enabled",
            state=state.active,
            pid=state.pid,
            since=state.active_since if state.active == "active" else None,
            says=state.says or None,
            restarts=state.restarts,
            ended=_ended(state),
            ended_at=state.ended_at,
            edited=self._unit.is_edited,
            outdated=unit is not None and not serves_daemon(unit, settings),
            unit=state.path or str(self._unit.path),
            user=self._manager.user,
            lingers=self._manager.lingers(),
        )

    def _is_older_than_unit(self, state: UnitState) -> bool:
        """Whether the daemon was started before the unit was written: then an installation was interrupted."""
        return state.started_at is not None and state.started_at.timestamp() < int(self._unit.path.stat().st_mtime)

    def _start(self) -> None:
        began = self._clock()
        try:
            self._manager.restart(DAEMON.name)
        except ServiceError as error:
            why = _ended(self._manager.state(DAEMON.name)) or str(error)
            said = [
                entry.message
                for entry in read_daemon_log(lines=10, priority="err")
                if entry.at >= began and _tells(entry)
            ]
            raise ServiceError("; ".join([f"{DAEMON.name} did not get ready: {why}", *said[-1:]])) from error


def read_daemon_log(*, lines: int, priority: str | None = None, follow: bool = False) -> Iterator[LogEntry]:
    """Return the last entries of the daemon's log, and what systemd said of it; `follow` goes on without end.

    Raises:
        ServiceError: the journal cannot be read.
    """
    return read_log(DAEMON.name, lines=lines, priority=priority, follow=follow)


def _tells(entry: LogEntry) -> bool:
    """Whether it says why: systemd only says that; an event of the daemon tells what it survived."""
    return entry.source != "systemd" and not entry.message.startswith("{")


def _refuse_what_is_in_the_way(service: UnitState, db_path: Path) -> None:
    if service.load == "masked":
        raise ServiceError(f"{DAEMON.name} is masked: systemctl --user unmask {DAEMON.name}")
    pid = holder_pid(db_path) if is_running(db_path) else None
    if pid is not None and pid != service.pid:
        raise AlreadyRunningError(f"a grader-daemon that is no service (pid {pid}) runs on {db_path}: end it first")


def _ended(state: UnitState) -> str | None:
    """Return how the last process ended."""
    if state.result == "watchdog":
        return "it hung, and systemd ended it"
    if state.result == "oom-kill":
        return "it took too much memory, and was ended"
    if state.signal is not None:
        return f"ended by {signal.Signals(state.signal).name}"
    if state.exit_code is not None:
        known = _EXIT_CODES.get(state.exit_code)
        return f"exit code {state.exit_code}" + (f": {known}" if known else "")
    return None
