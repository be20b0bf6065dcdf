from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import apsw
import pytest
from structlog.testing import capture_logs

from grader_daemon.daemon.health import Pulse
from grader_daemon.daemon.scheduler import Scheduler
from grader_daemon.errors import DeliveryError, GraderError, StoreError
from grader_daemon.storage.records import JobHistory
from grader_daemon.storage.sqlite.runs import JobRuns
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock
from tests.strategies import NOW
from tests.waiting import PATIENCE_SECONDS, wait_until

MINUTE = timedelta(minutes=1)
Logs = list[MutableMapping[str, Any]]
Hire = Callable[..., Scheduler]


class Scripted:
    """A job that does what its script says, run by run, and the last of it ever after."""

    def __init__(self, *script: bool | BaseException, name: str = "scripted") -> None:
        self.name = name
        self.runs: list[datetime] = []
        self._script = list(script)

    def run(self, now: datetime) -> bool:
        self.runs.append(now)
        step = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(step, BaseException):
            raise step
        return step


class Gate:
    """A job that waits until it is let go."""

    name = "gate"

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self.left = False

    def run(self, now: datetime) -> bool:  # noqa: ARG002
        self.entered.set()
        self.left = self.open.wait(PATIENCE_SECONDS)
        return self.left


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as captured:
        yield captured


@pytest.fixture
def hire(tmp_path: Path, clock: Clock, logs: Logs) -> Iterator[Hire]:  # noqa: ARG001  captured from the start
    """Make a scheduler with a store of its own; its thread must have ended with the test."""
    made: list[Scheduler] = []
    before = set(threading.enumerate())

    def make(*jobs: Scripted | Gate, interval_seconds: float = 3600) -> Scheduler:
        own = SqliteStore(tmp_path / "database" / "session_grades.db")
        made.append(
            Scheduler(
                jobs,
                store=own,
                clock=clock,
                interval_seconds=interval_seconds,
                pulse=Pulse(f"jobs-{len(made)}", patience_seconds=1, clock=monotonic),
            )
        )
        return made[-1]

    yield make
    for scheduler in made:
        assert scheduler.stop(PATIENCE_SECONDS)
    assert set(threading.enumerate()) <= before


def job_rows(store: SqliteStore) -> list[Any]:
    return store.rows("SELECT job, outcome, error FROM job_runs ORDER BY id")


def events(logs: Logs, name: str) -> Logs:
    return [line for line in logs if line["event"] == name]


# -- rounds --------------------------------------------------------------------------------------------------------


def test_a_run_that_did_something_is_a_row(hire: Hire, store: SqliteStore, clock: Clock) -> None:
    hire(Scripted(True)).run_once()
    assert store.rows("SELECT job, started_at, finished_at, outcome, error FROM job_runs") == [
        ("scripted", clock.now.isoformat(), clock.now.isoformat(), "done", None)
    ]


def test_a_run_with_nothing_to_do_is_none(hire: Hire, store: SqliteStore) -> None:
    hire(Scripted(False)).run_once()
    assert job_rows(store) == []


def test_a_job_is_given_the_time(hire: Hire, clock: Clock) -> None:
    job = Scripted(True)
    hire(job).run_once()
    assert job.runs == [clock.now]


def test_every_job_is_asked_in_each_round(hire: Hire) -> None:
    jobs = [Scripted(False, name="one"), Scripted(True, name="two")]
    scheduler = hire(*jobs)
    scheduler.run_once()
    scheduler.run_once()
    assert [len(job.runs) for job in jobs] == [2, 2]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(DeliveryError("nobody there"), ("job.failed", "nobody there"), id="of-ours"),
        pytest.param(StoreError("the disk is full"), ("job.failed", "the disk is full"), id="of-the-database"),
        pytest.param(KeyError("x"), ("job.crashed", "KeyError: 'x'"), id="a-bug"),
        pytest.param(RecursionError("too deep"), ("job.crashed", "RecursionError: too deep"), id="a-deep-bug"),
    ],
)
def test_a_failing_job_is_told_once_and_stops_no_other(
    hire: Hire, store: SqliteStore, logs: Logs, error: Exception, told: tuple[str, str]
) -> None:
    other = Scripted(True, name="other")
    hire(Scripted(error), other).run_once()
    assert len(other.runs) == 1
    assert job_rows(store) == [("scripted", "failed", told[1]), ("other", "done", None)]
    assert [(line["event"], line["job"], line["failures"], line["retry_seconds"]) for line in logs] == [
        (told[0], "scripted", 1, 60.0)
    ]


def test_only_a_bug_is_told_with_its_traceback(hire: Hire, logs: Logs) -> None:
    hire(Scripted(GraderError("as it happens"), name="poor"), Scripted(KeyError("x"), name="buggy")).run_once()
    assert [(line["job"], line["log_level"], line.get("error"), line.get("exc_info")) for line in logs] == [
        ("poor", "error", "as it happens", None),
        ("buggy", "error", None, True),
    ]


def test_an_error_text_that_is_no_unicode_can_be_kept(hire: Hire, store: SqliteStore) -> None:
    other = Scripted(True, name="other")
    hire(Scripted(GraderError("database /s/\udcff: gone")), other).run_once()
    assert len(other.runs) == 1
    assert [row[:2] for row in job_rows(store)] == [("scripted", "failed"), ("other", "done")]


def test_what_a_job_half_wrote_is_taken_back(hire: Hire, tmp_path: Path, store: SqliteStore) -> None:
    own = SqliteStore(tmp_path / "database" / "session_grades.db")

    class Half:
        name = "half"

        def run(self, now: datetime) -> bool:
            with own.transaction():
                own.job_runs.save("half-done", started_at=now, finished_at=now, error=None)
                raise GraderError("in the middle")

    hire(Half()).run_once()
    own.close()
    assert job_rows(store) == [("half", "failed", "in the middle")]


# -- pauses --------------------------------------------------------------------------------------------------------


def test_pauses_between_tries_grow(hire: Hire, clock: Clock) -> None:
    job = Scripted(GraderError("again"))
    scheduler = hire(job)
    for _ in range(12 * 60):
        scheduler.run_once()
        clock.now += MINUTE
    assert [int((at - NOW) / MINUTE) for at in job.runs] == [0, 1, 6, 21, 81, 321, 561]


def test_a_job_that_waits_stops_no_other(hire: Hire) -> None:
    jobs = Scripted(GraderError("again")), Scripted(False, name="other")
    scheduler = hire(*jobs)
    scheduler.run_once()
    scheduler.run_once()
    assert [len(job.runs) for job in jobs] == [1, 2]


@pytest.mark.parametrize("did", [pytest.param(True, id="something-done"), pytest.param(False, id="nothing-to-do")])
def test_a_good_run_ends_the_row_of_failures(
    hire: Hire, store: SqliteStore, clock: Clock, logs: Logs, did: bool
) -> None:
    job = Scripted(GraderError("1"), GraderError("2"), did, GraderError("3"))
    scheduler = hire(job)
    for _ in range(4):
        scheduler.run_once()
        clock.now += 5 * MINUTE
    assert [line["failures"] for line in events(logs, "job.failed")] == [1, 2, 1]
    assert store.job_runs.history("scripted").failures == 1


def test_a_restart_forgets_no_failure(hire: Hire, clock: Clock) -> None:
    hire(Scripted(GraderError("before"))).run_once()
    job = Scripted(True)
    again = hire(job)
    clock.now += MINUTE / 2
    again.run_once()
    assert job.runs == []
    clock.now += MINUTE / 2
    again.run_once()
    assert job.runs == [clock.now]


@pytest.mark.parametrize("back", [timedelta(seconds=1), timedelta(days=365)])
def test_a_clock_that_went_back_stops_no_job(hire: Hire, store: SqliteStore, clock: Clock, back: timedelta) -> None:
    job = Scripted(GraderError("1"), GraderError("2"), True)
    scheduler = hire(job)
    scheduler.run_once()
    clock.now -= back
    scheduler.run_once()
    assert len(job.runs) == 2
    clock.now += 5 * MINUTE
    scheduler.run_once()
    assert [row[1] for row in job_rows(store)] == ["failed", "failed", "done"]


def test_a_clock_that_jumps_forward_ends_the_pause(hire: Hire, clock: Clock) -> None:
    job = Scripted(GraderError("again"))
    scheduler = hire(job)
    scheduler.run_once()
    clock.now += timedelta(days=3650)
    scheduler.run_once()
    assert len(job.runs) == 2


# -- the database --------------------------------------------------------------------------------------------------


def test_a_locked_database_stops_nothing_for_good(
    hire: Hire, store: SqliteStore, logs: Logs, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.storage.sqlite.database._BUSY_SECONDS", 0.01)
    jobs = Scripted(True, name="one"), Scripted(False, name="two")
    scheduler = hire(*jobs, interval_seconds=60)
    with store.transaction():
        scheduler.run_once()
    assert [line["retry_seconds"] for line in events(logs, "store.failed")] == [60]
    assert [len(job.runs) for job in jobs] == [1, 1]
    clock.now += MINUTE
    scheduler.run_once()
    assert job_rows(store) == [("one", "done", None)]


def test_a_broken_database_is_told_for_each_job(hire: Hire, store: SqliteStore, logs: Logs) -> None:
    store.connection.execute("DROP TABLE job_runs")
    jobs = Scripted(True, name="one"), Scripted(True, name="two")
    hire(*jobs).run_once()
    assert len(events(logs, "store.failed")) == 2


def test_whatever_breaks_around_a_job_the_others_go_on(
    hire: Hire, logs: Logs, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = JobRuns.history

    def break_for_one(self: JobRuns, job: str) -> JobHistory:
        if job == "one":
            raise ZeroDivisionError
        return history(self, job)

    monkeypatch.setattr(JobRuns, "history", break_for_one)
    jobs = Scripted(True, name="one"), Scripted(True, name="two")
    hire(*jobs).run_once()
    assert [job.runs for job in jobs] == [[], [clock.now]]
    assert [line["job"] for line in events(logs, "job.crashed")] == ["one"]


# -- the thread ----------------------------------------------------------------------------------------------------


def test_jobs_run_again_and_again(hire: Hire) -> None:
    job = Scripted(False)
    scheduler = hire(job, interval_seconds=0.01)
    scheduler.start()
    wait_until(lambda: len(job.runs) >= 3, "three runs")
    assert scheduler.stop(PATIENCE_SECONDS)


def test_a_crash_does_not_end_the_thread(hire: Hire, store: SqliteStore, clock: Clock) -> None:
    job = Scripted(ZeroDivisionError("bug"), False)
    scheduler = hire(job, interval_seconds=0.01)
    scheduler.start()
    wait_until(lambda: job_rows(store), "the row of the crash")
    clock.now += MINUTE
    wait_until(lambda: len(job.runs) >= 2, "another run")
    assert scheduler.stop(PATIENCE_SECONDS)


def test_one_that_is_woken_does_not_wait_for_the_next_round(hire: Hire) -> None:
    job = Scripted(False)
    scheduler = hire(job)
    scheduler.start()
    wait_until(lambda: len(job.runs) == 1, "the first round")
    scheduler.wake()
    wait_until(lambda: len(job.runs) == 2, "the round that was asked for")


def test_a_stop_does_not_wait_for_the_next_round(hire: Hire) -> None:
    job = Scripted(False)
    scheduler = hire(job, interval_seconds=100 * PATIENCE_SECONDS)
    scheduler.start()
    wait_until(lambda: job.runs, "a run")
    assert scheduler.stop(PATIENCE_SECONDS)


def test_a_stop_waits_for_the_job_that_runs_and_for_no_other(hire: Hire) -> None:
    gate, other = Gate(), Scripted(True, name="other")
    scheduler = hire(gate, other)
    scheduler.start()
    assert gate.entered.wait(PATIENCE_SECONDS)
    assert not scheduler.stop(0.01)
    gate.open.set()
    assert scheduler.stop(PATIENCE_SECONDS)
    assert other.runs == []


def test_a_stop_may_be_asked_for_first_and_waited_for_later(hire: Hire) -> None:
    gate, other = Gate(), Scripted(True, name="other")
    scheduler = hire(gate, other)
    scheduler.start()
    assert gate.entered.wait(PATIENCE_SECONDS)
    scheduler.request_stop()
    gate.open.set()
    assert scheduler.stop(PATIENCE_SECONDS)
    assert gate.left, "who asked had to wait for the job"
    assert other.runs == []


@pytest.mark.parametrize("started", [True, False])
def test_a_stop_closes_the_store_and_may_come_twice(
    tmp_path: Path,
    clock: Clock,
    logs: Logs,  # noqa: ARG001  captured from the start
    started: bool,
) -> None:
    own = SqliteStore(tmp_path / "own.db")
    pulse = Pulse("jobs", patience_seconds=1, clock=monotonic)
    scheduler = Scheduler([Scripted(False)], store=own, clock=clock, interval_seconds=3600, pulse=pulse)
    if started:
        scheduler.start()
    assert scheduler.stop(PATIENCE_SECONDS)
    assert scheduler.stop(PATIENCE_SECONDS)
    with pytest.raises(apsw.ConnectionClosedError):
        own.connection.execute("SELECT 1")


def test_the_thread_has_the_name_that_it_was_given(hire: Hire) -> None:
    gate = Gate()
    scheduler = hire(gate)
    scheduler.start()
    assert gate.entered.wait(PATIENCE_SECONDS)
    assert "jobs-0" in {thread.name for thread in threading.enumerate()}
    gate.open.set()
    assert scheduler.stop(PATIENCE_SECONDS)
