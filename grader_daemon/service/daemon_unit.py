"""The daemon as a service of this user: put it in place, ask how it is, take it away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader_daemon import bootstrap
from grader_daemon.errors import AlreadyRunningError
from grader_daemon.service.demands import daemon_fit, serves_daemon
from grader_daemon.service.install import Installation, RunningService, ServiceStatus
from grader_daemon.service.systemd import LogEntry, read_log
from grader_daemon.service.unit_file import DAEMON
from grader_daemon.settings import Settings
from grader_daemon.storage.lock import holder_pid, is_running


class UserService:
    """The service, in the hands of the user's own systemd."""

    def __init__(self, *, clock: bootstrap.Clock) -> None:
        """Find systemd.

        Raises:
            ServiceError: there is none for this user.
        """
        self._service = RunningService(DAEMON, clock=clock)

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
        fit = daemon_fit(settings, runtime=self._service.runtime)
        _refuse_another_daemon(settings.db_path, but=self._service.state().pid)
        return self._service.install(settings, fit, force=force)

    def uninstall(self) -> str | None:
        """Stop the daemon, and remove the unit; return the folders that it wrote in, which stay. None: there was none.

        Raises:
            ServiceError: systemd did not do it.
        """
        return self._service.uninstall()

    def status(self, settings: Settings) -> ServiceStatus:
        """Return how the service is, and whether it fits these settings."""
        unit = self._service.unit.read()
        return self._service.status(outdated=unit is not None and not serves_daemon(unit, settings))


def read_daemon_log(*, lines: int, priority: str | None = None, follow: bool = False) -> Iterator[LogEntry]:
    """Return the last entries of the daemon's log, and what systemd said of it; `follow` goes on without end.

    Raises:
        ServiceError: the journal cannot be read.
    """
    return read_log(DAEMON.name, lines=lines, priority=priority, follow=follow)


def _refuse_another_daemon(db_path: Path, *, but: int | None) -> None:
    pid = holder_pid(db_path) if is_running(db_path) else None
    if pid is not None and pid != but:
        raise AlreadyRunningError(f"a grader-daemon that is no service (pid {pid}) runs on {db_path}: end it first")
