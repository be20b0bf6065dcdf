"""What the rest of the program asks of a store: small protocols, and the unit of work that holds them together.

Every read sees what was written before it. Writes happen inside `Store.transaction`: all of them, or none. How a store
keeps things, in a file, in memory or behind a connection, only `bootstrap` knows and those who mend database files.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from grader_daemon.storage.protocol.fleet import FleetCopies
from grader_daemon.storage.protocol.grades import (
    ChangeFeed,
    FeedbackLog,
    Grades,
    Ledger,
    ObservedVersions,
    Repeats,
    Rivals,
)
from grader_daemon.storage.protocol.insight import (
    Alerts,
    ArchiveProgress,
    Calibrations,
    Issues,
    Outbox,
    QualityChecks,
    Reports,
    Rollups,
    Signs,
)
from grader_daemon.storage.records import DaemonStatus, JobHistory


class JobRuns(Protocol):
    """What became of the periodic jobs."""

    def save(self, job: str, *, started_at: datetime, finished_at: datetime, error: str | None) -> None:
        """Note a run; `error` is None when it went well."""

    def history(self, job: str) -> JobHistory:
        """Return how a job went last."""


class DaemonState(Protocol):
    """What the daemon says of itself."""

    def save(self, status: DaemonStatus) -> None:
        """Keep what the daemon says of itself."""

    def status(self) -> DaemonStatus | None:
        """Return what the daemon said of itself last; None when none ever ran."""


class SessionStore(Ledger, Protocol):
    """What grading and labelling need: sessions, files, and the sums that change with them.

    Reads may come from any thread, one at a time. `live_since` is set by a daemon when it begins: files that are
    written from then on are graded live.
    """

    live_since: datetime | None

    @property
    def grades(self) -> Grades: ...
    @property
    def rivals(self) -> Rivals: ...
    @property
    def repeats(self) -> Repeats: ...
    @property
    def rollups(self) -> Rollups: ...
    @property
    def issues(self) -> Signs: ...
    @property
    def changes(self) -> ChangeFeed: ...
    @property
    def feedback(self) -> FeedbackLog: ...
    @property
    def observed(self) -> ObservedVersions: ...

    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside happens, or nothing of it.

        Raises:
            StoreReplacedError: what was opened is not what stands in its place now.
            StoreBusyError: another program keeps it locked.
            UnstorableError: it does not take what was to be written.
            StoreError: it cannot be written.
        """


class Store(SessionStore, Protocol):
    """One connection to all that the program remembers."""

    @property
    def issues(self) -> Issues: ...
    @property
    def calibrations(self) -> Calibrations: ...
    @property
    def quality(self) -> QualityChecks: ...
    @property
    def reports(self) -> Reports: ...
    @property
    def alerts(self) -> Alerts: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def archives(self) -> ArchiveProgress: ...
    @property
    def job_runs(self) -> JobRuns: ...
    @property
    def daemon(self) -> DaemonState: ...
    @property
    def fleet(self) -> FleetCopies: ...

    def close(self) -> None:
        """Close it; safe to call twice."""

    def check_if_doubted(self) -> None:
        """See that what is kept is sound, where an unclean end gives reason to doubt it.

        Raises:
            StoreDamagedError: it is not.
        """

    @property
    def data_version(self) -> int:
        """A number that is another one after somebody else has written; asked for, it costs microseconds."""

    @property
    def identity(self) -> str:
        """Which one was opened: one that is put in its place, as by `restore`, has another."""

    @property
    def in_place(self) -> bool:
        """Whether what was opened still stands where it did; else what is written may be lost."""

    def part_from_log(self) -> None:
        """If another one was put in its place, take care that nothing of this one gets into that."""
