"""Scheduled jobs in words: how the runs of each ended, by facts, and what they used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.domain.text import count, duration_words
from grader_daemon.reports.money import tokens_words, usd_words
from grader_daemon.reports.numbers import BAD_ENDINGS, FAILURES, UNKNOWN, change_words, estimate_words

_FACTS: Final = (
    ("check_failed", "last check failed"),
    ("contradicted", "contradicted"),
    ("cut_short", "cut short"),
    ("gave_up", "gave up"),
)


def endings_words(job: ScheduledJob) -> str:
    """Return how runs ended badly: "3 last check failed, 1 cut short"; a dash where none did."""
    counts = [(getattr(job.facts, field), words) for field, words in _FACTS]
    said = [f"{number:,} {words}" for number, words in counts if number]
    return ", ".join(said) or (UNKNOWN if not job.facts.ended_badly else "in another way")


def verdict_words(job: ScheduledJob) -> str:
    """Return the verdicts on the runs: "2 done, 1 not done, 4 unsure"."""
    counts = ((job.done, "done"), (job.not_done, "not done"), (job.unsure, "unsure"))
    return ", ".join(f"{number:,} {words}" for number, words in counts if number) or UNKNOWN


def used_words(job: ScheduledJob) -> str:
    """Return how many tokens the runs read from no cache and wrote: "12.3 k + 1.2 k"."""
    if job.input_tokens is None and job.output_tokens is None:
        return UNKNOWN
    return f"{tokens_words(job.input_tokens)} + {tokens_words(job.output_tokens)}"


JOB_COLUMNS: Final[Sequence[tuple[str, Callable[[ScheduledJob], str], bool]]] = (
    ("scheduled job", lambda job: job.name, False),
    ("key", lambda job: job.job, False),
    ("runs", lambda job: f"{job.runs:,}", True),
    ("before", lambda job: f"{job.runs_before:,}", True),
    ("bad endings", lambda job: estimate_words(job.ended_badly.now, BAD_ENDINGS), False),
    ("change", lambda job: change_words(job.ended_badly, BAD_ENDINGS), False),
    ("of these", endings_words, False),
    ("verdicts", verdict_words, False),
    ("failed calls", lambda job: estimate_words(job.failure_rate.now, FAILURES), False),
    ("mean time", lambda job: UNKNOWN if job.seconds is None else duration_words(job.seconds), True),
    ("tokens", used_words, True),
    ("cost", lambda job: usd_words(job.cost_usd), True),
)
"""What is told of each job, by its heading; True for numbers."""


def more_jobs_words(jobs: Sequence[ScheduledJob], shown: int) -> str | None:
    """Return how many jobs are not shown; None where all are."""
    return f"{count(len(jobs) - shown, 'more job')}: grader-daemon report patterns --all" if len(jobs) > shown else None
