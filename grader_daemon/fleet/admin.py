"""A team's PostgreSQL: sending grades there, and what its administrator does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.api.context import GraderContext
from grader_daemon.errors import ConfigurationError, InputError
from grader_daemon.fleet.copy_settings import needing_psycopg, read_url
from grader_daemon.fleet.sent_rows import SENT_COLUMNS, sent_rows
from grader_daemon.integrations.machine import machine_id
from grader_daemon.setting_types import is_fleet_name
from grader_daemon.storage.records import GradeColumns

if TYPE_CHECKING:
    from grader_daemon.domain.calibration import Trust
    from grader_daemon.fleet.push_job import FleetPush
    from grader_daemon.fleet.server_admin import FleetDatabase, FleetLogin
    from grader_daemon.settings import Settings


def fleet_push(context: GraderContext, *, take_over: bool = False) -> FleetPush:
    """Return what sends grades to the fleet; to `take_over` makes this machine the host, whichever was before.

    Raises:
        ConfigurationError: nobody said where to, or psycopg is not installed.
        NoDatabaseError: nothing was graded yet.
        DeliveryError, CallError, StoreError: the fleet's database cannot be used.
    """
    settings, store = context.settings, context.writable
    url = fleet_url(settings)
    with needing_psycopg():
        from grader_daemon.fleet.push_job import FleetPush
        from grader_daemon.fleet.server_writes import HostRows

    rows = HostRows(
        url, columns=SENT_COLUMNS, machine=_identity(settings), version=__version__, clock=bootstrap.utc_now
    )
    if take_over:
        rows.take_over()
    return FleetPush(
        store,
        rows,
        make_rows=partial(_rows, trust=partial(bootstrap.read_trust, settings, store), texts=settings.fleet_texts),
        texts=settings.fleet_texts,
    )


def fleet_database(url: str) -> FleetDatabase:
    """Connect to the fleet's database as its administrator.

    Raises:
        ConfigurationError: the URL cannot be understood, or psycopg is not installed.
        DeliveryError: nobody answers, or does not let us in.
    """
    with needing_psycopg():
        from grader_daemon.fleet.server_admin import FleetDatabase

    return FleetDatabase(url)


def fleet_url(settings: Settings) -> str:
    """Return where the fleet's database is.

    Raises:
        ConfigurationError: nobody said where.
    """
    if settings.fleet_url is None:
        raise ConfigurationError(
            "setting fleet_url is missing: it names the database that gets this machine's grades. Its administrator"
            " runs grader-daemon fleet add-host NAME, which prints the line for this machine's settings file"
        )
    return settings.fleet_url.get_secret_value()


def fleet_files(settings: Settings) -> tuple[Path, ...]:
    """Return the files of this person that are read to get to the fleet, there or not.

    Raises:
        ConfigurationError: nobody said where the fleet is, or psycopg is not installed.
    """
    return _files_for(fleet_url(settings))


def read_files(settings: Settings) -> tuple[Path, ...]:
    """Return the files of this person that are read to look at the fleet, there or not.

    Raises:
        ConfigurationError: nobody said where the fleet is, or psycopg is not installed.
    """
    return _files_for(read_url(settings))


def _files_for(url: str) -> tuple[Path, ...]:
    with needing_psycopg():
        from grader_daemon.fleet.client_files import client_files

    return client_files(url, home=Path(os.path.expanduser("~")))


def checked_name(name: str) -> str:
    """Return the name of a host, or of a person, if it can be one.

    Raises:
        InputError: it cannot.
    """
    if not is_fleet_name(name):
        raise InputError(f"{name!r} is not a valid name: use up to 40 characters of a-z, 0-9, - and _")
    return name


def configuration_line(login: FleetLogin, *, setting: str) -> str:
    """Return the line of a settings file by which a host, or a person, gets in."""
    is_socket = login.server.startswith("/")
    where = "" if is_socket else f"{_bracketed(login.server)}:{login.port}"
    query = f"?{urlencode({'host': login.server, 'port': login.port})}" if is_socket else ""
    credentials = f"{quote(login.role, safe='')}:{quote(login.password, safe='')}"
    return f'{setting} = "postgresql://{credentials}@{where}/{quote(login.database, safe="")}{query}"'


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _identity(settings: Settings) -> str:
    """Return who we are, as the fleet is told: one database of one machine, also after a reboot or from a backup."""
    own = f"grader-daemon fleet\0{machine_id()}\0{settings.db_path.resolve()}"
    return hashlib.sha256(own.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _rows(stored: GradeColumns, *, trust: Callable[[], Trust], texts: bool) -> list[tuple[Any, ...]]:
    return sent_rows(stored, trust(), texts=texts)
