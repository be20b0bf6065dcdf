"""The service manager of this machine: launchd on macOS, systemd elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from grader_daemon.integrations.machine import has_launchd
from grader_daemon.service.install import UserService
from grader_daemon.service.launch_agent import LaunchAgent
from grader_daemon.service.launchd import read_file_log
from grader_daemon.service.systemd import read_log
from grader_daemon.service.unit_value import LogEntry, Unit

PRIORITIES: Final = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
"""Those of syslog(3), the worst first."""


def user_service(name: str) -> UserService | LaunchAgent:
    """Return a service of the table in the hands of this machine's manager.

    Raises:
        ServiceError: there is none for this user.
    """
    return LaunchAgent(name) if has_launchd() else UserService(name)


def read_service_log(
    unit: Unit, *, lines: int, priority: str | None = None, follow: bool = False
) -> Iterator[LogEntry]:
    """Return the last entries about a unit, the oldest first; `follow` goes on with new ones, without end.

    Raises:
        ServiceError: the log cannot be read.
    """
    if not has_launchd():
        return read_log(unit.service, lines=lines, priority=priority, follow=follow)
    worst = PRIORITIES.index(priority or PRIORITIES[-1])
    return read_file_log(unit.name, lines=lines, priority=worst, follow=follow)
