"""The file of metrics, kept up to date for the textfile collector of Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Final

from grader_daemon.domain.calendar import day_of
from grader_daemon.jobs import Job
from grader_daemon.push.exposition import prometheus_text
from grader_daemon.push.metrics import read_facts, write_metrics
from grader_daemon.push.session_metrics import metric_families
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_OFTEN: Final = timedelta(minutes=1)
_SELDOM: Final = timedelta(minutes=10)
"""Highest age of the file: a daemon that ended without a word is told by the age of its file."""


class MetricsJob:
    """Rewrites the file when something changed, at most once a minute; but the end of a backlog is told at once."""

    name = "metrics"

    def __init__(self, store: SqliteStore, path: Path, *, zone: tzinfo | None, is_settled: Callable[[], bool]) -> None:
        """`is_settled` says whether all is graded that was found."""
        self._store = store
        self._path = path
        self._zone = zone
        self._is_settled = is_settled
        self._was_settled = True
        self._written_at: datetime | None = None
        self._seen: tuple[int, int, date] | None = None

    def run(self, now: datetime) -> bool:
        """Write it, unless it says all that there is to say.

        Raises:
            OutputError: it cannot be written.
        """
        # Of what this connection wrote itself its version tells nothing; alerts are such, and stand in the feed.
        seen = (self._store.data_version, self._store.changes.newest(), day_of(now, self._zone))
        is_settled = self._is_settled()
        if self._may_wait(now, is_news=seen != self._seen) and (self._was_settled or not is_settled):
            return False
        facts = read_facts(self._store, now, running=True, zone=self._zone)
        write_metrics(self._path, prometheus_text(metric_families(facts)))
        self._seen, self._written_at, self._was_settled = seen, now, is_settled
        return True

    def _may_wait(self, now: datetime, *, is_news: bool) -> bool:
        pause = _OFTEN if is_news else _SELDOM
        return self._written_at is not None and abs(now - self._written_at) < pause


def metrics_jobs(settings: Settings, store: SqliteStore, *, is_settled: Callable[[], bool]) -> list[Job]:
    """Return the job that keeps the file up to date, if one is set."""
    if settings.metrics_file is None:
        return []
    return [MetricsJob(store, settings.metrics_file, zone=settings.zone, is_settled=is_settled)]
