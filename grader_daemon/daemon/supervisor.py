"""Runs the service, and a new one whenever its database was replaced under it, or settings are to be read anew."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import structlog

from grader_daemon import bootstrap
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.service_loop import Service
from grader_daemon.errors import ConfigurationError, GraderError, StoreFullError

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 15.0


class Supervisor:
    """One run of the daemon, from start to stop."""

    def __init__(self, read_settings: Callable[[], Settings], notifier: Notifier) -> None:
        """See `Service`. `read_settings` is called in the thread that calls this and `run`.

        Raises:
            GraderError: a setting, a rule or the database is wrong; but for a full disk, which `run` waits out.
        """
        self._read_settings = read_settings
        self._settings = self._proven = read_settings()
        self._notifier = notifier
        self._log = structlog.get_logger()
        # Guards the change of services against `stop` and `reload`, which come from other threads.
        self._changing = threading.Lock()
        self._stopping = threading.Event()
        self._service: Service | None = None
        with suppress(StoreFullError):
            self._service = self._make_service()

    @property
    def settings(self) -> Settings:
        """Settings that were read last."""
        return self._settings

    def stop(self) -> None:
        """Ask the daemon to end; safe in any thread and more than once."""
        with self._changing:
            self._stopping.set()
            if self._service is not None:
                self._service.stop()

    def reload(self) -> None:
        """Ask the daemon to read settings and rules anew, and to go on with them; safe in any thread.

        Wrong ones are told, and it goes on with those that it has.
        """
        with self._changing:
            if self._service is not None:
                self._service.reload()

    def run(self, *, once: bool = False) -> int:
        """Work until `stop`; see `Service.run`.

        Returns:
            how many files a run with `once` could not grade, and places it could not read.

        Raises:
            GraderError: another daemon works on this database, or a new database cannot be made; with `once`, it
                cannot be written.
        """
        service = self._service or self._wait_for_room(once=once)
        while service is not None and service.run(once=once):
            with self._changing:
                if self._stopping.is_set():
                    return 0
                self._service = service = self._make_successor()
        return 0 if service is None else service.left

    def _wait_for_room(self, *, once: bool) -> Service | None:
        """Return the first service as soon as the disk has room for its database; None if it is to stop before."""
        pause, tries, began = _FIRST_PAUSE_SECONDS, 0, monotonic()
        while not self._stopping.is_set():
            try:
                service = self._make_first()
            except StoreFullError as error:
                if once:
                    raise
                tries += 1
                self._tell_pause(error, pause, is_first=tries == 1)
                self._stopping.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            if tries:
                seconds = round(monotonic() - began, 1)
                self._log.info("intake.resumed", level="notice", seconds=seconds, tries=tries)
            return service
        return None

    def _make_first(self) -> Service | None:
        with self._changing:
            if not self._stopping.is_set():
                self._service = self._make_service()
            return self._service

    def _tell_pause(self, error: StoreFullError, pause: float, *, is_first: bool) -> None:
        if is_first:
            self._log.error("intake.paused", error=str(error), retry_seconds=pause)
            self._notifier.ready()
        self._notifier.alive()
        self._notifier.status("paused, the database cannot be written")

    def _make_service(self) -> Service:
        return Service(self._settings, self._notifier, on_reload=self._read_anew)

    def _make_successor(self) -> Service:
        """Make a service under the settings that were read last, or else under those that one worked under."""
        try:
            service = self._make_service()
        except GraderError as error:
            if self._settings is self._proven:
                raise
            self._reject(error)
            self._settings = self._proven
            return self._make_service()
        self._proven = self._settings
        return service

    def _read_anew(self) -> bool:
        """Return whether there are settings to go on under, new or the same: the rules may be others."""
        try:
            settings = self._read_settings()
            bootstrap.make_examiner(settings, bootstrap.make_policy(settings, None))  # which reads rules and prior
        except ConfigurationError as error:
            self._reject(error)
            return False
        self._settings = settings
        self._log.info("settings.read")
        return True

    def _reject(self, error: GraderError) -> None:
        self._log.error("settings.rejected", error=str(error))
