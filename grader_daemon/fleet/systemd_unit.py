"""Services of this user for a fleet: the pusher, with how far it is, and the server; what each needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from grader_daemon.domain.fleet_hosts import FEED_FOLLOWER
from grader_daemon.errors import ServiceError
from grader_daemon.fleet.admin import fleet_files, read_files
from grader_daemon.fleet.copy_settings import settings_of_copy
from grader_daemon.service.demands import demands
from grader_daemon.service.install import ServiceStatus
from grader_daemon.service.manager import read_service_log, user_service
from grader_daemon.service.unit_value import Fit, LogEntry, Unit

if TYPE_CHECKING:
    from grader_daemon.settings import Settings
    from grader_daemon.storage.sqlite.store import SqliteStore

_LOOKED_THROUGH: Final = 20
"""Entries of the journal; between two complaints systemd may say a few things of a process that ends."""

_OURS, _WARNING = "grader-daemon: ", "warning: "


class PusherStatus(ServiceStatus, frozen=True, kw_only=True):
    """Status of the service that sends grades to the fleet.

    Attributes:
        outdated: whether the settings or the program's version changed since the unit was written or started.
        behind: number of this machine's changes not yet sent; None without grades.
        trouble: its last warning, since its start or before its end.
        trouble_at: time of that warning.
    """

    behind: int | None
    trouble: str | None
    trouble_at: datetime | None


def pusher_status(settings: Settings, *, behind: int | None) -> PusherStatus:
    """Return how the pusher is, when it is known how far it is `behind`.

    Raises:
        ServiceError: systemd does not answer.
    """
    status = user_service("pusher").status(settings)
    trouble = _last_trouble(since=status.since)
    return PusherStatus(
        **msgspec.structs.asdict(status),
        behind=behind,
        trouble=None if trouble is None else trouble.message.removeprefix(_OURS).removeprefix(_WARNING),
        trouble_at=None if trouble is None else trouble.at,
    )


def unsent(store: SqliteStore) -> int:
    """Return how many changes of this machine's grades were not sent to the fleet yet, as far as is known here."""
    return max(0, store.changes.newest() - store.changes.position(FEED_FOLLOWER))


def _last_trouble(*, since: datetime | None) -> LogEntry | None:
    """Return the last complaint of its own, if there is one since a moment; what systemd says of it is none."""
    try:
        entries = list(read_service_log(PUSHER, lines=_LOOKED_THROUGH, priority="warning"))
    except ServiceError:  # a machine may keep no journal
        return None
    own = [each for each in entries if each.source == PUSHER.name and (since is None or each.at >= since)]
    return own[-1] if own else None


def _fit(settings: Settings) -> Fit:
    """Return what sending to the fleet needs: the network, and files of libpq; it reads no session.

    The fleet knows a machine by where its database really is. A sandbox has no links to that place, so it is told.

    Raises:
        ConfigurationError: nobody said where the fleet is, or psycopg is not installed.
    """
    files = fleet_files(settings)
    fit = demands(settings, "fleet", "push", "--follow", read=files)
    place = settings.db_path.resolve()
    command = fit.command if place == settings.db_path else (*fit.command, "--db-path", str(place))
    read_once = (settings.given.file, *files)
    return replace(fit, command=command, network=("fleet_url",), max_file_bytes=0, read_once=read_once)


PUSHER: Final = Unit(
    name="grader-push",
    install="grader-daemon fleet install",
    foreground="fleet push --follow",
    fit=_fit,
    started="Started",
)


def _fit_server(settings: Settings) -> Fit:
    """Return what serving a fleet needs: the network, files of libpq, the copy, and whom to let in.

    Raises:
        ConfigurationError: nobody said where the fleet is, or psycopg is not installed.
    """
    tls = filter(None, (settings.fleet_serve_certificate_file, settings.fleet_serve_key_file))
    files = (*read_files(settings), *tls)
    copy = settings_of_copy(settings).db_path.parent
    tokens = settings.fleet_tokens_file or settings.db_path
    # A token that is made anew replaces the file, so its folder is seen.
    fit = demands(settings, "fleet", "serve", read=[*files, tokens.parent])
    writable = tuple(dict.fromkeys((*fit.writable, copy, copy.resolve())))
    read_once = (settings.given.file, *files)
    return replace(fit, writable=writable, network=("fleet_read_url",), max_file_bytes=0, read_once=read_once)


SERVER: Final = Unit(
    name="grader-fleet",
    install="grader-daemon fleet serve install",
    foreground="fleet serve",
    fit=_fit_server,
    started="Started",
    failed="did not start: another program may use its port, set in fleet_serve_port",
)
