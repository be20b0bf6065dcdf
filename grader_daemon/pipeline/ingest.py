"""Ingest: files in, rows out, in batches of one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from time import monotonic

import tenacity

from grader_daemon.domain.ledger import NOWHERE, LedgerEntry, ledger_path
from grader_daemon.errors import ReadError, StoreBusyError
from grader_daemon.pipeline.examine import Examined, Examiner, TroubledFile
from grader_daemon.pipeline.reading import look_at, stamp_of
from grader_daemon.pipeline.record import Recorded, Recorder
from grader_daemon.storage import Store

_BUSY_PATIENCE_SECONDS = 90
_LOOKUP = 100


class Ingest:
    """Examines files and records what came of it. Only one thread uses one."""

    def __init__(
        self,
        *,
        examiner: Examiner,
        recorder: Recorder,
        store: Store,
        clock: Callable[[], datetime],
        on_file: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Set up. `on_file` is told the path of each file before it is examined, and "" when none is any more."""
        self.examiner = examiner
        self._recorder = recorder
        self._store = store
        self._clock = clock
        self._on_file = on_file

    def ingest(self, paths: Sequence[str], *, within_seconds: float) -> tuple[list[Recorded], int]:
        """Ingest from the front of `paths` for as long as `within_seconds` allows, then save in one transaction.

        Returns:
            what was recorded, and how many of `paths` that covers (at least one).
        """
        gathered = self._gather(paths, monotonic() + within_seconds)
        self._on_file("")
        return self.save(gathered), len(gathered)

    def _gather(self, paths: Sequence[str], deadline: float) -> list[tuple[Examined, LedgerEntry | None]]:
        gathered: list[tuple[Examined, LedgerEntry | None]] = []
        for start in range(0, len(paths), _LOOKUP):
            some = paths[start : start + _LOOKUP]
            known = self._store.ledger_entries([ledger_path(path) for path in some])
            now = self._clock()
            for path in some:
                entry = known.get(ledger_path(path))
                self._on_file(path)
                gathered.append((self.examiner.examine(path, now=now, known=entry), entry))
                if monotonic() >= deadline:
                    return gathered
        return gathered

    def quarantine(self, path: str, error: str) -> Recorded:
        """Put a file aside that we failed on by a bug of ours; it comes back when its content changes."""
        return self._put_aside(path, error, hope=False)

    def suspect(self, path: str) -> Recorded:
        """Count a failed attempt for a file: we died while we read it."""
        recorded = self._put_aside(path, "the daemon ended while it read this file", hope=True)
        self._on_file("")
        return recorded

    def _put_aside(self, path: str, error: str, *, hope: bool) -> Recorded:
        known = self._store.ledger_entry(ledger_path(path))
        try:
            stamp = stamp_of(look_at(path))
        except ReadError:
            stamp = NOWHERE
        return self.save([(TroubledFile(path=ledger_path(path), stamp=stamp, error=error, hope=hope), known)])[0]

    def save(self, gathered: Sequence[tuple[Examined, LedgerEntry | None]]) -> list[Recorded]:
        """Write many in one transaction; a database that another program holds is waited for.

        Raises:
            StoreError: it cannot be written; nothing of the batch was.
        """
        patiently = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(StoreBusyError),
            stop=tenacity.stop_after_delay(_BUSY_PATIENCE_SECONDS),
            wait=tenacity.wait_random_exponential(0.05, max=2),
            reraise=True,
        )
        return patiently(self._save_once, gathered)

    def _save_once(self, gathered: Sequence[tuple[Examined, LedgerEntry | None]]) -> list[Recorded]:
        now = self._clock()
        with self._store.transaction():
            return self._recorder.record(gathered, now=now, rejudge=self.examiner.rejudge)
