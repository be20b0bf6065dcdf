"""A unit of ours that runs all the time, in the hands of the user's own systemd.

It is put in place, asked how it is, and taken away. What is put in place is a function of the settings: the same
settings change nothing, others are put in force.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.errors import ServiceError
from grader_daemon.service.installed_unit import InstalledUnit, make_folders, remove_units
from grader_daemon.service.systemd import LogEntry, UnitState, UserManager, read_log
from grader_daemon.service.unit_file import Fit, Unit, directives, fitted_unit
from grader_daemon.settings import Settings

_EXIT_CODES = {
    78: "the configuration is wrong",
    203: "its program is gone",
    217: "its sandbox cannot be set up: this machine allows no user namespaces",
    226: "its sandbox cannot be set up: the folder of the database is missing, or user namespaces are not allowed",
}
"""What exit codes mean beside those of our programs; from 200 on they are systemd's (systemd.exec(5))."""


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `RunningService.install`, and the state then; `unit.Fit` says what `network` and `programs` mean.

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
    """Status of the service.

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


class RunningService:
    """A unit, and the process that it runs."""

    def __init__(self, unit: Unit, *, clock: bootstrap.Clock) -> None:
        """Find systemd.

        Raises:
            ServiceError: there is none for this user.
        """
        self._manager = UserManager()
        self._clock = clock
        self._kind = unit
        self.name = unit.name
        self.unit = InstalledUnit(self._manager, unit)
        self.runtime = self._manager.runtime

    def state(self) -> UnitState:
        """Return what systemd knows of it."""
        return self._manager.state(self.name)

    def install(self, settings: Settings, fit: Fit, *, force: bool = False, reads: Iterable[Path] = ()) -> Installation:
        """Write the unit as it fits these settings, enable it, and have it run as written.

        It `reads` files when it starts, so one that changed since has it started anew. `force` replaces a unit that
        somebody edited, and keeps a copy.

        Raises:
            ConfigurationError: a path cannot be written down in a unit; nothing was changed.
            ServiceError: the unit is masked, or somebody edited it, and nothing was changed; systemd did not do it, or
                the program did not get ready.
        """
        fitted = fitted_unit(self._kind, fit, version=__version__)
        before = self.state()
        if before.load == "masked":
            raise ServiceError(f"{self.name} is masked: systemctl --user unmask {self.name}")
        if not force:
            self.unit.refuse_if_edited(fitted)

        kept = self.unit.keep_if_edited(fitted)
        make_folders([*fit.writable, settings.given.file.parent])
        written = self.unit.write(fitted)
        if written or before.is_outdated:
            self._manager.reload()
        enabled = self.unit.enable()
        started = written or before.active != "active" or is_older(before, [self.unit.path, *reads])
        if started:
            self._start()
        return Installation(
            unit=self.unit.path,
            written=written,
            kept=kept,
            enabled=enabled,
            started=started,
            pid=self.state().pid,
            writable=fit.writable,
            network=fit.network,
            programs=fit.programs,
            user=self._manager.user,
            lingers=self._manager.lingers(),
        )

    def uninstall(self) -> str | None:
        """Stop it, and remove the unit; return the folders that it wrote in, which stay. None: there was none.

        Raises:
            ServiceError: systemd did not do it.
        """
        unit = self.unit.read()
        if unit is None:
            return None
        remove_units(self._manager, [self.unit])
        return directives(unit).get("ReadWritePaths", "")

    def status(self, *, outdated: bool) -> ServiceStatus:
        """Return how it is, when it is known whether its unit is `outdated`."""
        state = self.state()
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
            edited=self.unit.is_edited,
            outdated=outdated,
            unit=state.path or str(self.unit.path),
            user=self._manager.user,
            lingers=self._manager.lingers(),
        )

    def _start(self) -> None:
        began = self._clock()
        try:
            self._manager.restart(self.name)
        except ServiceError as error:
            why = _ended(self.state()) or str(error)
            said = [
                entry.message
                for entry in read_log(self.name, lines=10, priority="err")
                if entry.at >= began and _tells(entry)
            ]
            raise ServiceError("; ".join([f"{self.name} did not get ready: {why}", *said[-1:]])) from error


def is_older(state: UnitState, files: Iterable[Path]) -> bool:
    """Return whether a process was started before one of these files was written, as far as they are there.

    That of the unit is newer where an installation was interrupted.
    """
    if state.started_at is None:
        return False
    return any(state.started_at.timestamp() < int(file.stat().st_mtime) for file in files if file.exists())


def _tells(entry: LogEntry) -> bool:
    """Return whether an entry says why: systemd only says that; an event of the daemon tells what it survived."""
    return entry.source != "systemd" and not entry.message.startswith("{")


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
