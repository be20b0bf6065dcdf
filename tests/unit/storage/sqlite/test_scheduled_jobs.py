from __future__ import annotations

from datetime import date

import msgspec
import pytest

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.feedback import FeedbackSource, Said
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.scheduled_jobs import MOST_JOBS, JobFacts, KnownJob
from grader_daemon.domain.session import SessionKind, SkipReason
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.kept_sums import jobs_of
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import retract, save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade

DAY = "2026-11-21"
SPAN = Span(date(2026, 11, 1), date(2026, 11, 30))


def run(number: int, **changes: object) -> Grade:
    base = grade(
        session_id=f"run-{number}",
        session_file=f"/run-{number}",
        kind=SessionKind.CRON,
        agent="hermes",
        job="nightly",
        job_name="Check the backups",
        ending=EndingKind.ANSWERED,
        standing=ResultStanding.CHECKED,
        ended_on=DAY,
    )
    return msgspec.structs.replace(base, **changes)


def save(store: SqliteStore, *made: Grade) -> None:
    with store.transaction():
        save_grades(store, [new_grade(one) for one in made])


def test_runs_are_counted_with_their_facts(store: SqliteStore) -> None:
    save(
        store,
        run(1, duration_seconds=60.0),
        run(2, standing=ResultStanding.CHECK_FAILED, duration_seconds=120.4),
        run(3, ending=EndingKind.LIMIT, standing=ResultStanding.CONTRADICTED, duration_seconds=None),
        run(4, ending=EndingKind.GAVE_UP, standing=ResultStanding.NO_CLAIM, duration_seconds=None),
        run(5, ending=None, standing=None, duration_seconds=None),
    )

    assert store.rollups.job_facts(SPAN) == {
        "nightly": JobFacts(
            runs=5,
            recorded=4,
            ended_badly=3,
            check_failed=1,
            contradicted=1,
            cut_short=1,
            gave_up=1,
            seconds=180,
            timed=2,
        )
    }
    assert store.rollups.group(Dimension.JOB, "nightly", SPAN).sessions == 5
    assert store.rollups.group(Dimension.OVERALL, "", SPAN).sessions == 0


@pytest.mark.parametrize("seconds", [1e300, float("inf"), -5.0, None])
def test_a_duration_that_cannot_be_is_not_known(store: SqliteStore, seconds: float | None) -> None:
    save(store, run(1, duration_seconds=seconds))
    found = store.rollups.job_facts(SPAN)["nightly"]
    assert (found.seconds, found.timed) == (0, 0)


def test_a_run_that_is_graded_again_counts_once(store: SqliteStore) -> None:
    save(store, run(1, standing=ResultStanding.CHECK_FAILED))
    save(store, run(1))
    assert store.rollups.job_facts(SPAN) == {"nightly": JobFacts(runs=1, recorded=1, seconds=300, timed=1)}


def test_a_job_has_the_name_of_its_last_run(store: SqliteStore) -> None:
    save(store, run(1, ended_on="2026-11-22", job_name="Check all backups"))
    save(store, run(2))
    assert store.rollups.jobs() == [KnownJob("nightly", "Check all backups", "hermes", "2026-11-22")]


def test_so_many_jobs_are_kept_and_those_that_ran_last(store: SqliteStore) -> None:
    days = [date.fromordinal(date(2026, 1, 1).toordinal() + number).isoformat() for number in range(MOST_JOBS + 2)]
    made = [run(number, job=f"job {number}", ended_on=day) for number, day in enumerate(days)]
    save(store, *made)

    kept = {job.job for job in store.rollups.jobs()}

    assert kept == {f"job {number}" for number in range(2, MOST_JOBS + 2)}
    assert store.rollups.job_facts(Span(date(2026, 1, 1), date(2026, 1, 2))) == {}
    assert store.rollups.groups(Span(date(2026, 1, 1), date(2026, 1, 2)), {Dimension.JOB}) == {}


def test_a_run_that_goes_after_its_job_was_forgotten_counts_against_no_other(store: SqliteStore) -> None:
    save(store, run(0), run(1), *(run(number, job=f"job {number}", ended_on="2026-11-22") for number in range(2, 302)))
    with store.transaction():
        retract(store, "run-0", SkipReason.COPY)
        add_feedback(store, [Said(session_id="run-1", by="me", source=FeedbackSource.LABEL, completed=False)], now=NOW)
    assert (store.rollups.job_facts(SPAN).get("nightly"), store.rollups.days(SPAN, Dimension.JOB, "nightly")) == (
        None,
        {},
    )

    save(store, run(302, ended_on="2026-11-23"))

    assert store.rollups.job_facts(SPAN)["nightly"].runs == 1
    assert store.rollups.group(Dimension.JOB, "nightly", SPAN).sessions == 1


def test_lines_of_jobs_stand_beside_the_span_before(store: SqliteStore) -> None:
    week, before = Span(date(2026, 11, 16), date(2026, 11, 22)), "2026-11-12"
    bad = {"standing": ResultStanding.CHECK_FAILED}
    save(store, *(run(number, ended_on=before) for number in range(4)))
    save(store, *(run(number, cost_usd=0.5, **bad) for number in range(4, 8)), run(8, job="mail", job_name="Mail"))

    first, second = jobs_of(store.rollups, week)

    assert (first.name, first.runs, first.runs_before, first.facts.check_failed) == ("Check the backups", 4, 4, 4)
    assert (first.ended_badly.now.value, first.ended_badly.before.value) == (1.0, 0.0)
    assert (first.cost_usd, first.seconds, first.last_day) == (2.0, 300.0, date(2026, 11, 21))
    assert (second.name, second.ended_badly.now.value, second.cost_usd) == ("Mail", None, None)


def test_a_job_that_did_not_run_has_no_line(store: SqliteStore) -> None:
    save(store, run(1))
    assert jobs_of(store.rollups, Span(date(2026, 12, 1), date(2026, 12, 7))) == ()
