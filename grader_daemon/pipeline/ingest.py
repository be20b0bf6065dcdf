"""Ingest: units in, rows out, in batches of one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from time import monotonic

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import is_of_same_facts
from grader_daemon.errors import ReadError, StoreBusyError, StoreError
from grader_daemon.pipeline.absence import still_settled
from grader_daemon.pipeline.commit import Commit, IngestOutcome, IngestResult
from grader_daemon.pipeline.crash_marks import CrashMarks
from grader_daemon.pipeline.examine import Examined, Examiner, GradedUnit, SkippedUnit, TroubledUnit, inside_of
from grader_daemon.pipeline.helper_process import Task
from grader_daemon.pipeline.helpers import CHUNK, Gathered, Helpers
from grader_daemon.pipeline.pace import Pace
from grader_daemon.pipeline.saving import grades_of_units, save_verdicts
from grader_daemon.pipeline.trouble import ENDED_THE_DAEMON, OnBug, bug_with, examine_any, trouble_with
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.storage.records import OutdatedUnit
from grader_daemon.storage.sqlite.store import SqliteStore

_BUSY_PATIENCE_SECONDS = 90
_LOOKUP = 100
_FOREVER = float("inf")
_LOOK_SECONDS = 0.1
_KEPT_SECONDS = 0.25
SAVED_TOGETHER = 256
"""Sessions that are best saved at once: each costs 0.14 ms then, and 0.23 ms with 40 (measured)."""


OnUnknown = Callable[[UnknownKinds | None, GradedUnit | SkippedUnit], None]
"""Callback with what a source passed over in a unit because nothing is known of it, and what came of the unit."""


class Ingest:
    """Examines units and records what came of it. Only one thread uses one.

    A unit that we fail on by a bug of ours is put aside alone: the others of its batch do not notice.
    """

    def __init__(
        self,
        *,
        examiner: Examiner,
        recorder: Commit,
        store: SqliteStore,
        clock: Callable[[], datetime],
        on_bug: OnBug = lambda _, __: None,
        on_unknown: OnUnknown = lambda _, __: None,
        processes: int = 0,
        marks: CrashMarks | None = None,
        again: bool = False,
        pace: Pace | None = None,
    ) -> None:
        """Set up.

        `on_bug` is told a unit that we fail on, and how; `on_unknown` each that was read, and what was passed over.
        Up to so many `processes` examine what is handed out, and units that could take long; without any, all is
        examined here. What is being examined stands in `marks`. `again`: also what is graded as it is. `pace` is told
        of each that is examined.
        """
        self.examiner = examiner
        self._recorder = recorder
        self._store = store
        self._clock = clock
        self._on_bug = on_bug
        self._on_unknown = on_unknown
        self._again = again
        self._pace = pace
        self._marks = marks or CrashMarks()
        self._helpers = Helpers(most=processes, marks=self._marks, look_up=self._look_up, on_bug=on_bug)
        self._unsaved: list[Gathered] = []
        self._kept_since = 0.0

    def ingest(self, units: Sequence[Unit], *, within_seconds: float) -> tuple[list[IngestResult], int]:
        """Ingest from the front of `units` for as long as `within_seconds` allows, then save in one transaction.

        Returns:
            what was recorded, and how many of `units` that covers (at least one).
        """
        gathered, done = self._examine_some(units, within_seconds)
        return self.save(gathered), done

    def examine(self, units: Sequence[Unit], *, within_seconds: float) -> int:
        """Examine from the front of `units` for as long as `within_seconds` allows; `collect` saves what is found.

        Returns:
            how many of `units` that covers (at least one).
        """
        gathered, done = self._examine_some(units, within_seconds)
        self._keep(gathered)
        return done

    def _examine_some(self, units: Sequence[Unit], within_seconds: float) -> tuple[list[Gathered], int]:
        gathered: list[Gathered] = []
        done = 0
        deadline = monotonic() + within_seconds
        while done < len(units) and (done == 0 or monotonic() < deadline):
            done += self._gather(units[done : done + _LOOKUP], gathered, deadline)
        self._marks.set(None)
        return gathered, done

    def _keep(self, gathered: Sequence[Gathered]) -> None:
        if gathered and not self._unsaved:
            self._kept_since = monotonic()
        self._unsaved += gathered

    def _gather(self, units: Sequence[Unit], gathered: list[Gathered], deadline: float) -> int:
        """Examine from the front of `units`, at least one, and return how many.

        With each go the others in its file that only reading it shows: nothing else tells of them, so they are saved
        in the same transaction.
        """
        for done, each in enumerate(self._examine_all(units), 1):
            if each is not None:
                gathered += [each, *filter(None, self._examine_all(inside_of(each[0])))]
            if monotonic() >= deadline:
                return done
        return len(units)

    def _examine_all(self, units: Sequence[Unit]) -> Iterator[Gathered | None]:
        """Examine units, but for those that a helper is to examine alone: for them comes None."""
        now = self._clock()
        for task in self._look_up(units):
            if self._helpers.is_heavy(self.examiner, task):
                self._helpers.add_heavy(task)
                yield None
                continue
            self._marks.set(task.unit)
            examined = examine_any(self.examiner, task.unit, now=now, known=task.settled, on_bug=self._on_bug)
            self._note(task.unit, examined)
            yield examined, task.known

    def _look_up(self, units: Sequence[Unit]) -> list[Task]:
        """Return units with what the ledger says of them."""
        if not units:
            return []
        known = self._store.ledger_entries([unit.storable() for unit in units])
        settled = {} if self._again else still_settled(self._store, known, self.examiner.sources)
        return [Task(unit, settled.get(unit.storable()), known.get(unit.storable())) for unit in units]

    def _note(self, unit: Unit, examined: Examined) -> None:
        if self._pace is not None and isinstance(examined, GradedUnit):
            self._pace.note(unit, self.examiner.sources.size_of(unit), monotonic())
        if isinstance(examined, GradedUnit | SkippedUnit):
            self._on_unknown(examined.unknown, examined)

    def redecide(self, outdated: Sequence[OutdatedUnit]) -> tuple[list[tuple[Grade, Grade]], list[Unit]]:
        """Decide verdicts anew where another policy came into force, or other rules of verdicts, in one transaction.

        Returns:
            each grade as it was and as it is, and the units that have to be examined for it: other rules read them.

        Raises:
            StoreError: it cannot be written.
        """
        kept = [each.unit for each in outdated if is_of_same_facts(each.rules_version, self.examiner.rules_version)]
        if not kept:
            return [], [each.unit for each in outdated]
        with self._store.transaction():
            pairs = [(grade, self.examiner.redecide(grade)) for grade in grades_of_units(self._store, kept)]
            pairs = [(old, new) for old, new in pairs if new.rules_version == self.examiner.rules_version]
            save_verdicts(self._store, pairs)
        done = {new.unit for _, new in pairs}
        return pairs, [each.unit for each in outdated if each.unit not in done]

    # -- in helper processes ---------------------------------------------------------------------------------------

    def hand_out(self, units: Iterable[Unit]) -> None:
        """Queue units for the helpers; `collect` gives what comes of them."""
        self._helpers.add(units)

    @property
    def waiting(self) -> int:
        """Return how many units wait for a helper."""
        return self._helpers.waiting

    @property
    def helpers(self) -> int:
        """Return how many helpers there are at the moment."""
        return self._helpers.running

    @property
    def processes(self) -> int:
        """Return how many helpers there may be."""
        return self._helpers.most

    @property
    def busy(self) -> bool:
        """True if there is something that `collect` will give."""
        return bool(self._unsaved) or self._helpers.busy

    @property
    def unsaved(self) -> int:
        """Return how many findings wait to be saved together with others."""
        return len(self._unsaved)

    def collect(self, *, within_seconds: float, together: int) -> list[IngestResult]:
        """Save what was examined by `examine` and by helpers, in one transaction.

        Helpers are waited for for at most `within_seconds`, and go on while it is saved. Fewer than `together` are kept
        for a moment, for what follows; what cannot be saved is kept for the next call.

        Raises:
            StoreError: it cannot be saved.
        """
        if len(self._unsaved) < together:
            self._helpers.hand_out(self.examiner, self._clock())
            done = self._helpers.collect(within_seconds, self._clock())
            for examined, _ in done:
                self._note(examined.unit, examined)
            self._keep(done)
            self._helpers.hand_out(self.examiner, self._clock())
        is_due = len(self._unsaved) >= together or monotonic() - self._kept_since >= _KEPT_SECONDS
        return self._save_kept() if self._unsaved and is_due else []

    def _save_kept(self) -> list[IngestResult]:
        """Save what was kept, but for units of which something was recorded since: they are looked at again."""
        now = self._store.ledger_entries([examined.unit.storable() for examined, _ in self._unsaved])
        overtaken = {each.unit for each, known in self._unsaved if now.get(each.unit.storable()) != known}
        newest = [each for each in self._unsaved if each[0].unit not in overtaken]
        recorded = self.save(newest) if newest else []
        self._unsaved = []
        self._helpers.add(overtaken)
        return recorded

    def examine_alone(self, unit: Unit) -> None:
        """Have a helper examine a unit, and nothing else with it; `collect` gives what comes of it."""
        self._helpers.add_heavy(self._look_up([unit])[0])

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
        """End the helpers, if they were not needed for a while."""
        self._helpers.rest()

    def close(self) -> None:
        """End them now, and forget what they have in hand."""
        self._helpers.end()
        self._marks.close()

    def count_crash(self, unit: Unit) -> IngestResult:
        """Count a failed attempt for a unit: we died while we read it."""
        trouble = trouble_with(unit, ENDED_THE_DAEMON, self.examiner.sources, hope=True)
        recorded = self.save_examined([trouble])[0]
        self._marks.set(None)
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
            return self._put_aside(bug_with(examined.unit, error, self.examiner.sources, hope=False), known)

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


def backfill(units: Sequence[Unit], ingest: Ingest, *, batch: int) -> Iterator[list[IngestResult]]:
    """Ingest `units`, at most `batch` to a transaction; in the processes of `ingest` if it is worth them.

    The ledger is asked first, so a backfill may be stopped at any time and started again.
    """
    if ingest.processes and len(units) > CHUNK:
        yield from _in_processes(units, ingest)
        return
    for start in range(0, len(units), batch):
        recorded, _ = ingest.ingest(units[start : start + batch], within_seconds=_FOREVER)
        yield recorded


def _in_processes(units: Sequence[Unit], ingest: Ingest) -> Iterator[list[IngestResult]]:
    ingest.hand_out(units)
    try:
        while ingest.busy:
            yield ingest.collect(within_seconds=_LOOK_SECONDS, together=SAVED_TOGETHER if ingest.waiting else 1)
    finally:
        ingest.close()
