"""Runs the service, and a new one whenever its database was deleted or replaced under it."""

from __future__ import annotations

import threading

from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.service import Service
from grader_daemon.settings import Settings


class Supervisor:
    """One run of the daemon, from start to stop."""

    def __init__(self, settings: Settings, notifier: Notifier) -> None:
        """See `Service`.

        Raises:
            GraderError: a setting, a rule or the database is wrong.
        """
        self._settings = settings
        self._notifier = notifier
        self._service = Service(settings, notifier)
        # Guards the change of services against `stop`, which comes from another thread.
        self._changing = threading.Lock()
        self._stopping = False

    def stop(self) -> None:
        """Ask the daemon to end; safe in any thread and more than once."""
        with self._changing:
            self._stopping = True
            self._service.stop()

    def run(self, *, once: bool = False) -> int:
        """Work until `stop`; see `Service.run`.

        Returns:
            how many files a run with `once` could not grade.

        Raises:
            GraderError: another daemon works on this database, or a new database cannot be made.
        """
        while self._service.run(once=once):
            with self._changing:
                if self._stopping:
                    return 0
                self._service = Service(self._settings, self._notifier)
        return self._service.left
