"""Questions about grades; loads nothing that only grading needs, so that `status` answers at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from grader_daemon import bootstrap
from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.text import clean
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage import DaemonStatus, GradeFilter, Store, Summary
from grader_daemon.storage.lock import holder_pid, is_running
from grader_daemon.storage.rows import StoredGrade


class Patterns(msgspec.Struct, frozen=True, kw_only=True):
    """What finished sessions of a span have in common.

    `task_scores` maps a task type to its mean session score (1-5), `task_sessions` to the number of sessions behind it;
    `tool_errors` and `error_types` count failures.
    """

    days: float
    sessions: int
    task_scores: dict[str, float]
    task_sessions: dict[str, int]
    tool_errors: dict[str, int]
    error_types: dict[str, int]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Is the daemon up, and how far is it? `files` counts the ledger by state; `lag_seconds` is of the last grade."""

    running: bool
    pid: int | None
    roots: tuple[str, ...]
    database: str
    daemon: DaemonStatus | None
    files: dict[str, int]
    skipped: dict[str, int]
    last_session_id: str | None
    last_graded_at: datetime | None
    lag_seconds: float | None
    troubled: list[LedgerEntry]


class GradeReader:
    """Answers questions about grades; safe beside a running daemon and among threads.

    Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        *,
        db_path: str | os.PathLike[str] | None = None,
        watch_roots: Iterable[str | os.PathLike[str]] | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Use the daemon's own settings, but for what is given here.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        self.settings = settings or load_settings(
            db_path=None if db_path is None else Path(db_path),
            watch_roots=None if watch_roots is None else tuple(Path(root) for root in watch_roots),
        )
        self._lock = threading.RLock()
        self._opened: Store | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    def grades(
        self,
        *,
        days: float | None = None,
        state: str | None = None,
        task_type: str | None = None,
        model: str | None = None,
        completed: bool | None = None,
        limit: int | None = None,
    ) -> list[StoredGrade]:
        """List grades, the session that ended last first."""
        which = GradeFilter(
            since=_since(days), state=state, task_type=task_type, model=model, completed=completed, limit=limit
        )
        return self._store.grades(which)

    def find_grade(self, prefix: str) -> StoredGrade:
        """Give the grade of the one session whose id begins with `prefix`.

        Raises:
            InputError: none or several do.
        """
        return self._store.find_grade(prefix)

    def summary(self, *, days: float | None = 7) -> Summary:
        """Count and average the finished sessions that ended in the last `days`."""
        return self._store.summary(GradeFilter(since=_since(days)))

    def get_grades_summary(self, days: float = 7) -> str:
        """Give the last days at a glance, as text for people."""
        summary = self.summary(days=days)
        patterns = self.identify_patterns(days)
        lines = [f"Sessions of the last {days:g} days: {summary.sessions} finished, {summary.open_sessions} open"]
        if summary.sessions:
            share = _share(summary.completed, summary.sessions)
            lines.append(f"  completed         {share}")
            lines.append(f"  tool efficiency   {summary.efficiency:.2f} of 5")
            lines.append(f"  response quality  {summary.quality:.2f} of 5")
            lines.append(f"  errors recovered  {_share(summary.recovered, summary.with_errors)}")
        for title, counts in (("tools", patterns.tool_errors), ("errors", patterns.error_types)):
            most = ", ".join(f"{clean(name)} {count}" for name, count in list(counts.items())[:3])
            if most:
                lines.append(f"  {'failing ' + title:<17} {most}")
        for task_type, score in patterns.task_scores.items():
            lines.append(f"  {task_type:<17} {score:.2f} of 5 ({patterns.task_sessions[task_type]} sessions)")
        return "\n".join(lines)

    def identify_patterns(self, days: float = 7) -> Patterns:
        """Gather scores by task type and failures by tool and category, over the last `days`."""
        which = GradeFilter(since=_since(days))
        scores = self._store.task_scores(which)
        return Patterns(
            days=days,
            sessions=sum(count for count, _ in scores.values()),
            task_scores={task_type: score for task_type, (_, score) in scores.items()},
            task_sessions={task_type: count for task_type, (count, _) in scores.items()},
            tool_errors=self._store.failure_counts(which, by_tool=True),
            error_types=self._store.failure_counts(which, by_tool=False),
        )

    def get_task_score(self, task_type: str, *, days: float | None = None) -> float | None:
        """Mean session score (1-5) of a task type; None without finished sessions."""
        score = self._store.task_scores(GradeFilter(since=_since(days), task_type=task_type)).get(task_type)
        return None if score is None else score[1]

    def status(self) -> Status:
        """Say whether the daemon runs on this database, and what it has done. Never creates a database."""
        settings = self.settings
        running = is_running(settings.db_path)
        store = self._store if settings.db_path.exists() else None
        last = store.last_lag() if store is not None else None
        said = store.status() if store is not None else None
        return Status(
            running=running,
            pid=holder_pid(settings.db_path) if running else None,
            roots=tuple(str(root) for root in settings.watch_roots),
            database=str(settings.db_path),
            daemon=said,
            files=store.file_counts() if store is not None else {},
            skipped=store.skip_counts() if store is not None else {},
            last_session_id=last[0] if last else None,
            last_graded_at=last[1] if last else None,
            lag_seconds=last[2] if last else None,
            troubled=store.troubled_entries(limit=20) if store is not None else [],
        )

    @property
    def _store(self) -> Store:
        with self._lock:
            if self._opened is None:
                self._opened = bootstrap.open_store(self.settings)
            return self._opened


def _since(days: float | None) -> datetime | None:
    return None if days is None else bootstrap.utc_now() - timedelta(days=days)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "none had any"
