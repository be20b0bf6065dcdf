"""The daemon: one loop that moves paths from events and scans, over the debouncer, into the worker's queue.

The loop's thread owns the watchers and the scanner. Events come from watchdog's threads and are taken over under one
condition, `_noticed`; grading happens in the worker's thread. Everything in memory may be lost at any time: the ledger
and the disk tell what is missing.
"""

from __future__ import annotations

import os
import threading
from time import monotonic

import msgspec
import structlog

from grader_daemon import bootstrap
from grader_daemon.daemon.debounce import Debouncer
from grader_daemon.daemon.queue import WorkQueue
from grader_daemon.daemon.scanner import Scanner, ScanReport, next_interval
from grader_daemon.daemon.watcher import WATCHED, OverflowListener, RootWatcher, count_watches
from grader_daemon.daemon.worker import Worker
from grader_daemon.domain.ledger import FileStamp
from grader_daemon.errors import StoreError
from grader_daemon.parsing import recognise
from grader_daemon.settings import Settings
from grader_daemon.storage import DaemonStatus
from grader_daemon.storage.lock import DaemonLock

_CHECK_SECONDS = 2.0
_SCAN_STEP_SECONDS = 0.05
_SCAN_PAUSE_SECONDS = 0.005
_BLIND_SCAN_SECONDS = 2.0
_BLIND_CPU_SHARE = 0.02
_STOP_SECONDS = 4.5
_DUE_LIMIT = 1000


class Service:
    """Watches, grades and remembers until `stop` is called."""

    def __init__(self, settings: Settings) -> None:
        """Open the database and read the rules.

        Raises:
            GraderError: a setting, a rule or the database is wrong.
        """
        self._settings = settings
        self._log = structlog.get_logger()
        self._store = bootstrap.open_store(settings)
        self._ledger = bootstrap.open_store(settings, read_only=True)
        ingest = bootstrap.make_ingest(settings, self._store)
        self._rules_version = ingest.examiner.rules_version
        self._queue = WorkQueue(settings.queue_size)
        self._worker = Worker(
            queue=self._queue,
            ingest=ingest,
            batch_sessions=settings.batch_sessions,
            batch_seconds=settings.batch_milliseconds / 1000,
            on_busy=self._notice_path,
            on_batch=self._after_batch,
        )
        self._watchers = [
            RootWatcher(root, on_path=self._notice_path, on_gap=self._notice_gap) for root in settings.watch_roots
        ]
        self._scanner = Scanner(settings.watch_roots, self._ledger.file_stamp)
        self._started_at = bootstrap.utc_now()
        # Guarded by _noticed, because watchdog's threads and the worker write to them.
        self._noticed = threading.Condition()
        self._debouncer = Debouncer(
            quiet=settings.quiet_seconds, max_wait=settings.max_wait_seconds, capacity=settings.queue_size
        )
        self._gap: str | None = None
        self._stopping = False
        # Owned by the loop's thread.
        self._next_scan = 0.0
        self._next_check = 0.0
        self._scans = 0
        self._short_of_watches: str | None = None
        self._outdated_after: str | None = ""
        # Handed from the loop to the worker as a whole value.
        self._status: DaemonStatus | None = None

    def stop(self) -> None:
        """Ask the loop to end; safe in a signal handler's thread and more than once."""
        with self._noticed:
            self._stopping = True
            self._noticed.notify()

    def run(self, *, once: bool = False) -> None:
        """Work until `stop`, then finish what is being written. `once`: end when all that is there is graded.

        Raises:
            AlreadyRunningError: another daemon works on this database.
        """
        with DaemonLock(self._settings.db_path):
            self._run(once=once)

    def _run(self, *, once: bool) -> None:
        self._log.info(
            "service.started",
            pid=os.getpid(),
            roots=[str(root) for root in self._settings.watch_roots],
            database=str(self._settings.db_path),
            rules_version=self._rules_version,
        )
        self._worker.start()
        try:
            with OverflowListener(self._notice_gap):
                self._loop(once=once)
        finally:
            self._shut_down()

    # -- what other threads call -----------------------------------------------------------------------------------

    def _notice_path(self, path: str) -> None:
        """A file changed. Called by watchdog and, for files that changed while they were read, by the worker."""
        if recognise(path) is None:
            return
        with self._noticed:
            idle = self._debouncer.next_due() is None
            if not self._debouncer.touch(path, monotonic()):
                self._gap = "more changes than the queue holds"
            if idle:
                self._noticed.notify()

    def _notice_gap(self, reason: str) -> None:
        """Events may be missing: scan soon."""
        with self._noticed:
            self._gap = reason
            self._noticed.notify()

    def _after_batch(self) -> None:
        """The worker is idle for a moment: it keeps the status, and the loop may refill the queue."""
        status, self._status = self._status, None
        if status is not None:
            try:
                with self._store.transaction():
                    self._store.save_status(status)
            except StoreError as error:
                self._log.warning("store.write_failed", error=str(error))
        with self._noticed:
            self._noticed.notify()

    # -- the loop --------------------------------------------------------------------------------------------------

    def _loop(self, *, once: bool) -> None:
        while not (once and self._is_all_done()):
            with self._noticed:
                if not self._stopping:
                    self._noticed.wait(self._patience())
                if self._stopping:
                    return
                quiet = self._debouncer.pop_due(monotonic())
                gap, self._gap = self._gap, None
            if quiet and not self._queue.put(quiet):
                gap = gap or "more changes than the queue holds"
            now = monotonic()
            if gap is not None:
                self._log.info("watcher.gap_noticed", reason=gap)
                self._next_scan = min(self._next_scan, now + self._settings.quiet_seconds / 2)
            if now >= self._next_check:
                self._next_check = now + _CHECK_SECONDS
                self._check()
            if now >= self._next_scan and not self._scanner.running:
                self._scanner.start()
            self._scan_on()

    def _is_all_done(self) -> bool:
        """Has a first scan ended, and everything that it found been worked off?"""
        return self._scans > 0 and len(self._debouncer) == 0 and self._queue.idle

    def _patience(self) -> float:
        """How long to wait for something to happen, in seconds. Called with `_noticed` held."""
        now = monotonic()
        moments = [self._next_check]
        due = self._debouncer.next_due()
        if due is not None:
            moments.append(due)
        if not self._scanner.running:
            moments.append(self._next_scan)
        elif self._queue.room > 0:
            moments.append(now + _SCAN_PAUSE_SECONDS)
        return max(0.0, min(moments) - now)

    def _check(self) -> None:
        """The seconds' round: are the roots watched, is anything due?"""
        for watcher in self._watchers:
            before = watcher.state
            if watcher.check():
                self._tell_watching(watcher, before)
                self._next_scan = 0.0
                self._publish()
        self._feed_due()
        self._feed_outdated()

    def _tell_watching(self, watcher: RootWatcher, before: str) -> None:
        root = str(watcher.root)
        if watcher.state != WATCHED:
            self._log.warning("watcher.degraded", root=root, reason=watcher.state, scan_seconds=_BLIND_SCAN_SECONDS)
        elif before != "not started":
            self._log.warning("watcher.restarted", root=root, reason=before)

    def _feed_due(self) -> None:
        """Files whose time has come though nothing changed: another try, or an open end that is idle by now."""
        room = min(self._queue.room, _DUE_LIMIT)
        if room > 0:
            self._queue.put(self._ledger.due_paths(bootstrap.utc_now(), limit=room))

    def _feed_outdated(self) -> None:
        """Files graded under other rules, until the end of the ledger is reached once."""
        room = min(self._queue.room, _DUE_LIMIT)
        if self._outdated_after is None or room <= 0:
            return
        paths = self._ledger.outdated_paths(self._rules_version, after=self._outdated_after, limit=room)
        self._outdated_after = paths[-1] if len(paths) == room else None
        self._queue.put(paths)

    def _scan_on(self) -> None:
        """A step of the scan, as far as the queue has room for what it finds."""
        if not self._scanner.running or self._queue.room <= 0:
            return
        missing, report = self._scanner.step(self._queue.room, within_seconds=_SCAN_STEP_SECONDS)
        settled = [file.path for file in missing if self._is_settled(file.stamp)]
        self._queue.put(settled)
        if len(settled) < len(missing):
            known = set(settled)
            with self._noticed:
                for file in missing:
                    if file.path not in known and not self._debouncer.touch(file.path, monotonic()):
                        self._gap = "more changes than the queue holds"
        if report is not None:
            self._finish_scan(report)

    def _is_settled(self, stamp: FileStamp) -> bool:
        """Was the last write so long ago that the file is quiet? A time in the future says nothing, so it counts."""
        age = bootstrap.utc_now().timestamp() - stamp.mtime_ns / 1e9
        return not 0 <= age < self._settings.quiet_seconds

    def _finish_scan(self, report: ScanReport) -> None:
        self._scans += 1
        tell = self._log.info if report.missing or self._scans == 1 else self._log.debug
        tell("reconcile.finished", **msgspec.structs.asdict(report))
        self._check_watches(report)
        if all(watcher.state == WATCHED for watcher in self._watchers) and self._short_of_watches is None:
            least, share = self._settings.scan_seconds, self._settings.scan_cpu_share
        else:
            least, share = min(_BLIND_SCAN_SECONDS, self._settings.scan_seconds), _BLIND_CPU_SHARE
        self._next_scan = monotonic() + next_interval(report, least_seconds=least, cpu_share=share)
        self._publish()

    def _check_watches(self, report: ScanReport) -> None:
        """A limit that is reached below the root is told by nobody, but it shows in the numbers."""
        watches = count_watches()
        short = watches < report.folders - len(report.unreadable) and any(
            watcher.state == WATCHED for watcher in self._watchers
        )
        before = self._short_of_watches
        self._short_of_watches = f"{watches} of {report.folders} folders are watched" if short else None
        if short and before is None:
            self._log.warning(
                "watcher.degraded",
                reason=f"{self._short_of_watches}; raise fs.inotify.max_user_watches",
                scan_seconds=_BLIND_SCAN_SECONDS,
            )

    def _publish(self) -> None:
        """Let the worker keep what `status` shows."""
        watching = {str(watcher.root): watcher.state for watcher in self._watchers}
        if self._short_of_watches is not None:
            watching = {root: self._short_of_watches if state == WATCHED else state for root, state in watching.items()}
        self._status = DaemonStatus(
            pid=os.getpid(),
            started_at=self._started_at,
            said_at=bootstrap.utc_now(),
            backlog=len(self._queue) + len(self._debouncer),
            watching=watching,
        )
        self._queue.wake()

    def _shut_down(self) -> None:
        began = monotonic()
        for watcher in self._watchers:
            watcher.stop()
        finished = self._worker.stop(max(0.1, _STOP_SECONDS - (monotonic() - began)))
        self._ledger.close()
        if finished:
            self._store.close()
        self._log.info("service.stopped", waiting=len(self._queue), finished=finished)
