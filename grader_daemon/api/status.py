"""Status of the daemon: up or not, and how far. Loads nothing that grading needs, so that it answers at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from grader_daemon.api.context import GraderContext
from grader_daemon.api.parts import Scorers
from grader_daemon.api.ungraded import UngradedAgent, ungraded_agents
from grader_daemon.bootstrap import watched_roots
from grader_daemon.domain.calendar import day_of, end_of, start_of
from grader_daemon.domain.calibration import GraderChange
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.quality import name_of
from grader_daemon.integrations.machine import has_launchd, has_systemd
from grader_daemon.pipeline.grader_changes import grader_changes
from grader_daemon.storage.disk import is_disk_full
from grader_daemon.storage.lock import holder_pid, is_running
from grader_daemon.storage.records import DaemonStatus
from grader_daemon.wings import part

if TYPE_CHECKING:
    from grader_daemon.storage.sqlite.store import SqliteStore

_TOLD = timedelta(days=7)
_LISTED_TROUBLES = 20


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A file that could not be graded.

    Attributes:
        state: "retry" or "dead".
        digest: digest of its content when it was last read; None if it never was.
        session_id: the session read from it then; None if none was.
        reason: why it could not be graded.
        attempts: number of failed attempts.
        look_again_at: time of the next attempt; None if it is tried again only after it changes.
    """

    path: str
    state: FileState
    digest: str | None
    session_id: str | None
    reason: str | None
    attempts: int
    look_again_at: datetime | None
    rules_version: str | None

    @classmethod
    def of(cls, entry: LedgerEntry) -> Trouble:
        """Return what people are told of a row of the ledger."""
        return cls(
            path=str(entry.unit),
            state=entry.state,
            digest=entry.digest,
            session_id=entry.session_id,
            reason=entry.reason,
            attempts=entry.attempts,
            look_again_at=entry.look_again_at,
            rules_version=entry.rules_version,
        )


class QualityStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of the quality scorer.

    Attributes:
        scorer: its name.
        calls: number of calls today.
        calls_per_day: limit of calls a day.
        disagreeing: number of sessions that `label` asks about because the scorer and `response_quality` differ.
        last_at: time of the last call.
        error: why the last call gave no answer; None if it gave one.
    """

    scorer: str
    calls: int
    calls_per_day: int
    disagreeing: int
    last_at: datetime | None
    error: str | None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Status of the daemon: whether it is running, and its progress.

    Attributes:
        roots: the watched folders.
        ungraded: agents that are in use here but not graded.
        files: number of session files by state.
        skipped: number of skipped files by reason.
        lag_seconds: time from the newest session's last write to its first grade. Sessions from times without a daemon,
            or
        graded again, do not count.
        last_ended_at: end of the newest session.
        silent_days: whole days since that end.
        open_alerts: number of unresolved alerts.
        undelivered: number of alert messages that no receiver has got yet.
        quality: status of the scorer; None if the daemon calls none.
        troubled: files that could not be graded.
        paused: why the running daemon grades nothing at the moment; None if it does.
        compared_seconds: age of the last complete comparison of all folders with the database, without any failed
            source.
        newest_without_grade: for each agent, the newest session that could not be graded.
        grader_changed: the last change of the grader, if within a week.
    """

    running: bool
    pid: int | None
    roots: tuple[str, ...]
    ungraded: tuple[UngradedAgent, ...]
    database: str
    daemon: DaemonStatus | None = None
    files: dict[str, int] = {}
    skipped: dict[str, int] = {}
    last_session_id: str | None = None
    last_graded_at: datetime | None = None
    lag_seconds: float | None = None
    last_ended_at: datetime | None = None
    silent_days: int | None = None
    open_alerts: int = 0
    undelivered: int = 0
    quality: QualityStatus | None = None
    troubled: list[Trouble] = []
    paused: str | None = None
    compared_seconds: float | None = None
    newest_without_grade: dict[str, str] = {}
    grader_changed: GraderChange | None = None


def how_to_run() -> str:
    """Return the commands that start the daemon on this machine."""
    is_kept = has_systemd() or has_launchd()
    return "grader-daemon service install, or grader-daemon run" if is_kept else "grader-daemon run"


def read_status(context: GraderContext) -> Status:
    """Return how the daemon on this database is, and what it has done. Never creates a database."""
    settings = context.settings
    running = is_running(settings.db_path)
    about_daemon = Status(
        running=running,
        pid=holder_pid(settings.db_path) if running else None,
        roots=tuple(watched_roots(settings)),
        ungraded=ungraded_agents(settings),
        database=str(settings.db_path),
        paused="the database's disk is full" if running and is_disk_full(settings.db_path) else None,
    )
    return _with_grades(about_daemon, context, context.store) if context.has_database else about_daemon


def _with_grades(status: Status, context: GraderContext, store: SqliteStore) -> Status:
    last, live, ended = store.last_grade(live=False), store.last_grade(live=True), store.grades.last_ended_at()
    daemon = store.daemon.status()
    compared_at = None if daemon is None else daemon.compared_at
    return msgspec.structs.replace(
        status,
        daemon=daemon,
        compared_seconds=None if compared_at is None else max(0.0, (context.now() - compared_at).total_seconds()),
        newest_without_grade=_newest_by_agent(store),
        files=store.file_counts(),
        skipped=store.skip_counts(),
        last_session_id=last.session_id if last else None,
        last_graded_at=last.graded_at if last else None,
        lag_seconds=live.lag_seconds if live else None,
        last_ended_at=ended,
        silent_days=None if ended is None else max(0, (context.now() - ended).days),
        open_alerts=len(store.alerts.open()),
        undelivered=store.outbox.waiting(context.settings.channels),
        quality=_quality(context, store),
        troubled=[Trouble.of(entry) for entry in store.troubled_entries(limit=_LISTED_TROUBLES)],
        grader_changed=next(iter(grader_changes(store, since=context.now() - _TOLD, zone=context.settings.zone)), None),
    )


def _newest_by_agent(store: SqliteStore) -> dict[str, str]:
    entries = sorted(store.troubled_entries(), key=lambda entry: entry.written_ns)
    return {entry.unit.source: str(entry.unit) for entry in entries}


def _quality(context: GraderContext, store: SqliteStore) -> QualityStatus | None:
    """Return how the scorer does that the daemon asks; None when it asks nobody."""
    settings = context.settings
    if settings.scorer_setting is None:
        return None
    known: Scorers = part("scorers")
    scorer = known.of(settings)
    assert scorer is not None
    name, day = name_of(scorer), day_of(context.now(), settings.zone)
    last = next(iter(store.quality.latest(name, 1)), None)
    return QualityStatus(
        scorer=name,
        calls=store.quality.calls(start_of(day, settings.zone), end_of(day, settings.zone)),
        calls_per_day=settings.quality_checks_per_day,
        disagreeing=len(store.quality.disagreeing(by=settings.quality_discrepancy)),
        last_at=None if last is None else last.checked_at,
        error=None if last is None else last.error,
    )
