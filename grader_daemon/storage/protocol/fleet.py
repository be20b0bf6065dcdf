"""What a store keeps that holds a copy of a fleet's grades."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from grader_daemon.domain.fleet_hosts import FleetHostState
from grader_daemon.storage.records import FleetCopyState


class FleetCopies(Protocol):
    """Which fleet it is a copy of, and up to where of each of its machines; nothing in a machine's own store."""

    def state(self) -> FleetCopyState | None:
        """Return of which fleet it is a copy; None of none."""

    def save_state(self, state: FleetCopyState) -> None:
        """Note of which fleet it is a copy; call it inside a transaction."""

    def hosts(self) -> list[FleetHostState]:
        """Return the machines by name, each with how far its rows are here."""

    def save_host(self, host: FleetHostState) -> None:
        """Note how far a machine is; call it inside the transaction that saves its rows."""

    def forget_host(self, host: str) -> None:
        """Remove a machine, of which no sessions are here any more."""

    def sessions_of(self, host: str, limit: int) -> Sequence[str]:
        """Return the ids of some sessions of a machine."""

    def ended_before(self, moment: datetime, limit: int) -> Sequence[str]:
        """Return the ids of some sessions that ended before a moment."""

    def decisions(self) -> bytes:
        """Return what all copies share: alerts, their watch, what is to be told, what people said of them; as JSON."""

    def replace_decisions(self, content: bytes) -> None:
        """Replace what is here by what another copy decided; call it inside a transaction.

        Raises:
            InputError: it cannot be read; what is here stands.
        """

    def mark_errors(self) -> None:
        """Note what people said of errors that came in since; call it inside a transaction."""
