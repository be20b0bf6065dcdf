"""What waits on disk: files that no event told of, files whose time has come, grades made under other rules.

The worker asks for it when its queue is empty, so a backlog of any size waits where it is, takes no memory, and lets
new sessions pass. One thread owns all of it: two that share an interpreter would only wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

from grader_daemon.daemon.scanner import Scanner, ScanReport
from grader_daemon.domain.ledger import FileStamp
from grader_daemon.pipeline.absence import absences
from grader_daemon.storage.protocol import Store
from grader_daemon.storage.records import OutdatedFile

_SCAN_STEP_SECONDS = 0.02
_LOOK_SECONDS = 2.0


class Backlog:
    """Finds work in the ledger and on disk. Only the worker's thread calls it, but for `request_scan` and `busy`."""

    def __init__(
        self,
        *,
        store: Store,
        roots: Sequence[Path],
        rules_version: str,
        quiet_seconds: float,
        longest_pause: timedelta,
        clock: Callable[[], datetime],
        on_young: Callable[[str], None],
        on_scanned: Callable[[ScanReport], None],
    ) -> None:
        """Set up.

        Args:
            store: the ledger.
            roots: the folders that a scan covers.
            rules_version: grades made under other rules are made again.
            quiet_seconds: a file written to within so long is young.
            longest_pause: the ledger notes no file as due later than after that.
            clock: gives the time.
            on_young: told of files that are missing in the ledger but not quiet yet.
            on_scanned: told of every finished scan.
        """
        self._store = store
        self._roots = roots
        self._scanner = Scanner(roots, store.file_stamp, self._orphans)
        self._rules_version = rules_version
        self._quiet_seconds = quiet_seconds
        self._longest_pause = longest_pause
        self._clock = clock
        self._on_young = on_young
        self._on_scanned = on_scanned
        self._scan_wanted = False
        self._outdated_after: OutdatedFile | None = None
        self._has_outdated = True
        self._next_look = 0.0

    @property
    def busy(self) -> bool:
        """Is there a scan to do, or more in the ledger than was asked for yet?"""
        return self._scan_wanted or self._scanner.running or self._has_outdated

    def request_scan(self) -> None:
        """Ask for a scan; one that is under way has passed some places already, so it is followed by another."""
        self._scan_wanted = True

    def begin_anew(self, rules_version: str) -> None:
        """Look for grades of other versions than this one, from the beginning of the ledger."""
        self._rules_version = rules_version
        self._outdated_after, self._has_outdated = None, True

    def take(self, limit: int) -> list[str]:
        """Give up to `limit` paths; [] when nothing was found in this step, which may take some milliseconds."""
        if monotonic() >= self._next_look:
            self._next_look = monotonic() + _LOOK_SECONDS
            due = self._store.due_paths(self._clock(), longest_pause=self._longest_pause, limit=limit)
            if due:
                self._next_look = 0.0 if len(due) == limit else self._next_look
                return due
        return self._outdated(limit) or self._scan(limit)

    def _outdated(self, limit: int) -> list[str]:
        """Graded files whose rules are not ours, until the end of the ledger is reached once."""
        if not self._has_outdated:
            return []
        files = self._store.outdated_files(self._rules_version, after=self._outdated_after, limit=limit)
        self._outdated_after, self._has_outdated = files[-1] if files else None, bool(files)
        return [file.path for file in files]

    def _scan(self, limit: int) -> list[str]:
        if not self._scanner.running:
            if not self._scan_wanted:
                return []
            self._scan_wanted = False
            self._scanner.start()
        missing, report = self._scanner.step(limit, within_seconds=_SCAN_STEP_SECONDS)
        now = self._clock().timestamp()
        settled = []
        for file in missing:
            if self._is_young(file.stamp, now):
                self._on_young(file.path)
            else:
                settled.append(file.path)
        if report is not None:
            self._on_scanned(report)
        return settled

    def _orphans(self) -> Iterator[list[str]]:
        """Find the files that may stand for their sessions now, and forget those that are gone and held no grade."""
        for absence in absences(self._store, self._roots):
            if absence.gone:
                with self._store.transaction():
                    self._store.forget_files(absence.gone)
            yield absence.again

    def _is_young(self, stamp: FileStamp, now: float) -> bool:
        """Was it written to just now? A time in the future says nothing, so such a file counts as quiet."""
        return 0 <= now - stamp.mtime_ns / 1e9 < self._quiet_seconds
