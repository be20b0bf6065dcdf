"""The page as a service of this user: a port that systemd holds, and a process that it starts at the first visit."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader_daemon._version import __version__
from grader_daemon.errors import ConfigurationError, ServiceError
from grader_daemon.service.demands import dashboard_fit
from grader_daemon.service.installed_unit import InstalledUnit, make_folders, remove_units
from grader_daemon.service.systemd import UserManager
from grader_daemon.service.unit_file import DASHBOARD, DASHBOARD_SOCKET, directives, fitted_socket, fitted_unit
from grader_daemon.settings import Settings


class DashboardInstallation(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `DashboardService.install`.

    Attributes:
        units: the unit files, of the process and of its port.
        written: whether one of them was written.
        kept: copies of edited units that were replaced.
        enabled: whether the port is now opened with each session of the user, and was not before.
        listening: whether the port is open.
    """

    units: tuple[Path, ...]
    written: bool
    kept: tuple[Path, ...]
    enabled: bool
    listening: bool


class DashboardStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of the page as a service.

    Attributes:
        installed: whether its port is known to systemd.
        listening: whether the port is open.
        is_here: whether that is the port of these settings.
        running: whether its process runs: somebody looked in the last ten minutes.
        pid: the process, while it runs.
        edited: whether somebody edited a unit by hand.
        outdated: whether the units are not what the settings, or this version, ask for.
    """

    installed: bool
    listening: bool
    is_here: bool
    running: bool
    pid: int | None
    edited: bool
    outdated: bool


class DashboardService:
    """The page in the hands of the user's own systemd."""

    def __init__(self) -> None:
        """Find systemd.

        Raises:
            ServiceError: there is none for this user.
        """
        self._manager = UserManager()
        self._service = InstalledUnit(self._manager, DASHBOARD)
        self._socket = InstalledUnit(self._manager, DASHBOARD_SOCKET)

    def install(self, settings: Settings, *, force: bool = False) -> DashboardInstallation:
        """Write both units, and have systemd open the port now and with each session of the user.

        `force` replaces units that somebody edited, and keeps copies.

        Raises:
            ConfigurationError: a setting cannot be passed on.
            ServiceError: somebody edited a unit and nothing was changed, or systemd did not do it, as where another
                program holds the port.
        """
        wanted = self._wanted(settings)
        if not force:
            for unit, fitted in wanted.items():
                unit.refuse_if_edited(fitted)
        kept = [unit.keep_if_edited(fitted) for unit, fitted in wanted.items()]
        make_folders([settings.db_path.parent, settings.given.file.parent])
        written = [unit.write(fitted) for unit, fitted in wanted.items()]
        state = self._manager.state(DASHBOARD_SOCKET.name)
        if any(written) or state.is_outdated:
            self._manager.reload()
        enabled = self._socket.enable()
        if any(written) or state.active != "active":
            self._open()
        return DashboardInstallation(
            units=tuple(unit.path for unit in wanted),
            written=any(written),
            kept=tuple(filter(None, kept)),
            enabled=enabled,
            listening=self._manager.state(DASHBOARD_SOCKET.name).active == "active",
        )

    def uninstall(self) -> bool:
        """Close the port, end the process, and remove both units; False: there were none.

        Raises:
            ServiceError: systemd did not do it.
        """
        there = [unit for unit in (self._socket, self._service) if unit.read() is not None]
        if there:
            remove_units(self._manager, there)
        return bool(there)

    def status(self, settings: Settings) -> DashboardStatus:
        """Return how the page is, and whether its units fit these settings."""
        port, process = self._manager.state(DASHBOARD_SOCKET.name), self._manager.state(DASHBOARD.name)
        units = (self._socket, self._service)
        return DashboardStatus(
            installed=port.load == "loaded",
            listening=port.active == "active",
            is_here=port.active == "active" and self._holds_port(settings),
            running=process.active == "active",
            pid=process.pid if process.active == "active" else None,
            edited=any(unit.is_edited for unit in units),
            outdated=port.load == "loaded" and self._is_outdated(settings),
        )

    def _wanted(self, settings: Settings) -> dict[InstalledUnit, str]:
        fit = dashboard_fit(settings, runtime=self._manager.runtime)
        return {self._service: fitted_unit(DASHBOARD, fit, version=__version__), self._socket: _fitted_socket(settings)}

    def _is_outdated(self, settings: Settings) -> bool:
        """Return whether a unit is another one than these settings ask for."""
        try:
            wanted = self._wanted(settings)
        except ConfigurationError:  # `install` says what cannot be passed on
            return True
        return any(unit.is_other_than(fitted) for unit, fitted in wanted.items())

    def _holds_port(self, settings: Settings) -> bool:
        there, wanted = directives(self._socket.read() or ""), directives(_fitted_socket(settings))
        return there.get("ListenStream") == wanted["ListenStream"]

    def _open(self) -> None:
        """Open the port anew; a process that served the one before ends."""
        try:
            self._manager.stop(DASHBOARD.name)
            self._manager.restart(DASHBOARD_SOCKET.name)
        except ServiceError as error:
            raise ServiceError(
                f"{DASHBOARD_SOCKET.name} could not open its port, which another program may hold: choose another by"
                f" dashboard_port ({error})"
            ) from error


def _fitted_socket(settings: Settings) -> str:
    return fitted_socket(settings.dashboard_address, settings.dashboard_port, version=__version__)
