"""The metrics of a database, and the file that holds them for the textfile collector of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final

from grader_daemon._version import __version__
from grader_daemon.domain.calendar import ALWAYS, day_of, last_days
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.verdict import GradeVersion
from grader_daemon.errors import OutputError
from grader_daemon.integrations.files import replace_file
from grader_daemon.patterns.completion_estimate import estimate_completion
from grader_daemon.pipeline.labels import labels
from grader_daemon.reports.metrics.exposition import prometheus_text
from grader_daemon.reports.metrics.session_metrics import COUNTED, WINDOW_DAYS, MetricFacts, metric_families
from grader_daemon.storage.sqlite.store import SqliteStore

_READABLE: Final = 0o644
"""The collector is a program of another user. Who may see the file, the folder says."""

_OFTEN: Final = timedelta(minutes=1)
_SELDOM: Final = timedelta(minutes=10)
"""Highest age of the file: a daemon that ended without a word is told by the age of its file."""


def read_facts(store: SqliteStore, now: datetime, *, running: bool, zone: tzinfo | None) -> MetricFacts:
    """Return what metrics are made of: sums and counts that are kept, so that history costs nothing."""
    daemon, last = store.daemon.status(), store.last_grade(live=False)
    stored = {} if last is None else store.grades.stored([last.session_id or ""])
    version = next((each.grade.rules_version for each in stored.values()), None)
    made_by = GradeVersion.read(version or "")
    span = last_days(WINDOW_DAYS, day_of(now, zone))
    window = store.rollups.group(Dimension.OVERALL, "", span)
    return MetricFacts(
        running=running,
        version=__version__,
        rules=made_by.rules,
        model=made_by.model or "",
        sums=store.rollups.groups(ALWAYS, COUNTED),
        window=window,
        completion=estimate_completion(window, labels(store), span),
        alerts=Counter(alert.level for alert in store.alerts.open()),
        files=store.file_counts(),
        backlog=None if daemon is None else daemon.backlog,
        last_graded_at=None if last is None else last.graded_at,
        lags=tuple(store.live_lags()),
        labels=store.feedback.newest_number(),
    )


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


def write_metrics(path: Path, text: str) -> None:
    """Write the file whole or not at all, readable by all who may enter its folder.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        replace_file(path, text, mode=_READABLE)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
