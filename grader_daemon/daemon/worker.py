"""The thread that grades: takes what waits, ingests it, says what came of it. The only one that uses the database."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from time import monotonic

import structlog

from grader_daemon.daemon.backlog import Backlog
from grader_daemon.daemon.found_work import BESIDE_LIVE, CALM, FoundWork
from grader_daemon.daemon.health import Pulse
from grader_daemon.daemon.model_reload import ModelReload
from grader_daemon.daemon.queue import WorkQueue
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import StoreError, StoreReplacedError
from grader_daemon.pipeline.commit import IngestOutcome, IngestResult
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.system.running import give_back_memory

_LOOK_SECONDS = 0.005
"""While helpers examine, the queue is looked at as often: a session that ends then is graded at once."""

_BACKLOG_SECONDS = 0.25
"""While new sessions come without a pause, what was found waits for no longer than that until a part of it is taken."""

_CALM_SECONDS = 2.0

_A_FEW = 8
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 15.0
_STEADY_SECONDS = 60.0
"""The database is well when it could be written for so long."""

_PATIENCE_SECONDS = 30.0
"""A run that ends by itself waits for a database for so long: six times as long as SQLite waits for a lock."""

_REST_SECONDS = 10.0
"""So long after its last work, or its start, the worker gives back the memory that it took: four of 53 MB."""


class Worker:
    """Runs until its queue is closed. What it has taken and not saved by then is found again by the next scan."""

    _failed_since: float | None = None
    _failure: StoreError | None = None
    """Begin and last reason of the time in which the database cannot be written."""
    _live_at = float("-inf")
    """Time of the last session that was graded because an event told of it."""

    def __init__(
        self,
        *,
        queue: WorkQueue,
        backlog: Backlog,
        ingest: Ingest,
        batch_sessions: int,
        batch_seconds: float,
        pulse: Pulse,
        model_reload: ModelReload,
        on_crash: Callable[[int, Exception], None],
        on_busy: Callable[[Unit], None],
        on_early: Callable[[Unit, float], None],
        on_batch: Callable[[], None],
    ) -> None:
        """Set up.

        Args:
            queue: units that events told of.
            backlog: units that are found on disk and in the ledger.
            ingest: from unit to row.
            batch_sessions: at most so many to a transaction.
            batch_seconds: a transaction gathers for so long.
            pulse: beats while the thread moves.
            model_reload: looks for another policy between two batches.
            on_crash: told of a bug of ours that no source had, and how many units were in hand.
            on_busy: told of units that changed while they were read.
            on_early: told of large units that are to wait, and for how many seconds.
            on_batch: called when what was taken is done with, at least every few seconds.
        """
        self._queue = queue
        self._backlog = backlog
        self._ingest = ingest
        self._batch_sessions = batch_sessions
        self._batch_seconds = batch_seconds
        self._pulse = pulse
        self._model_reload = model_reload
        self._suspects: list[Unit] = []
        self._found = FoundWork(ingest, batch_sessions=batch_sessions)
        self._on_crash = on_crash
        self._on_busy = on_busy
        self._on_early = on_early
        self._on_batch = on_batch
        self._log = structlog.get_logger()
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
        self._stopping = threading.Event()
        self._backlog_at = 0.0
        self._pause = _FIRST_PAUSE_SECONDS
        self._resumed_at = float("-inf")
        self._tries = 0
        self._told = False
        self._worked_at: float | None = monotonic()
        """Time of the last work whose memory is still kept."""
        self._first_at: datetime | None = None  # of the grades of this run
        self._skipped_before = 0
        self._to_retry: set[Unit] = set()
        self.unrecorded: set[Unit] = set()
        """Units that a bug of ours keeps out of the ledger."""
        self.outcomes: Counter[str] = Counter()
        """Outcomes of units so far."""

    def start(self, *, suspects: list[Unit]) -> None:
        """Begin to work; `suspects` are the units that were read when the daemon before died."""
        self._suspects = suspects
        self._skipped_before = self._backlog.skipped()
        self._thread.start()

    def count_standing(self) -> None:
        """Replace, once all is settled, the outcomes of units by the sessions that this run graded, by verdict.

        A later copy or continuation takes back the grade of a session: its file counts as skipped then.
        """
        self.outcomes[IngestOutcome.SKIPPED] = self._backlog.skipped() - self._skipped_before
        if self._first_at is not None:
            verdicts = self._backlog.verdicts_since(self._first_at)
            self.outcomes.update(verdicts)
            self.outcomes[IngestOutcome.GRADED] = sum(verdicts.values())

    def stop(self, within_seconds: float) -> bool:
        """Finish what is being written; False if that takes longer than `within_seconds`."""
        self._stopping.set()
        self._queue.close()
        self._thread.join(within_seconds)
        return not self._thread.is_alive()

    @property
    def paused(self) -> bool:
        """True while it waits for a database that cannot be written."""
        return self._failed_since is not None

    def check_store(self) -> None:
        """Refuse to wait longer for a database that could not be written for a while.

        Raises:
            StoreError: the reason, as of the last try.
        """
        since, failure = self._failed_since, self._failure
        if since is not None and failure is not None and monotonic() - since > _PATIENCE_SECONDS:
            raise failure

    @property
    def idle(self) -> bool:
        """True if all is graded that is known of, by the policy in force."""
        return not (self._model_reload.asked or self._backlog.busy) and self._queue.idle

    @property
    def done(self) -> int:
        """Files that came to something so far; any thread may ask."""
        return sum(self.outcomes[each] for each in IngestOutcome)

    def take_up_policy(self) -> None:
        """Have the next turn look for a policy that was adopted; any thread may call it."""
        self._model_reload.ask()
        self._queue.wake()

    def _run(self) -> None:
        while not self._queue.closed:
            self._pulse.beat()
            units = self._take()
            try:
                self._settle_suspects()
                self._model_reload.look()
                units = self._those_in_time(units)
                self._share(units)
                self._live_at = monotonic() if units else self._live_at
                while units and not self._queue.closed:
                    units = units[self._work(units) :]
                self._work_found()
            except StoreError as error:
                self._queue.put(units)  # the disk remembers what does not fit
                self._wait_for_store(error)
            except Exception as error:  # noqa: BLE001  told with its traceback; the next scan finds what is left
                self._on_crash(len(units), error)
                self._stopping.wait(_FIRST_PAUSE_SECONDS)
            if not self._found.busy:
                self._queue.finish()
            self._on_batch()
        self._ingest.close()

    @property
    def _is_full(self) -> bool:
        """True if as much is found as is saved at once."""
        return self._found.waiting >= self._batch_sessions

    def _take(self) -> list[Unit]:
        """Return units of which events told. More than a batch of them is a backlog, which waits for its turn."""
        is_burst = len(self._queue) >= self._batch_sessions and self._is_full
        return self._queue.take(
            0 if is_burst else self._batch_sessions, wait=not (is_burst or self._backlog.busy or self._found.busy)
        )

    def _share(self, units: list[Unit]) -> None:
        """Find some of a backlog, and hand one that lasts to the helpers; what comes now goes first.

        But not for ever: where something comes all the time, a few of the backlog go with it now and then.
        """
        if len(units) >= self._batch_sessions:
            self._found.add(units)
            units.clear()
        is_pressed = bool(units) or self._is_full
        if is_pressed and monotonic() < self._backlog_at:
            return
        self._backlog_at = monotonic() + _BACKLOG_SECONDS
        limit = _A_FEW if is_pressed else self._batch_sessions
        self._found.add(self._those_in_time(self._backlog.take(limit) or self._redecide(limit)))
        if not (units or self._found.busy):
            self._found.end()
            self._tell_resumed()
            self._ingest.rest()
            self._give_back()

    def _give_back(self) -> None:
        if self._worked_at is not None and monotonic() - self._worked_at >= _REST_SECONDS:
            self._worked_at = None
            give_back_memory()

    def _work_found(self) -> None:
        """Work on a backlog for a moment, and tell what was saved of it."""
        stride = CALM if monotonic() - self._live_at >= _CALM_SECONDS else BESIDE_LIVE
        self._tell_all(self._found.work(stride, within_seconds=_LOOK_SECONDS))

    def _those_in_time(self, units: list[Unit]) -> list[Unit]:
        """Return the units that are to be graded now; the others wait."""
        waits = [self._ingest.wait_seconds(unit) for unit in units]
        for unit, seconds in zip(units, waits, strict=True):
            if seconds > 0:
                self._on_early(unit, seconds)
        return [unit for unit, seconds in zip(units, waits, strict=True) if seconds <= 0]

    def _work(self, units: list[Unit]) -> int:
        """Ingest from the front of `units`; give how many are done with."""
        try:
            recorded, done = self._ingest.ingest(units, within_seconds=self._batch_seconds)
        except StoreError as error:
            self._wait_for_store(error)
            return 0
        self._tell_resumed()
        self._tell_all(recorded)
        return done

    def _settle_suspects(self) -> None:
        """Count an attempt for the unit that was read when the daemon died; of several, examine each alone first."""
        if len(self._suspects) == 1:
            self._tell(self._ingest.count_crash(self._suspects.pop()))
        while self._suspects and not self._queue.closed:
            self._ingest.examine_alone(self._suspects.pop())
            while self._ingest.busy and not self._queue.closed:
                self._pulse.beat()
                self._work_found()

    def _redecide(self, limit: int) -> list[Unit]:
        """Decide verdicts anew where another policy is in force; return the units that other rules graded."""
        outdated = self._backlog.outdated(limit)
        redecided, others = self._ingest.redecide(outdated) if outdated else ([], [])
        self._backlog.pass_outdated(outdated)
        self.outcomes["redecided"] += len(redecided)
        return others

    def _wait_for_store(self, error: StoreError) -> None:
        """Accept nothing until the database can be written again.

        Told once; what fails again a moment after it went well (a disk that is nearly full) when it fails twice.
        """
        now = monotonic()
        if self._failed_since is None:
            self._failed_since, self._tries, self._told = now, 0, False
            if now - self._resumed_at > _STEADY_SECONDS:
                self._pause = _FIRST_PAUSE_SECONDS
        self._tries += 1
        self._failure = error
        is_news = self._tries > 1 or now - self._resumed_at > _STEADY_SECONDS
        if is_news and not self._told and not isinstance(error, StoreReplacedError):  # which the service tells
            self._told = True
            self._log.error("intake.paused", error=str(error), retry_seconds=self._pause)
        self._pulse.beat(next_within_seconds=self._pause)
        self._stopping.wait(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)

    def _tell_resumed(self) -> None:
        if self._failed_since is None:
            return
        seconds, self._failed_since, self._resumed_at = monotonic() - self._failed_since, None, monotonic()
        if self._told:
            self._log.info("intake.resumed", level="notice", seconds=round(seconds, 1), tries=self._tries)

    def _tell_all(self, recorded: Sequence[IngestResult]) -> None:
        """Log what was saved, which also shows that the database can be written."""
        if recorded:
            self._tell_resumed()
        for each in recorded:
            self._tell(each)

    def _tell(self, recorded: IngestResult) -> None:
        log, path = self._log, recorded.path
        self._count(recorded)
        self._worked_at = monotonic()
        match recorded.outcome:
            case IngestOutcome.GRADED:
                self._tell_grade(recorded)
            case IngestOutcome.SKIPPED:
                log.info("session.skipped", path=path, reason=recorded.reason, session_id=recorded.session_id)
            case IngestOutcome.RETRY_SCHEDULED:
                log.warning(
                    "session.retry_scheduled",
                    path=path,
                    error=recorded.reason,
                    attempts=recorded.attempts,
                    retry_at=recorded.retry_at,
                )
            case IngestOutcome.QUARANTINED:
                log.error("session.quarantined", path=path, error=recorded.reason, attempts=recorded.attempts)
            case IngestOutcome.BUSY:
                self._on_busy(recorded.unit)
            case IngestOutcome.UNRECORDED:  # told by `worker.failed`
                self.unrecorded.add(recorded.unit)
            case IngestOutcome.UNCHANGED | IngestOutcome.VANISHED:
                log.debug("session.unchanged", path=path, happened=recorded.outcome)

    def _count(self, recorded: IngestResult) -> None:
        """Count an outcome; a unit that is to be tried again counts as that once, until it comes to something else."""
        if recorded.unit in self._to_retry:
            self._to_retry.remove(recorded.unit)
            self.outcomes[IngestOutcome.RETRY_SCHEDULED] -= 1
        if recorded.outcome is IngestOutcome.RETRY_SCHEDULED:
            self._to_retry.add(recorded.unit)
        self.outcomes[recorded.outcome] += 1

    def _tell_grade(self, recorded: IngestResult) -> None:
        grade = recorded.grade
        if grade is None:
            return
        self._first_at = min(self._first_at or grade.graded_at, grade.graded_at)
        self._log.info(
            "session.graded",
            session_id=grade.session_id,
            path=recorded.path,
            agent=grade.agent,
            session_kind=grade.kind,
            state=grade.state,
            task_type=grade.task_type,
            task=grade.task_summary,
            completed=grade.completed,
            outcome=grade.outcome,
            p_completed=grade.p_completed,
            efficiency=grade.efficiency,
            quality=grade.quality,
            errors=grade.total_errors,
        )
        if recorded.loop_risk:
            self._log.warning(
                "session.loop_risk",
                session_id=grade.session_id,
                path=recorded.path,
                errors=grade.total_errors,
                api_calls=grade.total_api_calls,
            )
        for session_id, reason in recorded.fallen:
            self._log.info("session.skipped", session_id=session_id, reason=reason, by=grade.session_id)
