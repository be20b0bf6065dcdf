"""Units of a backlog that were found and not saved yet: examined here a little at a time, or by helpers if it lasts."""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time
from typing import NamedTuple

from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline.commit import IngestResult
from grader_daemon.pipeline.ingest import SAVED_TOGETHER, Ingest

_ALONE_SECONDS = 3.0
"""CPU time: only a backlog that takes more is handed to helpers, for each takes half a second to start and to warm up
(measured: 1,759 sessions of 3.5 KB take 2.4 s in one process, and 3.4 s with two helpers)."""


class Stride(NamedTuple):
    """Part of a backlog that is worked on in one turn: examined for `seconds`, at most `units`, saved `together`."""

    seconds: float
    units: int
    together: int


CALM = Stride(seconds=0.02, units=25, together=SAVED_TOGETHER)
BESIDE_LIVE = Stride(seconds=0.005, units=8, together=64)
"""While sessions end, which wait for a turn; to save so many takes some 15 ms."""


class FoundWork:
    """The part of a backlog that is in hand. One thread uses it; what it forgets, the next scan finds again."""

    def __init__(self, ingest: Ingest, *, batch_sessions: int) -> None:
        """Set up; fewer than `batch_sessions` are never handed to helpers."""
        self._ingest = ingest
        self._batch_sessions = batch_sessions
        self._units: list[Unit] = []
        self._began_at: float | None = None
        """Time of the thread's CPU clock when this backlog began."""

    @property
    def waiting(self) -> int:
        """Return how many units wait to be examined, here or by a helper."""
        return len(self._units) + self._ingest.waiting

    @property
    def busy(self) -> bool:
        """True if something is not saved yet."""
        return bool(self._units) or self._ingest.busy

    def add(self, units: Sequence[Unit]) -> None:
        """Add units; if helpers are there, or the backlog lasts, they are handed out."""
        self._units += units
        if self._ingest.helpers or self._lasts():
            self._ingest.hand_out(self._units)
            self._units = []

    def _lasts(self) -> bool:
        if self._units and self._began_at is None:
            self._began_at = thread_time()
        is_old = self._began_at is not None and thread_time() - self._began_at >= _ALONE_SECONDS
        return is_old and len(self._units) >= self._batch_sessions and self._ingest.processes > 0

    def end(self) -> None:
        """Note that this backlog is worked off: the next one is another."""
        self._began_at = None

    def work(self, stride: Stride, *, within_seconds: float) -> list[IngestResult]:
        """Examine a little here, wait a moment for helpers, and save what was examined if there is enough of it.

        Returns:
            what was recorded.

        Raises:
            StoreError: it cannot be saved; the next call tries again.
        """
        if self._ingest.unsaved < stride.together:
            self._examine(stride)
        if not self._ingest.busy:
            return []
        return self._ingest.collect(within_seconds=within_seconds, together=stride.together if self.waiting else 1)

    def _examine(self, stride: Stride) -> None:
        units, self._units = self._units, []
        if units:
            done = self._ingest.examine(units[: stride.units], within_seconds=stride.seconds)
            self._units = units[done:]
