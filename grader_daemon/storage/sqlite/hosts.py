"""The machines whose sessions are here, and of which fleet they are, if this is the copy of one."""

from __future__ import annotations

from typing import Final

from grader_daemon.domain.fleet_hosts import FleetHostState
from grader_daemon.storage.records import FleetCopyState
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.rows import to_moment

_HOST: Final = FleetHostState.__struct_fields__
_HOSTS: Final = f"SELECT {', '.join(_HOST)} FROM fleet_hosts ORDER BY host"


class Hosts(Table):
    """The tables `fleet_copy` and `fleet_hosts`, as all may read them; empty in a machine's own store."""

    def state(self) -> FleetCopyState | None:
        """Return of which fleet it is a copy; None of none."""
        rows = self._database.rows("SELECT fleet, version, read_at, decisions, labels_at FROM fleet_copy")
        if not rows:
            return None
        fleet, version, read_at, decisions, labels_at = rows[0]
        return FleetCopyState(
            fleet=fleet,
            version=version,
            read_at=to_moment(read_at),
            decisions=decisions,
            labels_at=to_moment(labels_at),
        )

    def hosts(self) -> list[FleetHostState]:
        """Return the machines by name, each with how far its rows are here."""
        rows = self._database.rows(_HOSTS)
        return [
            FleetHostState(
                **{**dict(zip(_HOST, row, strict=True)), "last_seen": to_moment(row[_HOST.index("last_seen")])}
            )
            for row in rows
        ]
