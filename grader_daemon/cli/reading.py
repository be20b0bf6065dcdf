"""Whose grades a command is about: this machine's own, or those of a fleet, of which a copy is brought up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from grader_daemon import bootstrap
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.errors import DeliveryError, StoreBusyError, StoreError
from grader_daemon.setting_sources import Source
from grader_daemon.settings import Settings


def settings_to_read(settings: Settings) -> Settings:
    """Return the settings of the copy of a fleet, if one is to be asked; not where a flag names a database.

    Raises:
        ConfigurationError: the URL cannot be understood, or psycopg is not installed.
    """
    is_named = settings.given.sources.get("db_path") is Source.FLAG
    if settings.fleet_read_url is None or is_named:
        return settings
    from grader_daemon.bootstrap.fleet import settings_of_copy  # most machines have no fleet

    return settings_of_copy(settings)


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


def _catch_up(grader: SelfGrader) -> None:
    try:
        fleet = grader.context.fleet
    except StoreError as error:
        said = str(error).partition(";")[0]
        raise StoreError(f"{said}; it is the copy of a fleet: delete it, and it is made anew") from error
    assert fleet is not None
    try:
        with output.progress("Reading the fleet", fleet.behind()) as advance:
            for sessions in fleet.catch_up(grader.context.now()):
                advance(sessions)
    except StoreBusyError:
        output.warning("another program reads the fleet into this copy; this is what is there so far")
    except DeliveryError as error:
        state = fleet.store.fleet.state()
        if state is None or state.read_at is None:
            raise
        output.warning(f"{error}; this is the fleet as it was on {output.cell(state.read_at)}")
