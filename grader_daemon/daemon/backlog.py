"""Backlog on disk: units that no event told of, units whose time has come, grades made under other rules.

The worker asks for it when its queue is empty, so a backlog of any size waits where it is, takes no memory, and lets
new sessions pass. One thread owns all of it: two that share an interpreter would only wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import datetime, timedelta
from itertools import islice
from time import monotonic
from typing import Final

import structlog

from grader_daemon.daemon.scanner import Scanner, ScanReport
from grader_daemon.domain.ledger import FileState
from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline.absence import absences
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.protocol import Sources
from grader_daemon.storage.records import OutdatedUnit
from grader_daemon.storage.sqlite.store import SqliteStore

_SCAN_STEP_SECONDS = 0.005
_LOOK_SECONDS = 2.0
_FEWEST: Final = 200
"""Fewer sessions are graded within the second in which they are counted."""
_MOST: Final = 100_000
"""More are not counted: 13 µs each, before the first of them is graded."""
_TOLD_EVERY_SECONDS: Final = 5.0
_SAMPLES: Final = 6
"""The pace is that since so many tellings: what helpers take to start is forgotten soon."""


class Backlog:
    """Finds work in the ledger and on disk. Only the worker's thread calls it, but for `request_scan` and `busy`."""

    def __init__(
        self,
        *,
        store: SqliteStore,
        sources: Sources,
        rules_version: str,
        quiet_seconds: float,
        longest_pause: timedelta,
        clock: Callable[[], datetime],
        on_young: Callable[[Unit], None],
        on_scanned: Callable[[ScanReport], None],
    ) -> None:
        """Set up.

        Args:
            store: the ledger.
            sources: what a scan covers.
            rules_version: grades made under other rules are made again.
            quiet_seconds: a unit written to within so long is young.
            longest_pause: the ledger notes no unit as due later than after that.
            clock: gives the time.
            on_young: told of units that are missing in the ledger but not quiet yet.
            on_scanned: told of every finished scan.
        """
        self._store = store
        self._sources = sources
        self._scanner = Scanner(sources, store.unit_stamps, self._orphans)
        self._rules_version = rules_version
        self._quiet_seconds = quiet_seconds
        self._longest_pause = longest_pause
        self._clock = clock
        self._on_young = on_young
        self._on_scanned = on_scanned
        self._scan_wanted = False
        self._outdated_after: OutdatedUnit | None = None
        self._has_outdated = True
        self._next_look = 0.0

    @property
    def busy(self) -> bool:
        """True if there is a scan to do, or more in the ledger than was asked for yet."""
        return self._scan_wanted or self._scanner.running or self._has_outdated

    def request_scan(self) -> None:
        """Ask for a scan; one that is under way has passed some places already, so it is followed by another."""
        self._scan_wanted = True

    def begin_anew(self, rules_version: str) -> None:
        """Look for grades of other versions than this one, from the beginning of the ledger."""
        self._rules_version = rules_version
        self._outdated_after, self._has_outdated = None, True

    def take(self, limit: int) -> list[Unit]:
        """Return up to `limit` units to examine; [] when none was found in this step, which may take milliseconds."""
        if monotonic() >= self._next_look:
            self._next_look = monotonic() + _LOOK_SECONDS
            due = self._store.due_units(self._clock(), longest_pause=self._longest_pause, limit=limit)
            if due:
                self._next_look = 0.0 if len(due) == limit else self._next_look
                return due
        return self._scan(limit)

    def outdated(self, limit: int) -> list[OutdatedUnit]:
        """Return up to `limit` graded units whose rules are not ours; the same ones until `pass_outdated`."""
        if not self._has_outdated:
            return []
        found = self._store.outdated_units(self._rules_version, after=self._outdated_after, limit=limit)
        self._has_outdated = bool(found)
        return found

    def pass_outdated(self, found: Sequence[OutdatedUnit]) -> None:
        """Go on behind these; at the end of the ledger there is nothing more."""
        self._outdated_after = found[-1] if found else None

    def troubled(self, unrecorded: Set[Unit]) -> int:
        """Count the files in the watched folders that could not be graded, ever; `unrecorded` stand in no ledger."""
        troubled = {entry.unit for entry in self._store.troubled_entries()} | unrecorded
        if not troubled:
            return 0
        found = {each.unit.storable() for walk in self._sources.walks() for each in walk}
        return len(troubled & found)

    def skipped(self) -> int:
        """Count the files that have no grade of their own."""
        return self._store.file_counts().get(FileState.SKIPPED, 0)

    def verdicts_since(self, moment: datetime) -> dict[str, int]:
        """Count the sessions that were graded at `moment` or later, by verdict; those that go on are "open"."""
        return self._store.grades.verdicts_since(moment)

    def _scan(self, limit: int) -> list[Unit]:
        if not self._scanner.running:
            if not self._scan_wanted:
                return []
            self._scan_wanted = False
            self._scanner.start()
        missing, report = self._scanner.step(limit, within_seconds=_SCAN_STEP_SECONDS)
        now = self._clock().timestamp()
        settled = []
        for each in missing:
            if 0 <= now - each.written_ns / 1e9 < self._quiet_seconds:  # a time in the future says nothing: quiet
                self._on_young(each.unit)
            else:
                settled.append(each.unit)
        if report is not None:
            self._on_scanned(report)
        return settled

    def _orphans(self) -> Iterator[list[Unit]]:
        """Find the units that may stand for their sessions now, and forget those that are gone and held no grade."""
        for absence in absences(self._store, self._sources):
            if absence.gone:
                with self._store.transaction():
                    self._store.forget_units(absence.gone)
            yield absence.again


class Progress:
    """Count of what is done, told by one thread every few seconds until all is graded that was there at the start."""

    def __init__(self) -> None:
        self._log = structlog.get_logger()
        self._files = 0
        self._is_telling = False
        self._tell_at = 0.0
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)

    def begin(self, walks: Iterable[Walk]) -> None:
        """Count the files of `walks`, and tell how many lie there; of few nothing is told."""
        self._files = sum(1 for _ in islice((each for walk in walks for each in walk), _MOST))
        self._is_telling = self._files >= _FEWEST
        self._samples.append((monotonic(), 0))
        if self._is_telling:
            self._log.info("backlog.found", files=self._files, is_more=self._files == _MOST)

    def tell(self, done: int, *, settled: bool) -> None:
        """Log it if it is time: so many files are `done`, and all of them when it is `settled`."""
        now = monotonic()
        if not self._is_telling or not (settled or (done and now >= self._tell_at)):
            return
        self._tell_at, self._is_telling = now + _TOLD_EVERY_SECONDS, not settled
        began, before = self._samples[0]
        pace = (done - before) / max(now - began, 1e-3)
        self._samples.append((now, done))
        known = None if self._files == _MOST or not pace else round(max(0, self._files - done) / pace)
        left = 0 if settled else known
        self._log.info("backlog.progress", examined=done, files=self._files, per_second=round(pace), seconds_left=left)
