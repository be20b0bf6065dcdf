"""The page as a service of this user: a port that systemd holds, and a process that it starts at the first visit.

launchd runs it all the time: its way to hand over a port is a call of C, which nobody here could try.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from grader_daemon.integrations.machine import has_launchd
from grader_daemon.service.demands import demands, home
from grader_daemon.service.install import UserService
from grader_daemon.service.manager import user_service
from grader_daemon.service.unit_file import TEMPORARY
from grader_daemon.service.unit_value import Fit, Unit

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_IDLE_EXIT_SECONDS: Final = 600
_OF_SYSTEMD: Final = (Path("/run/log/journal"), Path("/run/systemd/system"))
"""The log of the daemon, and the sign that systemd runs (sd_booted(3))."""


class DashboardStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of the page as a service.

    Attributes:
        installed: whether the service manager knows it.
        listening: whether its port is open.
        is_here: whether that is the port in these settings.
        running: whether its process runs: somebody looked in the last ten minutes.
        pid: process id, while it runs.
        edited: whether somebody edited a unit by hand.
        outdated: whether the settings or the program's version changed since the units were written.
    """

    installed: bool
    listening: bool
    is_here: bool
    running: bool
    pid: int | None
    edited: bool
    outdated: bool


def page_status(settings: Settings) -> DashboardStatus:
    """Return how the page is, and whether its units fit these settings.

    Raises:
        ServiceError: the service manager does not answer.
    """
    service = user_service("page")
    status = service.status(settings)
    if isinstance(service, UserService):
        is_listening = service.state().active == "active"
        is_here = is_listening and service.directive("ListenStream") == _address(settings)
    else:  # launchd holds no port of ours
        is_listening, is_here = status.running, status.running and not status.outdated
    return DashboardStatus(
        installed=status.installed,
        listening=is_listening,
        is_here=is_here,
        running=status.running,
        pid=status.pid if status.running else None,
        edited=status.edited,
        outdated=status.outdated,
    )


def _address(settings: Settings) -> str:
    address = settings.dashboard_address
    return f"{f'[{address}]' if ':' in address else address}:{settings.dashboard_port}"


def _fit(settings: Settings) -> Fit:
    """Return what the page needs: it shows sessions wherever they lay when they were graded."""
    files = filter(None, (settings.dashboard_certificate_file, settings.dashboard_key_file))
    words = ("dashboard",) if has_launchd() else ("dashboard", "--idle-exit", str(_IDLE_EXIT_SECONDS))
    fit = demands(settings, *words, read=[home(), *TEMPORARY, *files])
    return replace(fit, shown=_OF_SYSTEMD, address=_address(settings))


PAGE: Final = Unit(
    name="grader-dashboard",
    install="grader-daemon dashboard install",
    foreground="dashboard",
    fit=_fit,
    waits=True,
    enabled="its port is open while you are logged in. It runs while the page is in use, and ten minutes longer",
    failed="could not open its port, which another program may use: choose another with dashboard_port",
)
