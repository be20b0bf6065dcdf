"""The machines of a team, whose grades lie in one place, and how their sessions are named there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

FEED_FOLLOWER: Final = "fleet"
"""Name under which the fleet pusher keeps its place in the change feed."""
_BEHIND: Final = timedelta(minutes=1)
_SILENT: Final = timedelta(days=1)
_UNWATCHED: Final = timedelta(hours=1)
_BETWEEN: Final = "/"
"""Separator that occurs in no name of a host."""


class FleetHostState(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of a fleet, and the position up to which its rows are known.

    Attributes:
        host: its name.
        user: the machine's owner; None if not set.
        epoch: if it changes, all rows of the machine must be read again.
        seq: the machine's last change whose rows are known.
        version: of its grader-daemon; None if it never sent anything.
        last_seen: its last contact, by the clock of the fleet's database.
        unread: number of its rows missing here because this version cannot read them.
        older: changes up to this one are not read yet; 0 if all are.
    """

    host: str
    user: str | None
    epoch: int
    seq: int
    version: str | None
    last_seen: datetime | None
    unread: int = 0
    older: int = 0


class FleetWatch(msgspec.Struct, frozen=True, kw_only=True):
    """The member that raises the alerts of a fleet and writes its reports.

    Attributes:
        member: the member who runs `fleet watch`; None if nobody ever did.
        seen_at: its last contact, by the clock of the fleet's database.
        worked_at: when it last finished a round.
    """

    member: str | None
    seen_at: datetime | None
    worked_at: datetime | None


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """The machines whose grades are here, by name, and the time of the last complete read; None if there was none."""

    hosts: tuple[FleetHostState, ...]
    read_at: datetime | None


def silent_hosts(fleet: FleetView, now: datetime) -> list[FleetHostState]:
    """Return the machines that nobody heard of for a day; see `unheard_hosts` for those that never sent anything."""
    return [host for host in fleet.hosts if host.last_seen is not None and is_silent(host.last_seen, now)]


def unheard_hosts(fleet: FleetView) -> list[FleetHostState]:
    """Return the machines that never sent anything."""
    return [host for host in fleet.hosts if host.last_seen is None]


def is_silent(heard_at: datetime, now: datetime) -> bool:
    """Return whether nothing was heard of a machine for a day."""
    return now - heard_at > _SILENT


def left_of(fleet: FleetView) -> int:
    """Return how many changes of its machines are not read yet, of before it was looked at first."""
    return sum(host.older for host in fleet.hosts)


def is_unwatched(watch: FleetWatch, now: datetime) -> bool:
    """Return whether no watch of a fleet was completed for an hour: no alert is raised, and no report written."""
    return watch.worked_at is None or now - watch.worked_at > _UNWATCHED


def is_behind(fleet: FleetView, now: datetime) -> bool:
    """Return whether a followed copy was not read to the end for a minute: the fleet's database is away."""
    return fleet.read_at is None or now - fleet.read_at > _BEHIND


def copied_id(host: str, session_id: str) -> str:
    """Return the id of a session of a host where those of all hosts are."""
    return f"{host}{_BETWEEN}{session_id}"


def host_and_session(copied: str) -> tuple[str, str]:
    """Return the host of such an id, and the id of the session there."""
    host, _, session_id = copied.partition(_BETWEEN)
    return host, session_id
