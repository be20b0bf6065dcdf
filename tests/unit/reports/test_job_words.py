from __future__ import annotations

from datetime import date

import pytest
from msgspec.structs import replace

from grader_daemon.domain.estimate import Estimate, Figure, figure, proportion
from grader_daemon.domain.scheduled_jobs import JobFacts, ScheduledJob
from grader_daemon.reports.document_parts import Prose, Table, Topic, lay_out
from grader_daemon.reports.job_words import JOB_COLUMNS, endings_words, more_jobs_words, used_words, verdict_words
from grader_daemon.reports.numbers import Direction
from grader_daemon.reports.safe_text import plain
from tests.reports_examples import example_report

NOTHING = Figure(now=Estimate(), before=Estimate(), change=Estimate())


def job(**changes: object) -> ScheduledJob:
    base = ScheduledJob(
        job="a1b2",
        name="Check the backups",
        agent="hermes",
        last_day=date(2026, 11, 22),
        runs=30,
        runs_before=28,
        done=0,
        not_done=20,
        unsure=10,
        facts=JobFacts(runs=30, recorded=30, ended_badly=22, check_failed=20, cut_short=3),
        ended_badly=figure(proportion(22, 30), proportion(2, 28)),
        failure_rate=NOTHING,
        seconds=126.0,
        input_tokens=12_000,
        output_tokens=900,
        cost_usd=1.2,
    )
    return replace(base, **changes)


def test_a_line_says_how_runs_ended_and_what_they_used() -> None:
    shown = {title: words(job()) for title, words, _ in JOB_COLUMNS}
    assert shown == {
        "scheduled job": "Check the backups",
        "key": "a1b2",
        "runs": "30",
        "before": "28",
        "bad endings": "73 % (56–86 %)",
        "change": "+66 (+43 to +80)",
        "of these": "20 last check failed, 3 cut short",
        "verdicts": "20 not done, 10 unsure",
        "failed calls": "no tool calls",
        "mean time": "2.1 min",
        "tokens": "12.0 k + 900",
        "cost": "$1.20",
    }


def test_what_is_not_known_is_a_dash() -> None:
    bare = job(facts=JobFacts(), not_done=0, unsure=0, seconds=None, input_tokens=None, output_tokens=None)
    took = next(words for title, words, _ in JOB_COLUMNS if title == "mean time")
    assert {endings_words(bare), verdict_words(bare), used_words(bare), took(bare)} == {"-"}


def test_runs_that_ended_badly_in_no_way_that_is_counted() -> None:
    assert endings_words(job(facts=JobFacts(ended_badly=2))) == "in another way"


@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        (2, None),
        (3, "1 more job: grader-daemon report patterns --all"),
        (2_002, "2,000 more jobs: grader-daemon report patterns --all"),
    ],
)
def test_jobs_that_are_not_shown_are_counted(jobs: int, words: str | None) -> None:
    assert more_jobs_words([job()] * jobs, 2) == words


def test_a_report_has_a_line_for_each_job() -> None:
    report = replace(example_report(), jobs=(job(),) * 21)
    [section] = [each for each in lay_out(report).sections if each.topic is Topic.JOBS]
    table, more = section.blocks
    assert isinstance(table, Table)
    assert isinstance(more, Prose)
    assert plain(table.rows[0].cells[0]) == "Check the backups"
    assert (len(table.rows), table.rows[0].direction) == (20, Direction.WORSE)
    assert plain(more.words) == "1 more job: grader-daemon report patterns --all"
