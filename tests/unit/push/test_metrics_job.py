from __future__ import annotations

import os
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from grader_daemon.domain.feedback import FeedbackSource, Said, Sampling
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.errors import OutputError
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_alert, save_grades
from grader_daemon.push.metrics import read_facts
from grader_daemon.push.metrics_job import MetricsJob
from grader_daemon.push.session_metrics import metric_families
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import alert
from tests.conftest import Clock
from tests.metric_texts import read_classic, value
from tests.strategies import NOW, grade, new_grade
from tests.units import unit

MINUTE = timedelta(minutes=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grader.prom"


@pytest.fixture
def job(store: SqliteStore, path: Path) -> MetricsJob:
    return MetricsJob(store, path, zone=UTC, is_settled=lambda: True)


def save(store: SqliteStore, session_id: str, **changes: object) -> None:
    with store.transaction():
        save_grades(store, [new_grade(grade(session_id=session_id, session_file=f"/{session_id}", **changes))])


def grade_elsewhere(store: SqliteStore, session_id: str) -> None:
    """Save a grade as the worker does, on a connection of its own."""
    with closing(SqliteStore(store.path)) as other:
        save(other, session_id)


def told(path: Path, name: str, **labels: str) -> float | None:
    return value(read_classic(path.read_text("utf-8")), name, **labels)


def test_the_file_says_what_the_database_holds(job: MetricsJob, store: SqliteStore, path: Path) -> None:
    save(store, "a", model="large")
    assert job.run(NOW)
    assert told(path, "grader_up") == 1
    assert told(path, "grader_model_sessions", model="large", verdict="done") == 1


def test_all_who_may_enter_its_folder_can_read_it(job: MetricsJob, path: Path) -> None:
    before = os.umask(0o077)
    try:
        job.run(NOW)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert not [name for name in os.listdir(path.parent) if name.startswith(".")]


def test_it_is_written_at_most_once_a_minute(job: MetricsJob, store: SqliteStore, path: Path) -> None:
    job.run(NOW)
    grade_elsewhere(store, "a")
    assert not job.run(NOW + MINUTE - timedelta(seconds=1))
    assert job.run(NOW + MINUTE)
    assert told(path, "grader_model_sessions", model="m", verdict="done") == 1


def test_the_end_of_a_backlog_is_told_at_once(store: SqliteStore, path: Path) -> None:
    settled = iter([False, False, True, True])
    job = MetricsJob(store, path, zone=UTC, is_settled=lambda: next(settled))
    second = timedelta(seconds=1)
    written = []
    for number in range(4):
        grade_elsewhere(store, f"s{number}")
        written.append(job.run(NOW + number * second))
    assert written == [True, False, True, False]
    assert told(path, "grader_model_sessions", model="m", verdict="done") == 3


def test_while_nothing_changes_it_is_written_only_to_show_that_the_daemon_lives(job: MetricsJob) -> None:
    written = [minute for minute in range(25) if job.run(NOW + minute * MINUTE)]
    assert written == [0, 10, 20]


def test_a_clock_that_was_set_back_keeps_nothing_waiting(job: MetricsJob, store: SqliteStore) -> None:
    job.run(NOW)
    grade_elsewhere(store, "a")
    assert job.run(NOW - timedelta(days=3))


def test_an_alert_that_the_same_thread_opened_is_told(job: MetricsJob, store: SqliteStore, path: Path) -> None:
    job.run(NOW)
    with store.transaction():
        save_alert(store, store.alerts.add(alert(opened_at=NOW)))
    assert job.run(NOW + MINUTE)
    assert told(path, "grader_alerts_open", level="warning") == 1


def test_a_new_day_is_told(job: MetricsJob, store: SqliteStore, path: Path) -> None:
    save(store, "a", ended_on="2026-11-21")
    job.run(datetime(2026, 11, 27, 23, 59, tzinfo=UTC))
    assert told(path, "grader_efficiency_score", bound="value", window="7d") is not None
    assert job.run(datetime(2026, 11, 28, 0, 0, 30, tzinfo=UTC) + MINUTE)
    assert told(path, "grader_efficiency_score", bound="value", window="7d") is None


def test_a_rate_of_completion_is_told_from_twenty_random_labels_on(
    job: MetricsJob, store: SqliteStore, path: Path
) -> None:
    for number in range(20):
        save(store, f"s{number}", ended_on=NOW.date().isoformat())
    job.run(NOW)
    assert told(path, "grader_completion_ratio", bound="value", window="7d") is None
    said = [
        Said(
            session_id=f"s{number}",
            by="t",
            source=FeedbackSource.REVIEW,
            completed=number < 15,
            sampled=Sampling.RANDOM,
        )
        for number in range(20)
    ]
    with store.transaction():
        add_feedback(store, said, now=NOW)
    assert job.run(NOW + MINUTE)
    assert told(path, "grader_completion_ratio", bound="value", window="7d") == 0.75


def test_a_file_that_cannot_be_written_is_told_and_tried_again(store: SqliteStore, tmp_path: Path) -> None:
    job = MetricsJob(store, tmp_path / "missing" / "grader.prom", zone=UTC, is_settled=lambda: True)
    with pytest.raises(OutputError, match="cannot be written: No such file or directory"):
        job.run(NOW)
    (tmp_path / "missing").mkdir()
    assert job.run(NOW)


def test_what_made_the_last_grade_is_named(store: SqliteStore, clock: Clock) -> None:

    save(store, "a", rules_version="r7+m3.model")
    entry = LedgerEntry(unit=unit("/a"), stamp=b"1", written_ns=0, state=FileState.GRADED, session_id="a", digest="d")
    with store.transaction():
        store.save_entries([entry], now=NOW)
    facts = read_facts(store, clock.now, running=False, zone=UTC)
    assert (facts.rules, facts.model, facts.last_graded_at) == ("r7", "m3", NOW)
    assert metric_families(facts)
