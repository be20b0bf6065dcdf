"""The watch of a fleet: a row that its members write by functions of the server, while they are there."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from grader_daemon.domain.fleet_hosts import FleetWatch

_WATCH: Final = b"SELECT member, seen_at, worked_at FROM grader.watch"


def read_watch(connection: psycopg.Connection) -> FleetWatch:
    """Return who watches, or watched last."""
    found = connection.cursor(row_factory=class_row(FleetWatch)).execute(_WATCH).fetchone()
    return found or FleetWatch(member=None, seen_at=None, worked_at=None)


def leads(connection: psycopg.Connection, who: UUID) -> bool:
    """Note that a watch is there; returns whether it is the one that works: the first, while it says so."""
    [does_lead] = connection.execute("SELECT grader.lead(%s)", (who,)).fetchone() or (False,)
    return bool(does_lead)


def finite(column: str) -> str:
    """Return a moment in SQL that can be read here, or is unknown."""
    return f"CASE WHEN {column} BETWEEN '1970-01-01' AND '2200-01-01' THEN {column} END AS {column}"
