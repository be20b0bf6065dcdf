"""The grades that a command is about: this machine's own, or those of a fleet, by a copy that is brought up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Final

from grader_daemon import bootstrap
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.errors import DeliveryError, StoreBusyError, StoreError
from grader_daemon.setting_sources import Source
from grader_daemon.settings import Settings
from grader_daemon.wings import part

if TYPE_CHECKING:
    from grader_daemon.api.parts import SharedCopies, SharedCopy

_WAITS_SECONDS: Final = 10.0
"""So long a first answer may wait for sessions that are older than those that it has."""


def is_served(settings: Settings) -> bool:
    """Return whether the server of a fleet is to be asked; not where a flag names a database."""
    return settings.fleet_server is not None and not _is_database_named(settings)


def settings_to_read(settings: Settings) -> Settings:
    """Return the settings of the copy of a fleet, if one is to be asked; not where a flag names a database.

    Raises:
        ConfigurationError: the URL cannot be understood, or psycopg is not installed.
    """
    if settings.fleet_read_url is None or _is_database_named(settings):
        return settings
    known: SharedCopies = part("copies")
    return known.settings_of(settings)


@contextmanager
def grader_of(settings: Settings) -> Iterator[SelfGrader]:
    """Hand out what answers about the database of settings; the copy of a fleet is brought up to date before.

    Raises:
        DeliveryError: the fleet's database is away, and nothing was read of it before.
    """
    with SelfGrader(settings=settings_to_read(settings), clock=bootstrap.utc_now) as grader:
        if grader.settings is not settings:
            _catch_up(grader)
        yield grader


def _is_database_named(settings: Settings) -> bool:
    return settings.given.sources.get("db_path") is Source.FLAG


def _read(fleet: SharedCopy, now: datetime) -> int:
    """Read what is new, and of what is older as much as a person waits for; returns how much is left of that."""
    until = monotonic() + _WAITS_SECONDS
    with output.progress("Reading the fleet", fleet.behind()) as advance, closing(fleet.catch_up(now)) as batches:
        for sessions in batches:
            advance(sessions)
            if monotonic() > until and (left := fleet.older()):
                return left
    return 0


def _catch_up(grader: SelfGrader) -> None:
    try:
        fleet = grader.context.fleet
    except StoreError as error:
        said = str(error).partition(";")[0]
        raise StoreError(f"{said}; it is the copy of a fleet: delete it, and it is made anew") from error
    assert fleet is not None
    try:
        left = _read(fleet, grader.context.now())
        if left:
            output.warning(f"up to {left:,} older sessions are not read yet; the next command reads on")
        if fleet.told is not None:
            output.warning(fleet.told)
        if fleet.unread_labels:
            output.warning(f"labels that this version cannot read: {fleet.unread_labels:,}")
    except StoreBusyError:
        output.warning("another program reads the fleet into this copy; this is what is there so far")
    except DeliveryError as error:
        seen = grader.context.fleet_view()
        if seen is None or seen.read_at is None:
            raise
        output.warning(f"{error}; this is the fleet as it was on {output.cell(seen.read_at)}")
