from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from grader_daemon.storage.records import JobHistory
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW

MINUTE = timedelta(minutes=1)


def ran(store: SqliteStore, *errors: str | None, job: str = "report", at: datetime = NOW) -> None:
    with store.transaction():
        for error in errors:
            store.job_runs.save(job, started_at=at, finished_at=at + MINUTE, error=error)


def test_a_job_that_never_ran_has_no_history(store: SqliteStore) -> None:
    assert store.job_runs.history("report") == JobHistory(ended_at=None, failures=0)


def test_a_run_is_kept_with_its_times(store: SqliteStore) -> None:
    ran(store, None)
    ran(store, "no space left")
    assert store.rows("SELECT job, started_at, finished_at, outcome, error FROM job_runs ORDER BY id") == [
        ("report", NOW.isoformat(), (NOW + MINUTE).isoformat(), "done", None),
        ("report", NOW.isoformat(), (NOW + MINUTE).isoformat(), "failed", "no space left"),
    ]


@pytest.mark.parametrize(
    ("errors", "failures"),
    [
        pytest.param((None,), 0, id="went-well"),
        pytest.param(("x",), 1, id="failed"),
        pytest.param(("x", "x", None), 0, id="went-well-at-last"),
        pytest.param((None, "x", "x"), 2, id="failed-since"),
        pytest.param(("x", None, "x"), 1, id="only-in-a-row"),
        pytest.param(("",), 1, id="an-empty-text-is-an-error-too"),
    ],
)
def test_failures_in_a_row_are_counted(store: SqliteStore, errors: tuple[str | None, ...], failures: int) -> None:
    ran(store, *errors)
    assert store.job_runs.history("report") == JobHistory(ended_at=NOW + MINUTE, failures=failures)


def test_the_newest_run_counts_though_the_clock_went_back(store: SqliteStore) -> None:
    ran(store, None)
    ran(store, "x", at=NOW - timedelta(days=400))
    assert store.job_runs.history("report") == JobHistory(ended_at=NOW - timedelta(days=400) + MINUTE, failures=1)


def test_jobs_have_histories_of_their_own(store: SqliteStore) -> None:
    ran(store, "x", "x")
    ran(store, None, job="delivery")
    assert store.job_runs.history("report").failures == 2
    assert store.job_runs.history("delivery").failures == 0


def test_old_runs_are_forgotten(store: SqliteStore) -> None:
    ran(store, *[str(number) for number in range(1200)])
    kept = [row[0] for row in store.rows("SELECT error FROM job_runs ORDER BY id")]
    assert len(kept) <= 1000
    assert kept == [str(number) for number in range(1200 - len(kept), 1200)]


def test_a_busy_job_makes_nobody_forget_the_runs_of_another(store: SqliteStore) -> None:
    for _ in range(4):
        ran(store, "x")
        ran(store, *[None] * 300, job="delivery")
    assert store.job_runs.history("report").failures == 4


def test_a_text_that_is_no_unicode_is_kept_as_well_as_it_can_be(store: SqliteStore) -> None:
    ran(store, "database /s/\udcff: gone")
    assert store.rows("SELECT error FROM job_runs")[0][0].startswith("database /s/")
