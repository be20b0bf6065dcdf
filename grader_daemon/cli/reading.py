"""The grades that a command is about: this machine's own, or those of a fleet, by a copy that is brought up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

from grader_daemon import bootstrap
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.errors import DeliveryError, StoreBusyError, StoreError
from grader_daemon.setting_sources import Source
from grader_daemon.wings import part

if TYPE_CHECKING:
    from grader_daemon.api.parts import SharedCopies, SharedCopy
    from grader_daemon.settings import Settings

_WAITS_SECONDS: Final = 1.0
"""So long an answer may wait for sessions that are older than those that it has."""


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


def read_fleet(grader: SelfGrader, *, at_most_seconds: float = inf) -> int:
    """Read what is new of the fleet, and older sessions for so long at most; returns how many.

    Raises:
        StoreBusyError: another program reads into this copy.
        DeliveryError: the fleet's database is away.
    """
    fleet, until, read = _copy_of(grader), monotonic() + at_most_seconds, 0
    batches = fleet.catch_up(grader.context.now)
    with output.progress("Reading the fleet", fleet.behind()) as advance, closing(batches):
        for sessions in batches:
            advance(sessions)
            read += sessions
            if monotonic() > until and fleet.older():
                break
    return read


def _copy_of(grader: SelfGrader) -> SharedCopy:
    try:
        fleet = grader.context.fleet
    except StoreError as error:
        said = str(error).partition(";")[0]
        raise StoreError(f"{said}; this is the local copy of a fleet: delete it, and it is created again") from error
    assert fleet is not None
    return fleet


def _catch_up(grader: SelfGrader) -> None:
    fleet, seen = _copy_of(grader), grader.context.fleet_view()
    is_new = seen is None or seen.read_at is None  # what the machines counted answers before more is read
    try:
        read_fleet(grader, at_most_seconds=0.0 if is_new else _WAITS_SECONDS)
        if left := fleet.older():
            output.warning(f"up to {left:,} older sessions are not read yet; to read them: grader-daemon fleet pull")
        if fleet.told is not None:
            output.warning(fleet.told)
        if fleet.unread_labels:
            output.warning(f"labels that this version cannot read: {fleet.unread_labels:,}")
    except StoreBusyError:
        output.warning("another program is updating this copy of the fleet; these are the sessions read so far")
    except DeliveryError as error:
        seen = grader.context.fleet_view()
        if seen is None or seen.read_at is None:
            raise
        output.warning(f"{error}; these are the fleet's figures of {output.cell(seen.read_at)}")
