"""Runs that a schedule began: counted beside the tasks of persons wherever these are counted, and compared apart."""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from grader_daemon.domain.calendar import week_name
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")
MINUTE = timedelta(minutes=1)
RUNS = 120
NOW = datetime.now(UTC)  # noqa: TID251  the commands' clock is the real one
THIS_WEEK = week_name(NOW.date())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Forty tasks of a person, and nightly runs, the last half of them by a model that completes two of ten."""
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    runs = [
        grade(
            session_id=f"run-{number}",
            session_file=f"/run-{number}",
            kind=SessionKind.CRON,
            agent="hermes",
            model="strong" if number < RUNS / 2 else "weak",
            job="a1b2",
            job_name="Check the backups",
            ending=EndingKind.ANSWERED,
            standing=ResultStanding.CHECKED if number % 10 < 9 else ResultStanding.CHECK_FAILED,
            task_completed=number % 10 < (9 if number < RUNS / 2 else 2),
            p_completed=None,
            ended_at=NOW - (RUNS - number) * MINUTE,
            ended_on=NOW.date().isoformat(),
        )
        for number in range(RUNS)
    ]
    tasks = [
        grade(
            session_id=f"task-{number}",
            session_file=f"/task-{number}",
            agent="hermes",
            model="strong",
            ended_at=NOW - (40 - number) * MINUTE,
            ended_on=NOW.date().isoformat(),
        )
        for number in range(40)
    ]
    with closing(SqliteStore(tmp_path / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(one) for one in [*runs, *tasks]])
    return tmp_path


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param([], "40 sessions counted, + 120 scheduled", id="summary"),
        pytest.param(["report", "patterns"], "40 finished sessions, + 120 scheduled,", id="patterns"),
        pytest.param(["changes"], "40 finished tasks examined, + 120 scheduled, since ", id="changes"),
        pytest.param(
            ["report", "--week", THIS_WEEK],
            "120 scheduled, counted separately: 66 done, 54 not done, 0 unsure; bad endings: ",
            id="report",
        ),
    ],
)
def test_scheduled_runs_stand_beside_what_is_counted(home: Path, run: Run, command: list[str], words: str) -> None:
    ended = run(home, *command)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert words in " ".join(ended.stdout.split())


def test_the_documents_count_scheduled_runs(home: Path, run: Run) -> None:
    summary = json.loads(run(home, "--json").stdout)
    report = json.loads(run(home, "report", "--week", THIS_WEEK, "--format", "json").stdout)
    changes = json.loads(run(home, "changes", "--json").stdout)

    assert (summary["summary"]["sessions"], summary["summary"]["scheduled"]) == (40, RUNS)
    assert (summary["patterns"]["sessions"], summary["patterns"]["scheduled"]) == (40, RUNS)
    assert (report["total_sessions"], report["scheduled"]["sessions"]) == (40, RUNS)
    assert (changes["sessions"], changes["scheduled"]) == (40, RUNS)


def test_each_scheduled_job_has_its_line(home: Path, run: Run) -> None:
    shown = run(home, "report", "patterns", "--all").stdout
    line = next(line for line in shown.splitlines() if "Check the backups" in line)
    report = " ".join(run(home, "report", "--week", THIS_WEEK, "--all").stdout.split())

    assert re.search(r"scheduled job +key +runs +before +bad endings", shown)
    assert re.search(r"Check the backups +a1b2 +120 +0 +10 % .* 12 last check failed ", line)
    assert "Scheduled jobs" in report
    assert "12 last check failed" in report


def test_documents_have_each_scheduled_job(home: Path, run: Run) -> None:
    [job] = json.loads(run(home, "report", "patterns", "--json").stdout)["jobs"]
    report = json.loads(run(home, "report", "--week", THIS_WEEK, "--format", "json").stdout)

    assert (job["job"], job["name"], job["runs"], job["facts"]["check_failed"]) == (
        "a1b2",
        "Check the backups",
        120,
        12,
    )
    assert [each["facts"] for each in report["jobs"]] == [job["facts"]]


def test_runs_of_a_job_are_listed_by_its_key(home: Path, run: Run) -> None:
    ended = run(home, "list", "--job", "a1b2", "--json", "--limit", "500")
    assert len(json.loads(ended.stdout)["grades"]) == RUNS


def test_a_home_of_scheduled_runs_alone_has_their_table(tmp_path: Path, run: Run) -> None:
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    made = grade(kind=SessionKind.CRON, ended_at=NOW, ended_on=NOW.date().isoformat())
    with closing(SqliteStore(tmp_path / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(made)])

    shown = run(tmp_path, "report", "patterns", "--all").stdout

    assert "0 finished sessions, + 1 scheduled," in shown
    assert re.search(r"^cron +1 ", shown, re.MULTILINE)


def test_a_change_of_scheduled_runs_is_compared_among_themselves(home: Path, run: Run) -> None:
    [effect] = json.loads(run(home, "changes", "--json").stdout)["effects"]
    shown = " ".join(run(home, "changes").stdout.split())

    assert [(each["before"], each["after"], each["scheduled"]) for each in effect["changes"]] == [
        ("strong", "weak", True)
    ]
    assert (effect["sessions_before"], effect["sessions_after"], effect["is_sure"]) == (60, 60, False)
    assert "since the model of hermes in scheduled runs changed from strong to weak" in shown
