from __future__ import annotations

from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.scheduled_jobs import JobFacts, KnownJob
from grader_daemon.patterns.job_lines import scheduled_jobs


def test_jobs_that_ran_are_told_the_worst_first() -> None:
    known = [KnownJob(name, f"Do {name}", "hermes", "2026-11-21") for name in ("fine", "bad", "idle")]
    facts = {
        "fine": JobFacts(runs=40, recorded=40, seconds=80, timed=40),
        "bad": JobFacts(runs=40, recorded=40, ended_badly=20),
    }
    sums = {(Dimension.JOB, name): Sums(sessions=40, done=10) for name in facts}
    lines = scheduled_jobs(known, sums, {}, facts, {"bad": JobFacts(runs=30, recorded=30)})
    assert [(line.job, line.name, line.runs, line.runs_before, line.seconds) for line in lines] == [
        ("bad", "Do bad", 40, 30, None),
        ("fine", "Do fine", 40, 0, 2.0),
    ]
    assert lines[0].ended_badly.now.value == 0.5
