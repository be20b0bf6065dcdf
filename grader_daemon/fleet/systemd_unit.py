"""The pusher as a service of this user: put it in place, ask how it is, take it away."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.domain.fleet_hosts import FEED_FOLLOWER
from grader_daemon.errors import ConfigurationError, ServiceError
from grader_daemon.fleet.admin import fleet_files
from grader_daemon.service.demands import pusher_fit
from grader_daemon.service.install import Installation, RunningService, ServiceStatus, is_older
from grader_daemon.service.systemd import LogEntry, read_log
from grader_daemon.service.unit_file import PUSHER, fitted_unit
from grader_daemon.settings import Settings
from grader_daemon.storage.sqlite.store import SqliteStore

_SOURCE: Final = "grader-push"
_LOOKED_THROUGH: Final = 20
"""Entries of the journal; between two complaints systemd may say a few things of a process that ends."""

_OURS, _WARNING = "grader-daemon: ", "warning: "


class PusherStatus(ServiceStatus, frozen=True, kw_only=True):
    """State of the pusher as a service.

    Attributes:
        outdated: whether the unit is not what the settings, or this version, ask for, or they changed since it started.
        behind: how many changes of this machine's grades were not sent yet; None while nothing is graded.
        trouble: the last thing that it complained of, since it was started or before it ended.
        trouble_at: when that was.
    """

    behind: int | None
    trouble: str | None
    trouble_at: datetime | None


class PusherService:
    """`push fleet --follow` in the hands of the user's own systemd."""

    def __init__(self, *, clock: bootstrap.Clock) -> None:
        """Find systemd.

        Raises:
            ServiceError: there is none for this user.
        """
        self._service = RunningService(PUSHER, clock=clock)

    def install(self, settings: Settings, *, force: bool = False) -> Installation:
        """Write the unit, enable it, and have it run by these settings. `force` replaces an edited unit, keeps a copy.

        Raises:
            ConfigurationError: nobody said where the fleet is, psycopg is not installed, or a setting cannot be passed
                on; nothing was changed.
            ServiceError: somebody edited the unit and nothing was changed, or systemd did not do it.
        """
        files = fleet_files(settings)
        fit = pusher_fit(settings, runtime=self._service.runtime, files=files)
        return self._service.install(settings, fit, force=force, reads=(settings.given.file, *files))

    def uninstall(self) -> bool:
        """Stop it, and remove the unit; False: there was none.

        Raises:
            ServiceError: systemd did not do it.
        """
        return self._service.uninstall() is not None

    def status(self, settings: Settings, *, behind: int | None) -> PusherStatus:
        """Return how it is, when it is known how far it is `behind`.

        Raises:
            ServiceError: systemd does not answer.
        """
        status = self._service.status(outdated=self._is_outdated(settings))
        trouble = _last_trouble(since=status.since)
        return PusherStatus(
            **msgspec.structs.asdict(status),
            behind=behind,
            trouble=None if trouble is None else trouble.message.removeprefix(_OURS).removeprefix(_WARNING),
            trouble_at=None if trouble is None else trouble.at,
        )

    def _is_outdated(self, settings: Settings) -> bool:
        if self._service.unit.read() is None:
            return False
        try:
            files = fleet_files(settings)
            fit = pusher_fit(settings, runtime=self._service.runtime, files=files)
            fitted = fitted_unit(PUSHER, fit, version=__version__)
        except ConfigurationError:  # `install` says what is missing, or cannot be passed on
            return True
        return self._service.unit.is_other_than(fitted) or is_older(
            self._service.state(), (settings.given.file, *files)
        )


def unsent(store: SqliteStore) -> int:
    """Return how many changes of this machine's grades were not sent to the fleet yet, as far as is known here."""
    return max(0, store.changes.newest() - store.changes.position(FEED_FOLLOWER))


def _last_trouble(*, since: datetime | None) -> LogEntry | None:
    """Return the last complaint of its own, if there is one since a moment; what systemd says of it is none."""
    try:
        entries = list(read_log(PUSHER.name, lines=_LOOKED_THROUGH, priority="warning"))
    except ServiceError:  # a machine may keep no journal
        return None
    own = [each for each in entries if each.source == _SOURCE and (since is None or each.at >= since)]
    return own[-1] if own else None
