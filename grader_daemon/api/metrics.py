"""Metrics of all sessions; loads nothing that grading needs."""

from __future__ import annotations

from grader_daemon._version import __version__
from grader_daemon.api.context import GraderContext
from grader_daemon.jobs.metrics import read_facts, write_metrics
from grader_daemon.reports.metrics.exposition import Family
from grader_daemon.reports.metrics.session_metrics import MetricFacts, metric_families
from grader_daemon.storage.lock import is_running

__all__ = ["read_metrics", "write_metrics"]


def read_metrics(context: GraderContext) -> list[Family]:
    """Return the metrics of a database as they are now; without one, those of a daemon that graded nothing.

    Raises:
        StoreError: there is a database, and it cannot be read.
    """
    running = is_running(context.settings.db_path)
    if not context.has_database:
        return metric_families(MetricFacts(running=running, version=__version__))
    return metric_families(read_facts(context.store, context.now(), running=running, zone=context.settings.zone))
