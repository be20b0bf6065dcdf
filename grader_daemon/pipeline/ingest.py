"""Ingest: units in, rows out, in batches of one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from time import monotonic

from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ReadError, StoreBusyError, StoreError
from grader_daemon.pipeline.absence import still_settled
from grader_daemon.pipeline.commit import Commit, IngestOutcome, IngestResult
from grader_daemon.pipeline.examine import Examined, Examiner, GradedUnit, SkippedUnit, TroubledUnit, inside_of
from grader_daemon.pipeline.helper_process import HelperProcess
from grader_daemon.pipeline.pace import Pace
from grader_daemon.pipeline.trouble import ENDED_THE_DAEMON, OnBug, bug_with, examine_any, trouble_with
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.storage.protocol import SessionStore

_BUSY_PATIENCE_SECONDS = 90
_LOOKUP = 100


OnUnknown = Callable[[UnknownKinds, GradedUnit | SkippedUnit], None]
"""Is told what a source passed over in a unit because nothing is known of it, and what came of the unit."""

Gathered = tuple[Examined, LedgerEntry | None]
"""What a unit is found to be, and its ledger row before."""


class Ingest:
    """Examines units and records what came of it. Only one thread uses one.

    A unit that we fail on by a bug of ours is put aside alone: the others of its batch do not notice.
    """

    def __init__(
        self,
        *,
        examiner: Examiner,
        recorder: Commit,
        store: SessionStore,
        clock: Callable[[], datetime],
        on_unit: Callable[[Unit | None], None] = lambda _: None,
        on_bug: OnBug = lambda _, __: None,
        on_unknown: OnUnknown = lambda _, __: None,
        helper: HelperProcess | None = None,
        pace: Pace | None = None,
    ) -> None:
        """Set up.

        `on_unit` is told each unit before it is examined, and None when none is any more; `on_bug` one that we fail on,
        and how; `on_unknown` one of which something was passed over unread. `helper` examines units that could take
        long; without one, they are examined here like all others. `pace` is told of each that is examined.
        """
        self.examiner = examiner
        self._recorder = recorder
        self._store = store
        self._clock = clock
        self._on_unit = on_unit
        self._on_bug = on_bug
        self._on_unknown = on_unknown
        self._helper = helper
        self._pace = pace

    def ingest(self, units: Sequence[Unit], *, within_seconds: float) -> tuple[list[IngestResult], int]:
        """Ingest from the front of `units` for as long as `within_seconds` allows, then save in one transaction.

        Returns:
            what was recorded, and how many of `units` that covers (at least one).
        """
        gathered: list[Gathered] = []
        done = 0
        deadline = monotonic() + within_seconds
        while done < len(units) and (done == 0 or monotonic() < deadline):
            done += self._gather(units[done : done + _LOOKUP], gathered, deadline)
        self._on_unit(None)
        return self.save(gathered), done

    def _gather(self, units: Sequence[Unit], gathered: list[Gathered], deadline: float) -> int:
        """Examine from the front of `units`, at least one, and return how many.

        With each go the others in its file that only reading it shows: nothing else tells of them, so they are saved
        in the same transaction.
        """
        for done, each in enumerate(self._examine_all(units), 1):
            gathered += [each, *self._examine_all(inside_of(each[0]))]
            if monotonic() >= deadline:
                return done
        return len(units)

    def _examine_all(self, units: Sequence[Unit]) -> Iterator[Gathered]:
        if not units:
            return
        known = self._store.ledger_entries([unit.storable() for unit in units])
        settled = still_settled(self._store, known, self.examiner.sources)
        now = self._clock()
        for unit in units:
            self._on_unit(unit)
            kept = unit.storable()
            yield self._examine(unit, now, settled.get(kept)), known.get(kept)

    def _examine(self, unit: Unit, now: datetime, known: LedgerEntry | None) -> Examined:
        examined = self._examine_anywhere(unit, now, known)
        if self._pace is not None and isinstance(examined, GradedUnit):
            self._pace.note(unit, self.examiner.sources.size_of(unit), monotonic())
        if isinstance(examined, GradedUnit | SkippedUnit) and examined.unknown is not None:
            self._on_unknown(examined.unknown, examined)
        return examined

    def _examine_anywhere(self, unit: Unit, now: datetime, known: LedgerEntry | None) -> Examined:
        if self._helper is not None and self._helper.is_for(self.examiner, unit, known):
            return self._helper.examine(self.examiner, unit, now=now, known=known, on_bug=self._on_bug)
        return examine_any(self.examiner, unit, now=now, known=known, on_bug=self._on_bug)

    def wait_seconds(self, unit: Unit) -> float:
        """Return for how long a large session that goes on is to wait before it is graded again; see `Pace`."""
        if self._pace is None or not self._pace.remembers(unit):
            return 0.0
        sources = self.examiner.sources
        try:
            written_ns = sources.look(unit).written_ns
        except ReadError:
            return 0.0  # whoever reads it says what is wrong
        quiet_for = self._clock().timestamp() - written_ns / 1e9
        return self._pace.wait_seconds(unit, sources.size_of(unit), quiet_for=quiet_for, at=monotonic())

    def rest(self) -> None:
        """Release what was taken for a large file, if none came for a while."""
        if self._helper is not None:
            self._helper.rest()

    def close(self) -> None:
        """Release it now."""
        if self._helper is not None:
            self._helper.end()

    def count_crash(self, unit: Unit) -> IngestResult:
        """Count a failed attempt for a unit: we died while we read it."""
        trouble = trouble_with(unit, ENDED_THE_DAEMON, self.examiner.sources, hope=True)
        recorded = self.save_examined([trouble])[0]
        self._on_unit(None)
        return recorded

    def save_examined(self, examined: Sequence[Examined]) -> list[IngestResult]:
        """Write what others have examined; see `save`."""
        known = self._store.ledger_entries([each.unit for each in examined])
        return self.save([(each, known.get(each.unit)) for each in examined])

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
            self._on_bug(examined.unit, error)
            return self._put_aside(bug_with(examined.unit, error, self.examiner.sources), known)

    def _put_aside(self, trouble: TroubledUnit, known: LedgerEntry | None) -> IngestResult:
        try:
            return self._save_patiently([(trouble, known)])[0]
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  told with its traceback
            self._on_bug(trouble.unit, error)
            return IngestResult(unit=trouble.unit, outcome=IngestOutcome.UNRECORDED, reason=trouble.error)

    def _save_patiently(self, gathered: Sequence[Gathered]) -> list[IngestResult]:
        try:
            return self._save_once(gathered)
        except StoreBusyError:
            return self._save_again(gathered)

    def _save_again(self, gathered: Sequence[Gathered]) -> list[IngestResult]:
        import tenacity  # takes 40 ms, and almost nobody needs it here

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
            return self._recorder.record(gathered, now=now, redecide=self.examiner.redecide, is_there=self._is_there)

    def _is_there(self, unit: Unit) -> bool:
        try:
            self.examiner.sources.look(unit)
        except ReadError:
            return False
        return True
