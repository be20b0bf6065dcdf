"""Metrics of all sessions; loads nothing that grading needs."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Final

from grader_daemon._version import __version__
from grader_daemon.api.context import GraderContext
from grader_daemon.domain.calendar import ALWAYS, day_of, last_days
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.verdict import GradeVersion
from grader_daemon.errors import OutputError
from grader_daemon.integrations.files import replace_file
from grader_daemon.patterns.completion_estimate import estimate_completion
from grader_daemon.pipeline.save_labels import labels
from grader_daemon.push.exposition import (
    OPENMETRICS_TYPE,
    PROMETHEUS_TYPE,
    Family,
    openmetrics_text,
    prometheus_text,
    wants_openmetrics,
)
from grader_daemon.push.session_metrics import COUNTED, WINDOW_DAYS, MetricFacts, metric_families
from grader_daemon.storage.lock import is_running
from grader_daemon.storage.sqlite.store import SqliteStore

_READABLE: Final = 0o644
"""The collector is a program of another user. Who may see the file, the folder says."""


def read_metrics(context: GraderContext) -> list[Family]:
    """Return the metrics of a database as they are now; without one, those of a daemon that graded nothing.

    Raises:
        StoreError: there is a database, and it cannot be read.
    """
    running = is_running(context.settings.db_path)
    if not context.has_database:
        return metric_families(MetricFacts(running=running, version=__version__))
    return metric_families(read_facts(context.store, context.now(), running=running, zone=context.settings.zone))


def preferred_text(context: GraderContext, accept: str) -> tuple[str, str]:
    """Return the metrics as an Accept header prefers them, and their content type; OpenMetrics has exemplars.

    Raises:
        StoreError: there is a database, and it cannot be read.
    """
    families = read_metrics(context)
    if wants_openmetrics(accept):
        return openmetrics_text(families), OPENMETRICS_TYPE
    return prometheus_text(families), PROMETHEUS_TYPE


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


def write_metrics(path: Path, text: str) -> None:
    """Write the file whole or not at all, readable by all who may enter its folder.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        replace_file(path, text, mode=_READABLE)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
