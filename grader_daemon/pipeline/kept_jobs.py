"""Scheduled jobs of a span, out of the sums that are kept of their runs."""

from __future__ import annotations

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.patterns.job_lines import scheduled_jobs
from grader_daemon.storage.sqlite.rollups import Rollups


def jobs_of(rollups: Rollups, span: Span) -> tuple[ScheduledJob, ...]:
    """Describe each scheduled job that ran in a span, beside the span before."""
    spans = (span, span.before())
    now, before = (rollups.groups(each, {Dimension.JOB}) for each in spans)
    facts, facts_before = map(rollups.job_facts, spans)
    return scheduled_jobs(rollups.jobs(), now, before, facts, facts_before)
