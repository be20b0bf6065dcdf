"""A copy of a fleet's grades, put together from settings: where it lies, and what keeps it up to date.

Settings are of such a copy when their database is the file of it: from there on all is as with a machine's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from grader_daemon.errors import ConfigurationError
from grader_daemon.integrations.packages import EXTRAS, how_to_add
from grader_daemon.setting_sources import cache_folder
from grader_daemon.storage.lock import only_one

if TYPE_CHECKING:
    from grader_daemon.fleet.copy_job import FleetCopy
    from grader_daemon.settings import Settings
    from grader_daemon.storage.sqlite.store import SqliteStore


def read_url(settings: Settings) -> str:
    """Return where somebody looks at the fleet.

    Raises:
        ConfigurationError: nobody said where.
    """
    if settings.fleet_read_url is None:
        raise ConfigurationError(
            "setting fleet_read_url is missing: it names the database with the grades of your machines. Its"
            " administrator runs grader-daemon fleet add-member NAME, which prints the line for your settings file"
        )
    return settings.fleet_read_url.get_secret_value()


def settings_of_copy(settings: Settings) -> Settings:
    """Return settings whose database is the copy of the fleet that `fleet_read_url` names.

    Raises:
        ConfigurationError: there is no URL, it cannot be understood, or is that of a server; or psycopg is not
            installed.
    """
    read_url(settings)
    if settings.fleet_server is not None:
        raise ConfigurationError(
            f"{settings.fleet_server} is a fleet server, which keeps the copy itself: open it in a browser; for your"
            " own copy, use the URL from grader-daemon fleet add-member"
        )
    return settings.model_copy(update={"db_path": _copy_file(settings)})


def is_of_copy(settings: Settings) -> bool:
    """Return whether the database of settings is the copy of a fleet."""
    is_read = settings.fleet_read_url is not None and settings.fleet_server is None
    return is_read and settings.db_path == _copy_file(settings)


def make_fleet_copy(settings: Settings, store: SqliteStore) -> FleetCopy:
    """Return what keeps `store`, which is such a copy, up to date; it connects when it must.

    Raises:
        ConfigurationError: psycopg is not installed.
    """
    url = read_url(settings)
    with needing_psycopg():
        from grader_daemon.fleet.copy_job import FleetCopy
        from grader_daemon.fleet.server_reads import FleetRows

    return FleetCopy(
        store,
        FleetRows(url),
        lock=partial(only_one, settings.db_path.with_name(f"{settings.db_path.name}.copying")),
        days=settings.fleet_copy_days,
    )


@contextmanager
def needing_psycopg() -> Iterator[None]:
    """Name what is missing where psycopg, which is an extra, cannot be imported."""
    try:
        yield
    except ImportError as error:
        command = how_to_add(*EXTRAS["fleet"])
        raise ConfigurationError(f"the fleet needs psycopg, which is not installed. Add it: {command}") from error


def _copy_file(settings: Settings) -> Path:
    """Return where the copy lies: each fleet has one, whoever reads it."""
    if settings.fleet_copy_file is not None:
        return settings.fleet_copy_file
    url = read_url(settings)
    with needing_psycopg():
        from grader_daemon.fleet.server_connection import place_of
    place = xxhash.xxh3_64_hexdigest(place_of(url).encode())
    return cache_folder() / f"fleet-{place}.db"
