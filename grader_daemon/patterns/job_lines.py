"""Scheduled jobs as lines: their sums as rates with intervals, beside the span before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from grader_daemon.domain.estimate import figure
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.scheduled_jobs import JobFacts, KnownJob, ScheduledJob
from grader_daemon.patterns.groups import FEWEST_SESSIONS, GroupSums, group

_NONE = JobFacts()


def scheduled_jobs(
    known: Iterable[KnownJob],
    now: GroupSums,
    before: GroupSums,
    facts: Mapping[str, JobFacts],
    facts_before: Mapping[str, JobFacts],
) -> tuple[ScheduledJob, ...]:
    """Describe each job that ran in a span, those first of which most runs ended badly."""
    found = [
        _line(job, now, before, facts[job.job], facts_before.get(job.job, _NONE)) for job in known if job.job in facts
    ]
    return tuple(sorted(found, key=lambda line: (-line.facts.ended_badly, -line.facts.runs, line.name, line.job)))


def _line(job: KnownJob, now: GroupSums, before: GroupSums, facts: JobFacts, facts_before: JobFacts) -> ScheduledJob:
    bad = [each.bad_endings(fewest=FEWEST_SESSIONS) for each in (facts, facts_before)]
    runs = group(now, before, Dimension.JOB, job.job)
    spent = runs.spending
    return ScheduledJob(
        job=job.job,
        name=job.name,
        agent=job.agent,
        last_day=date.fromisoformat(job.last_day),
        runs=facts.runs,
        runs_before=facts_before.runs,
        done=runs.done,
        not_done=runs.not_done,
        unsure=runs.unsure,
        facts=facts,
        ended_badly=figure(*bad),
        failure_rate=runs.failure_rate,
        seconds=facts.seconds / facts.timed if facts.timed else None,
        input_tokens=None if spent is None else spent.input_tokens,
        output_tokens=None if spent is None else spent.output_tokens,
        cost_usd=None if spent is None else spent.cost_usd,
    )
