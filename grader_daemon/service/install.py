"""Any service in the hands of the user's own systemd: put in place, asked how it is, taken away.

What is put in place is a function of the settings: the same settings change nothing, others are put in force.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.errors import ConfigurationError, ServiceError
from grader_daemon.integrations.machine import lingers
from grader_daemon.service import named
from grader_daemon.service.installed_file import InstalledFile, make_folders
from grader_daemon.service.systemd import UnitState, UserManager, read_log
from grader_daemon.service.unit_file import directives, fitted_files, still_fits
from grader_daemon.service.unit_value import Fit, LogEntry

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_EXIT_CODES = {
    78: "the configuration is wrong",
    203: "its program is missing",
    217: "its sandbox cannot be set up: this machine allows no user namespaces",
    226: "its sandbox cannot be set up: the folder of the database is missing, or user namespaces are not allowed",
}
"""What exit codes mean beside those of our programs; from 200 on they are systemd's (systemd.exec(5))."""


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an installation, and the state after it.

    Attributes:
        units: the unit files.
        written: whether a unit file was written.
        kept: backups of edited unit files that were replaced.
        enabled: whether this installation made it start with each of the user's sessions.
        started: whether it was started or restarted.
        pid: process id, while it runs.
        writable: folders that it can write to.
        network: settings for which it may use the network.
        programs: settings for which it may run the user's programs.
        user: owner of the service.
        lingers: whether it keeps running after logout; None if unknown.
    """

    units: tuple[Path, ...]
    written: bool
    kept: tuple[Path, ...]
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

    `state` is systemd's word; `ended` says how the last process ended, if none is running. `lingers` is None if
    unknown. `outdated` says that the unit does not match the settings or this version.
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
    """A unit of the table, and what systemd makes of it."""

    def __init__(self, name: str) -> None:
        """Find systemd.

        Raises:
            ServiceError: there is none for this user.
        """
        self._manager = UserManager()
        self.unit = named(name)
        self._files = {file: InstalledFile(self._manager.units / file) for file in self.unit.files}
        self._held = self.unit.files[-1]

    def state(self) -> UnitState:
        """Return what systemd knows of what is enabled: the port, where it holds one."""
        return self._manager.state(self._held)

    def directive(self, name: str) -> str | None:
        """Return what a directive says in the file of what is enabled, as it is in place."""
        return directives(self._files[self._held].read() or "").get(name)

    def install(self, settings: Settings, *, force: bool = False) -> Installation:
        """Write its files as they fit these settings, enable it, and have it run as written; wait until it is ready.

        What flags and environment say of `settings` is passed on to it. `force` replaces files that somebody edited,
        and keeps copies.

        Raises:
            GraderError: it may not be installed, see `Unit.check`, or a setting cannot be passed on; nothing was
                changed.
            ServiceError: it is masked, or somebody edited a file, and nothing was changed; systemd did not do it, or
                the program did not get ready.
        """
        before = self.state()
        if self.unit.check is not None:
            self.unit.check(settings, before.pid)
        fit = self.unit.fit(settings)
        fitted = self._fitted(fit)
        self._refuse_masked()
        if not force:
            for file, text in fitted.items():
                file.refuse_if_edited(text)

        kept = [file.keep_if_edited(text) for file, text in fitted.items()]
        make_folders([*fit.writable, settings.given.file.parent])
        written = bool([file for file, text in fitted.items() if file.write(text)])
        if written or before.is_outdated:
            self._manager.reload()
        enabled = self._enable()
        paths = tuple(file.path for file in fitted)
        started = written or before.active != "active" or _is_older(before, [*paths, *fit.read_once])
        if started:
            self._start()
        return Installation(
            units=paths,
            written=written,
            kept=tuple(filter(None, kept)),
            enabled=enabled,
            started=started,
            pid=self.state().pid,
            writable=fit.writable,
            network=fit.network,
            programs=fit.programs,
            user=self._manager.user,
            lingers=lingers(self._manager.user),
        )

    def uninstall(self) -> str | None:
        """Stop it, and remove its files; return the folders that it wrote in, which stay. None: there were none.

        Raises:
            ServiceError: systemd did not do it.
        """
        there = {name: text for name, file in self._files.items() if (text := file.read()) is not None}
        if not there:
            return None
        for name in reversed(there):
            self._manager.disable(name)
            self._files[name].path.unlink()
        self._manager.reload()
        for name in there:
            self._manager.forget(name)
        return directives(there.get(self.unit.service, "")).get("ReadWritePaths", "")

    def status(self, settings: Settings) -> ServiceStatus:
        """Return how its process is, and whether its files fit these settings."""
        state = self._manager.state(self.unit.service)
        held = state if self._held == self.unit.service else self.state()
        return ServiceStatus(
            installed=held.load == "loaded",
            running=state.active == "active",
            enabled=held.enabled == "enabled",
            state=state.active,
            pid=state.pid,
            since=state.active_since if state.active == "active" else None,
            says=state.says or None,
            restarts=state.restarts,
            ended=_ended(state),
            ended_at=state.ended_at,
            edited=any(file.is_edited for file in self._files.values()),
            outdated=self._is_outdated(settings, state),
            unit=held.path or str(self._files[self._held].path),
            user=self._manager.user,
            lingers=lingers(self._manager.user),
        )

    def _fitted(self, fit: Fit) -> dict[InstalledFile, str]:
        fitted = fitted_files(self.unit, fit, version=__version__)
        return {self._files[name]: text for name, text in fitted.items()}

    def _refuse_masked(self) -> None:
        for name in self.unit.files:
            if self._manager.state(name).load == "masked":
                raise ServiceError(f"{name} is masked: systemctl --user unmask {name}")

    def _enable(self) -> bool:
        """Have it started with each session of the user; False: it is already.

        Raises:
            ServiceError: systemd uses another file of this name, or did not do it.
        """
        state, path = self.state(), self._files[self._held].path
        if state.load != "loaded" or not os.path.samefile(state.path, path):
            raise ServiceError(f"systemd has not read {path}: {state.load} {state.path}".rstrip())
        if state.enabled == "enabled":
            return False
        self._manager.enable(self._held)
        return True

    def _start(self) -> None:
        """Start it anew; where systemd holds its port, a process that served the one before ends."""
        began = bootstrap.utc_now()
        try:
            if self._held != self.unit.service:
                self._manager.stop(self.unit.service)
            self._manager.restart(self._held)
        except ServiceError as error:
            why = _ended(self.state()) or str(error)
            said = [f"{self._held} {self.unit.failed}: {why}"]
            with suppress(ServiceError):  # a machine may keep no journal
                entries = list(read_log(self._held, lines=10, priority="err"))
                said += [entry.message for entry in entries if entry.at >= began and _tells(entry)][-1:]
            raise ServiceError("; ".join(said)) from error

    def _is_outdated(self, settings: Settings, state: UnitState) -> bool:
        texts = [file.read() for file in self._files.values()]
        if texts[-1] is None:
            return False
        try:
            fit = self.unit.fit(settings)
        except ConfigurationError:  # `install` says what is missing, or cannot be passed on
            return True
        is_fit = all(text is not None and still_fits(text, fit, version=__version__) for text in texts)
        return not is_fit or _is_older(state, fit.read_once)


def _is_older(state: UnitState, files: Iterable[Path]) -> bool:
    """Return whether a process was started before one of these files was written, as far as they are there.

    A unit file is newer where an installation was interrupted.
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
        return "it hung, and systemd stopped it"
    if state.result == "oom-kill":
        return "it used too much memory and was stopped"
    if state.signal is not None:
        return f"ended by {signal.Signals(state.signal).name}"
    if state.exit_code is not None:
        known = _EXIT_CODES.get(state.exit_code)
        return f"exit code {state.exit_code}" + (f": {known}" if known else "")
    return None
