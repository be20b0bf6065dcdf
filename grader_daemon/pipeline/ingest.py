"""Ingest: files in, rows out, in batches of one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from time import monotonic

import tenacity

from grader_daemon.domain.ledger import LedgerEntry, ledger_path
from grader_daemon.errors import StoreBusyError, StoreError
from grader_daemon.pipeline.absence import still_settled
from grader_daemon.pipeline.commit import Commit, IngestOutcome, IngestResult
from grader_daemon.pipeline.examine import Examined, Examiner, TroubledFile
from grader_daemon.pipeline.helper_process import HelperProcess
from grader_daemon.pipeline.trouble import ENDED_THE_DAEMON, OnBug, bug_with, examine_any, trouble_with
from grader_daemon.storage.protocol import SessionStore

_BUSY_PATIENCE_SECONDS = 90
_LOOKUP = 100


Gathered = tuple[Examined, LedgerEntry | None]
"""What a file is found to be, and its ledger row before."""


class Ingest:
    """Examines files and records what came of it. Only one thread uses one.

    A file that we fail on by a bug of ours is put aside alone: the others of its batch do not notice.
    """

    def __init__(
        self,
        *,
        examiner: Examiner,
        recorder: Commit,
        store: SessionStore,
        clock: Callable[[], datetime],
        on_file: Callable[[str], None] = lambda _: None,
        on_bug: OnBug = lambda _, __: None,
        helper: HelperProcess | None = None,
    ) -> None:
        """Set up.

        `on_file` is told the path of each file before it is examined, and "" when none is any more; `on_bug` the path
        of one that we fail on, and how. `helper` examines files that could take long; without one, they are examined
        here like all others.
        """
        self.examiner = examiner
        self._recorder = recorder
        self._store = store
        self._clock = clock
        self._on_file = on_file
        self._on_bug = on_bug
        self._helper = helper

    def ingest(self, paths: Sequence[str], *, within_seconds: float) -> tuple[list[IngestResult], int]:
        """Ingest from the front of `paths` for as long as `within_seconds` allows, then save in one transaction.

        Returns:
            what was recorded, and how many of `paths` that covers (at least one).
        """
        gathered = self._gather(paths, monotonic() + within_seconds)
        self._on_file("")
        return self.save(gathered), len(gathered)

    def _gather(self, paths: Sequence[str], deadline: float) -> list[Gathered]:
        gathered: list[Gathered] = []
        for start in range(0, len(paths), _LOOKUP):
            some = paths[start : start + _LOOKUP]
            known = self._store.ledger_entries([ledger_path(path) for path in some])
            settled = still_settled(self._store, known)
            now = self._clock()
            for path in some:
                self._on_file(path)
                place = ledger_path(path)
                gathered.append((self._examine(path, now, settled.get(place)), known.get(place)))
                if monotonic() >= deadline:
                    return gathered
        return gathered

    def _examine(self, path: str, now: datetime, known: LedgerEntry | None) -> Examined:
        if self._helper is not None and self._helper.is_for(path, known):
            return self._helper.examine(self.examiner, path, now=now, known=known, on_bug=self._on_bug)
        return examine_any(self.examiner, path, now=now, known=known, on_bug=self._on_bug)

    def rest(self) -> None:
        """Give back what was taken for a large file, if none came for a while."""
        if self._helper is not None:
            self._helper.rest()

    def close(self) -> None:
        """Give it back now."""
        if self._helper is not None:
            self._helper.end()

    def count_crash(self, path: str) -> IngestResult:
        """Count a failed attempt for a file: we died while we read it."""
        trouble = trouble_with(path, ENDED_THE_DAEMON, hope=True)
        recorded = self.save_examined([trouble])[0]
        self._on_file("")
        return recorded

    def save_examined(self, examined: Sequence[Examined]) -> list[IngestResult]:
        """Write what others have examined; see `save`."""
        known = self._store.ledger_entries([each.path for each in examined])
        return self.save([(each, known.get(each.path)) for each in examined])

    def save(self, gathered: Sequence[Gathered]) -> list[IngestResult]:
        """Write many in one transaction, and each in its own if one of them cannot be written.

        A database that another program holds is waited for.

        Raises:
            StoreError: it cannot be written.
        """
        try:
            return self._save_patiently(gathered)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001  whose fault it is shows when each is saved alone, and is told then
            return [self._save_alone(examined, known) for examined, known in gathered]

    def _save_alone(self, examined: Examined, known: LedgerEntry | None) -> IngestResult:
        try:
            return self._save_patiently([(examined, known)])[0]
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  told with its traceback
            self._on_bug(examined.path, error)
            return self._put_aside(bug_with(examined.path, error), known)

    def _put_aside(self, trouble: TroubledFile, known: LedgerEntry | None) -> IngestResult:
        try:
            return self._save_patiently([(trouble, known)])[0]
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  told with its traceback
            self._on_bug(trouble.path, error)
            return IngestResult(path=trouble.path, outcome=IngestOutcome.UNRECORDED, reason=trouble.error)

    def _save_patiently(self, gathered: Sequence[Gathered]) -> list[IngestResult]:
        patiently = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(StoreBusyError),
            stop=tenacity.stop_after_delay(_BUSY_PATIENCE_SECONDS),
            wait=tenacity.wait_random_exponential(0.05, max=2),
            reraise=True,
        )
        return patiently(self._save_once, gathered)

    def _save_once(self, gathered: Sequence[Gathered]) -> list[IngestResult]:
        now = self._clock()
        with self._store.transaction():
            return self._recorder.record(gathered, now=now, redecide=self.examiner.redecide)
