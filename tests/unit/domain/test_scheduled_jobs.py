from __future__ import annotations

from grader_daemon.domain.scheduled_jobs import JOB_FACTS, JobDay, JobFacts


def test_days_are_of_a_month() -> None:
    assert JobDay("2026-11-21", "j").of_month() == JobDay("2026-11", "j")


def test_counts_come_in_the_order_of_their_names() -> None:
    facts = JobFacts(runs=3, recorded=2, ended_badly=1)
    assert dict(zip(JOB_FACTS, facts.numbers(), strict=True)) | {"runs": 3} == {
        **dict.fromkeys(JOB_FACTS, 0),
        "runs": 3,
        "recorded": 2,
        "ended_badly": 1,
    }
