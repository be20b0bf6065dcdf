"""The daemon: one loop that takes paths from events, asks whose they are, and hands units that are quiet to the worker.

The loop's thread owns the watchers. Events come from watchdog's threads and are taken over under one condition,
`_noticed`. Grading and scanning happen in the worker's thread. Everything in memory may be lost at any time: the ledger
and the disk tell what is missing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import structlog

from grader_daemon import bootstrap
from grader_daemon.bootstrap import periodic
from grader_daemon.daemon.backlog import Backlog, Progress
from grader_daemon.daemon.health import Health
from grader_daemon.daemon.intake import TOO_MANY, Intake
from grader_daemon.daemon.listening import Listeners
from grader_daemon.daemon.model_reload import ModelReload
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.queue import WorkQueue
from grader_daemon.daemon.scan_plan import ScanPlan
from grader_daemon.daemon.scanner import ScanNews, ScanReport
from grader_daemon.daemon.scheduler import Scheduler
from grader_daemon.daemon.self_report import SelfReport, tell_upgrade
from grader_daemon.daemon.source_troubles import SourceTroubles
from grader_daemon.daemon.unknown_kinds import UnknownTold
from grader_daemon.daemon.watcher import OverflowListener, Watchers
from grader_daemon.daemon.worker import Worker
from grader_daemon.errors import StoreError
from grader_daemon.jobs import Job
from grader_daemon.pipeline.crash_marks import CrashMarks
from grader_daemon.pipeline.helpers import useful_helpers
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.pipeline.pace import Pace
from grader_daemon.storage.lock import DaemonLock
from grader_daemon.storage.records import DaemonStatus
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_CHECK_SECONDS = 2.0
_STOP_SECONDS = 4.5


class Service:
    """Watches, grades and remembers until `stop` is called, or another is to take over: see `run`."""

    def __init__(
        self, settings: Settings, notifier: Notifier, *, on_reload: Callable[[], bool] = lambda: False
    ) -> None:
        """Open the database and read the rules; `notifier` tells the service manager how things stand.

        `on_reload` is called after `reload`, in the thread of `run`, and says whether a new service is to take over.

        Raises:
            GraderError: a setting, a rule or the database is wrong.
        """
        self._settings = settings
        self._on_reload = on_reload
        self._health = Health(notifier)
        self._log = structlog.get_logger()
        self._store = bootstrap.open_store(settings, on_upgrade=tell_upgrade)
        self._store.check_if_doubted()
        self._marks = CrashMarks(settings.db_path)
        self._troubles = SourceTroubles(self._scan_by)
        ingest = self._make_ingest()
        self._rules_version = ingest.examiner.rules_version
        self._sources = ingest.examiner.sources
        self._sources.guard(self._troubles.note)
        self._queue = WorkQueue(settings.queue_size)
        self._noticed = threading.Condition()
        self._intake = self._make_intake()
        self._backlog = self._make_backlog()
        self._worker = self._make_worker(ingest)
        self._schedulers = [
            self._make_scheduler(*parts)
            for parts in periodic.make_jobs(
                settings, is_settled=self._is_settled, on_adopted=self._worker.take_up_policy, on_news=self._wake_jobs
            )
        ]
        self._listeners = Listeners(settings, self._health)
        self._watchers = Watchers(
            self._sources.watches,
            expected=[str(root) for root in settings.named_roots],
            on_path=self._intake.notice_path,
            on_gap=self._notice_gap,
        )
        self._store.live_since = bootstrap.utc_now()
        self._progress = Progress()
        self._report = SelfReport(self._troubles, clock=bootstrap.utc_now)
        self.left = 0
        """Files that a run with `once` could not grade, and places that it could not read."""
        # Guarded by _noticed, because watchdog's threads and the worker write to them; so is the intake.
        self._gaps: set[str] = set()
        self._gaps_told: set[str] = set()
        self._stopping = False
        self._reload_wanted = False
        self._scan_plan = ScanPlan(scan_seconds=settings.scan_seconds, cpu_share=settings.scan_cpu_share)
        self._scans = 0
        self._unreadable: tuple[str, ...] = ()
        self._scan_news = ScanNews()
        # Owned by the loop's thread.
        self._next_check = 0.0
        self._has_successor = False
        # Handed from the loop to the worker as a whole value.
        self._status: DaemonStatus | None = None

    def stop(self) -> None:
        """Ask the loop to end; safe in a signal handler's thread and more than once."""
        with self._noticed:
            self._stopping = True
            self._noticed.notify()

    def reload(self) -> None:
        """Ask for `on_reload`; safe in a signal handler's thread and more than once."""
        with self._noticed:
            self._reload_wanted = True
            self._noticed.notify()

    def run(self, *, once: bool = False) -> bool:
        """Work until `stop`, then finish what is being written. `once`: end when all that is there is graded.

        Returns:
            whether a new service must take over: the database was replaced, or `on_reload` said so.

        Raises:
            StoreError: another daemon works on this database, or with `once`: it could not be written for 30 seconds.
        """
        with DaemonLock(self._settings.db_path):
            self._run(once=once)
        return self._has_successor and not self._stopping

    def _run(self, *, once: bool) -> None:
        self._log.info(
            "service.started",
            pid=os.getpid(),
            roots=self._sources.roots(),
            database=str(self._settings.db_path),
            rules_version=self._rules_version,
        )
        if not self._store.file_counts():
            self._progress.begin(self._sources.walks())
        began = monotonic()
        self._worker.start(suspects=self._marks.open())
        try:
            with OverflowListener(self._notice_gap):
                if once:
                    self._run_once()
                else:
                    for scheduler in self._schedulers:
                        scheduler.start()
                    self._listeners.start()
                    self._loop(once=False)
        finally:
            self._shut_down()
            if once:
                self._log.info("run.finished", seconds=round(monotonic() - began, 1), **(+self._worker.outcomes))

    def _run_once(self) -> None:
        """Grade what is there; the periodic jobs follow, and once more where they taught another judge."""
        self._work_off()
        if not self._is_settled():
            self._work_off()
        if files := self._backlog.troubled(self._worker.unrecorded):
            self._log.error("service.incomplete", files=files, help="grader-daemon status names them")
        self.left = files + len(self._unreadable)
        self._worker.count_standing()

    def _work_off(self) -> None:
        self._loop(once=True)
        for scheduler in self._schedulers:
            scheduler.run_once()

    def _make_ingest(self) -> Ingest:
        return bootstrap.make_ingest(
            self._settings,
            self._store,
            policy=bootstrap.make_policy(self._settings, self._store),
            on_bug=self._troubles.note_session,
            on_unknown=UnknownTold().tell,
            processes=useful_helpers(),
            marks=self._marks,
            pace=Pace(quiet_seconds=self._settings.quiet_seconds),
        )

    def _make_intake(self) -> Intake:
        return Intake(
            self._sources,
            quiet_seconds=self._settings.quiet_seconds,
            max_wait_seconds=self._settings.max_wait_seconds,
            capacity=self._settings.queue_size,
            noticed=self._noticed,
            on_gap=self._notice_gap,
        )

    def _make_backlog(self) -> Backlog:
        return Backlog(
            store=self._store,
            sources=self._sources,
            rules_version=self._rules_version,
            quiet_seconds=self._settings.quiet_seconds,
            longest_pause=self._settings.longest_pause,
            clock=bootstrap.utc_now,
            on_young=self._intake.notice_unit,
            on_scanned=self._finish_scan,
        )

    def _make_worker(self, ingest: Ingest) -> Worker:
        return Worker(
            queue=self._queue,
            backlog=self._backlog,
            ingest=ingest,
            batch_sessions=self._settings.batch_sessions,
            batch_seconds=self._settings.batch_milliseconds / 1000,
            pulse=self._health.add_pulse("worker"),
            model_reload=ModelReload(
                store=self._store,
                ingest=ingest,
                backlog=self._backlog,
                make_policy=bootstrap.policy_maker(self._settings, self._store),
            ),
            on_crash=self._troubles.note_batch,
            on_busy=self._intake.notice_unit,
            on_early=self._intake.hold,
            on_batch=self._after_batch,
        )

    def _make_scheduler(self, name: str, store: SqliteStore, jobs: Sequence[Job]) -> Scheduler:
        return Scheduler(
            jobs,
            store=store,
            clock=bootstrap.utc_now,
            interval_seconds=self._settings.job_seconds,
            pulse=self._health.add_pulse(name),
        )

    # -- what other threads call -----------------------------------------------------------------------------------

    def _scan_by(self, moment: float) -> None:
        """Ask for a scan by some moment of the monotonic clock."""
        with self._noticed:
            self._scan_plan.ask(moment)
            self._noticed.notify()

    def _notice_gap(self, reason: str) -> None:
        """Scan soon, for events may be missing."""
        with self._noticed:
            self._gaps.add(reason)
            self._noticed.notify()

    def _after_batch(self) -> None:
        """The worker is done with what it took: it keeps the status, and the loop may refill the queue."""
        status, self._status = self._status, None
        if status is not None and not self._worker.paused:
            with suppress(StoreError), self._store.transaction():  # the worker tells what is wrong
                self._store.daemon.save(status)
        with self._noticed:
            self._noticed.notify()

    def _finish_scan(self, report: ScanReport) -> None:
        """Handle the end of a scan, in the worker's thread."""
        self._scan_news.tell(report)
        self._troubles.settle(report.seconds)
        self._report.note_scan(whole=not report.failed)
        with self._noticed:
            self._scans, self._unreadable = self._scans + 1, report.unreadable
            self._gaps_told.clear()
            self._watchers.compare(report.folders_below)
            self._scan_plan.end(monotonic(), cpu_seconds=report.cpu_seconds, is_blind=self._watchers.is_blind)
            self._next_check = 0.0
            self._noticed.notify()

    # -- the loop --------------------------------------------------------------------------------------------------

    def _loop(self, *, once: bool) -> None:
        while not (once and self._is_all_done()):
            with self._noticed:
                if not (self._stopping or self._reload_wanted):
                    self._noticed.wait(self._patience())
                if self._stopping:
                    return
            self._take_in()
            if monotonic() >= self._next_check:
                self._check()
            if self._has_successor or self._is_to_hand_over():
                return
            self._start_scan_in_time()

    def _take_in(self) -> None:
        """Hand what is quiet to the worker, and have a scan follow where that is not all."""
        self._intake.look()
        quiet = self._intake.pop_quiet()
        with self._noticed:
            gaps, self._gaps = self._gaps, set()
        if quiet and not self._queue.put(quiet):
            gaps.add(TOO_MANY)
        if gaps:
            self._plan_scan_after(gaps)

    def _is_to_hand_over(self) -> bool:
        """Return whether another service is to take over, because somebody asked for `reload`."""
        with self._noticed:
            wanted, self._reload_wanted = self._reload_wanted, False
        self._has_successor = wanted and self._on_reload()
        return self._has_successor

    def _wake_jobs(self) -> None:
        """Wake the jobs, for there is an alert to be sent: called by the job that found it."""
        for scheduler in self._schedulers:
            scheduler.wake()

    def _is_settled(self) -> bool:
        """Return whether all is graded that was found on disk: only then past numbers stand. Schedulers call it."""
        return self._scans > 0 and self._worker.idle

    def _plan_scan_after(self, gaps: set[str]) -> None:
        """Scan soon, when what is written now is quiet; each kind of gap is told once before the next scan ends."""
        with self._noticed:
            news = gaps - self._gaps_told
            self._gaps_told |= gaps
            self._scan_plan.ask(monotonic() + self._settings.quiet_seconds / 2)
        for reason in sorted(news):
            self._log.info("watcher.gap_noticed", reason=reason)

    def _start_scan_in_time(self) -> None:
        with self._noticed:
            is_time = self._scan_plan.begin(monotonic())
        if is_time:
            self._backlog.request_scan()
            self._queue.wake()

    def _is_all_done(self) -> bool:
        """Return whether a first scan has ended, and all it found been worked off; see `Worker.check_store`."""
        self._worker.check_store()
        with self._noticed:
            is_asked = self._scan_plan.is_asked and not self._troubles.failing
            return self._is_settled() and not (len(self._intake) or self._gaps or is_asked)

    def _patience(self) -> float:
        """Return the longest wait for something to happen, in seconds. Called with `_noticed` held."""
        moments = [self._next_check, self._scan_plan.next_due(), *self._intake.next_due()]
        return max(0.0, min(moments) - monotonic())

    def _check(self) -> None:
        """Check every two seconds that roots are watched, the database is in place and all moves; wake the worker."""
        self._next_check = monotonic() + _CHECK_SECONDS
        if self._watchers.check():
            self._scan_by(monotonic())
        self._check_database()
        self._publish()

    def _check_database(self) -> None:
        """Check that the database file is the opened one. A new one is begun only where its folder may be made.

        If the folder above that is gone too, somebody moved everything away, and may bring it back.
        """
        if self._store.in_place:
            return
        path = self._settings.db_path
        self._log.error("store.replaced", database=str(path), error="it was deleted, moved or replaced")
        self._has_successor = path.parent.parent.exists()

    def _publish(self) -> None:
        """Wake the worker, and let it keep what `status` shows if that is news."""
        watching = self._watchers.states()
        backlog, waited = len(self._queue) + len(self._intake), self._queue.waited_seconds()
        if not self._worker.paused:  # why nothing is graded then, the worker tells
            self._health.note_waiting(len(self._queue), waited)
        self._health.tell(watching, waiting=backlog, paused=self._worker.paused)
        if (news := self._report.news(watching=watching, backlog=backlog, waited=waited)) is not None:
            self._status = news
        self._progress.tell(self._worker.done, settled=self._is_settled())
        self._queue.wake()

    def _shut_down(self) -> None:
        began = monotonic()
        if not self._has_successor:
            self._health.tell_end()
        self._watchers.stop()
        for scheduler in self._schedulers:
            scheduler.request_stop()
        finished = self._worker.stop(max(0.1, _STOP_SECONDS - (monotonic() - began)))
        for stop in (*(scheduler.stop for scheduler in self._schedulers), self._listeners.stop):
            stop(max(0.1, _STOP_SECONDS - (monotonic() - began)))
        self._marks.close()
        if finished:
            self._store.close()
        else:
            self._store.part_from_log()
        self._log.info("service.stopped", waiting=len(self._queue), finished=finished, compared=self._scans > 0)
