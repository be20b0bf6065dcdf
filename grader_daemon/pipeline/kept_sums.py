"""Usage by day and scheduled jobs of a span, out of the sums that are kept."""

from __future__ import annotations

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.counting import kept_name
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.domain.usage_by_day import UsageByDay, UsageSplit
from grader_daemon.patterns.job_lines import scheduled_jobs
from grader_daemon.patterns.usage_from_sums import usage_by_day, usage_of_group
from grader_daemon.storage.sqlite.rollups import Rollups
from grader_daemon.storage.sqlite.store import SqliteStore


def usage_of(store: SqliteStore, span: Span, split: UsageSplit, *, only: str | None = None) -> UsageByDay:
    """Describe what the sessions of a span cost and used, beside the span before if sessions go back over all of it.

    `only` is a group of the split that alone is wanted.
    """
    rollups, before = store.rollups, span.before()
    dimensions = {Dimension.OVERALL, Dimension.AGENT, Dimension.KIND, split.dimension}
    first = rollups.first_day()
    now = rollups.groups(span, dimensions)
    used = usage_by_day(
        now,
        rollups.groups(before, dimensions) if first is not None and first <= before.first else None,
        rollups.days(span),
        rollups.spent(span, split.dimension),
        span=span,
        split=split,
    )
    return used if only is None else usage_of_group(used, kept_name(split.dimension, only), now)


def jobs_of(rollups: Rollups, span: Span) -> tuple[ScheduledJob, ...]:
    """Describe each scheduled job that ran in a span, beside the span before."""
    spans = (span, span.before())
    now, before = (rollups.groups(each, {Dimension.JOB}) for each in spans)
    facts, facts_before = map(rollups.job_facts, spans)
    return scheduled_jobs(rollups.jobs(), now, before, facts, facts_before)
