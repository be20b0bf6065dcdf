"""The scan of all roots, in steps, so that the thread that does it stays free for other things."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from time import monotonic, thread_time

import msgspec
import structlog

from grader_daemon.daemon.scan_plan import Remembered, missing_units
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.sources.discovery import Walk, could_not_read
from grader_daemon.sources.protocol import Sources

_CHUNK = 200


class ScanReport(msgspec.Struct, frozen=True, kw_only=True):
    """One finished scan. `cpu_seconds` is what it took of this thread; `folders_below`: how many, by root.

    A root that is not there is not among the `unreadable`: who watches it tells of it, or awaits it. `failed`: the
    sources that failed by a bug of ours, so that not all of theirs was listed.
    """

    folders_below: dict[str, int]
    files: int
    missing: int
    unreadable: tuple[str, ...]
    failed: tuple[str, ...] = ()
    seconds: float
    cpu_seconds: float

    @property
    def told(self) -> dict[str, object]:
        """Facts for the log."""
        facts = msgspec.structs.asdict(self)
        return {"folders": sum(facts.pop("folders_below").values()), **facts}


class ScanNews:
    """Log of scans: those that found nothing new are shown only at the most detailed level."""

    def __init__(self) -> None:
        self._lacking: tuple[tuple[str, ...], ...] | None = None
        self._log = structlog.get_logger()

    def tell(self, report: ScanReport) -> None:
        """Log a scan; one that found what the one before did not at a level that is shown."""
        lacking = (report.unreadable, report.failed)
        is_news = report.missing or lacking != self._lacking
        self._lacking = lacking
        tell = self._log.info if is_news else self._log.debug
        tell("reconcile.finished", **report.told)


class Scanner:
    """Walks below the roots and gives the units that the ledger does not know as they are. One thread owns it."""

    def __init__(
        self, sources: Sources, remembered: Remembered, orphans: Callable[[], Iterator[Iterable[Unit]]]
    ) -> None:
        """`remembered` is as in `missing_units`; `orphans` gives, bit by bit, units to give whatever that is."""
        self._sources = sources
        self._remembered = remembered
        self._orphans = orphans
        self._looking: Iterator[Iterable[Unit]] = iter(())
        self._again: set[Unit] = set()
        self._walks: list[Walk] = []
        self._files: Iterator[Found] | None = None
        self._missing = 0
        self._started = 0.0
        self._cpu = 0.0

    @property
    def running(self) -> bool:
        """True while a scan is under way."""
        return self._files is not None

    def start(self) -> None:
        """Begin a scan; one under way is begun anew."""
        self._walks = list(self._sources.walks())
        self._files = chain.from_iterable(self._walks)
        self._looking, self._again = self._orphans(), set()
        self._missing = 0
        self._started = monotonic()
        self._cpu = 0.0

    def step(self, limit: int, *, within_seconds: float) -> tuple[list[Found], ScanReport | None]:
        """Go on with the scan, for at most `limit` missing units and not much longer than `within_seconds`.

        Returns:
            the missing units, and a report if the scan is finished by them.
        """
        if self._files is None:
            return [], None
        began = thread_time()
        deadline = monotonic() + within_seconds
        missing: list[Found] = []
        exhausted = False
        for some_orphans in self._looking:
            self._again.update(some_orphans)
            if monotonic() >= deadline:
                break
        while not exhausted and len(missing) < limit and monotonic() < deadline:
            some = list(islice(self._files, min(_CHUNK, limit - len(missing))))
            missing += missing_units(some, self._remembered, self._again)
            exhausted = not some
        self._missing += len(missing)
        self._cpu += thread_time() - began
        return missing, self._finish() if exhausted else None

    def _finish(self) -> ScanReport:
        self._files = None
        return ScanReport(
            folders_below={walk.root: walk.folders for walk in self._walks},
            files=sum(walk.files for walk in self._walks),
            missing=self._missing,
            unreadable=could_not_read(self._walks),
            failed=tuple(sorted({name for walk in self._walks for name in walk.failed})),
            seconds=monotonic() - self._started,
            cpu_seconds=self._cpu,
        )
