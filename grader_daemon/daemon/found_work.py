"""Units of a backlog that were found and not saved yet: examined here a little at a time, or by helpers if it lasts.

What is examined is saved together with more: each transaction costs some milliseconds. Meanwhile a session in it may be
graded from a newer state of its file, so what was recorded since is examined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time

from grader_daemon.domain.unit import Unit
from grader_daemon.errors import StoreError
from grader_daemon.pipeline.commit import IngestResult
from grader_daemon.pipeline.helpers import Gathered
from grader_daemon.pipeline.ingest import Ingest

_ALONE_SECONDS = 3.0
"""CPU time: only a backlog that takes more is handed to helpers, for each takes half a second to start and to warm up
(measured: 1,759 sessions of 3.5 KB take 2.4 s in one process, and 3.4 s with two helpers)."""

_A_LITTLE_SECONDS = 0.02
_SAVED_TOGETHER = 256
"""A session costs 0.14 ms to save with so many others, and 0.23 ms with 40."""


class FoundWork:
    """The part of a backlog that is in hand. One thread uses it; what it forgets, the next scan finds again."""

    def __init__(self, ingest: Ingest, *, batch_sessions: int) -> None:
        """Set up; fewer than `batch_sessions` are never handed to helpers."""
        self._ingest = ingest
        self._batch_sessions = batch_sessions
        self._units: list[Unit] = []
        self._examined: list[Gathered] = []
        self._began_at: float | None = None
        """Time of the thread's CPU clock when this backlog began."""

    @property
    def waiting(self) -> int:
        """Return how many units wait to be examined, here or by a helper."""
        return len(self._units) + self._ingest.waiting

    @property
    def busy(self) -> bool:
        """True if something is not saved yet."""
        return bool(self._units or self._examined) or self._ingest.busy

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

    def work(self) -> list[IngestResult]:
        """Examine a little here, and save it if there is enough of it, or nothing more.

        Returns:
            what was recorded.

        Raises:
            StoreError: it cannot be saved; the next call tries again.
        """
        if len(self._examined) < _SAVED_TOGETHER:
            self._examine()
        if self._examined and (len(self._examined) >= _SAVED_TOGETHER or not self._units):
            return self._save()
        return []

    def _examine(self) -> None:
        units, self._units = self._units, []
        if units:
            examined, done = self._ingest.examine(units, within_seconds=_A_LITTLE_SECONDS)
            self._examined += examined
            self._units = units[done:]

    def _save(self) -> list[IngestResult]:
        examined, self._examined = self._examined, []
        try:
            recorded, overtaken = self._ingest.save_if_newest(examined)
        except StoreError:
            self._examined = examined
            raise
        self._units += overtaken
        return recorded
