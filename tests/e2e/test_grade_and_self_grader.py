"""Grading what is missing: ``grade``, and the command line of the original design."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, environment, query, run_command
from tests.e2e.session_files import path_of, turns, write, write_many
from tests.examples import repeats
from tests.waiting import PATIENCE_SECONDS, wait_until

MANY = repeats(500, thorough=1500)
"""So many are not done before a test has seen the first of them."""

# -- grade without paths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.thorough), "2"])
def test_backfill_grades_what_is_missing(graded_home: Path, sessions: Path, jobs: str) -> None:
    write_many(sessions, 250)

    ended = run_command(graded_home, "grade", "--jobs", jobs)
    again = run_command(graded_home, "grade", "--jobs", jobs)

    assert ended.returncode == again.returncode == 0
    assert ended.stderr == again.stderr == ""
    assert "250 graded" in ended.stdout
    assert "Nothing to do" in again.stdout
    assert query(graded_home / DATABASE, "SELECT count(*) AS n FROM session_grades") == [{"n": 253}]


def test_a_dry_backfill_only_says_what_it_would_do(home: Path, sessions: Path) -> None:
    ids = write_many(sessions, 3)

    ended = run_command(home, "grade", "--dry-run")

    assert ended.returncode == 0
    assert all(str(path_of(sessions, session_id)) in ended.stdout for session_id in ids)
    assert "3 files would be graded" in ended.stdout
    assert query(home / DATABASE, "SELECT * FROM session_files") == []


def test_backfill_can_be_held_to_recent_files(home: Path, sessions: Path) -> None:
    write(sessions, "of_last_week", age=8 * 86_400)
    write(sessions, "of_today")

    assert run_command(home, "grade", "--since", "7d").returncode == 0

    assert query(home / DATABASE, "SELECT session_id FROM session_grades") == [{"session_id": "of_today"}]


def test_backfill_ends_with_1_when_a_file_cannot_be_graded(home: Path, sessions: Path) -> None:
    write(sessions, "good")
    path_of(sessions, "bad").write_bytes(b"no JSON")

    assert run_command(home, "grade").returncode == 1


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.thorough), "2"])
def test_an_interrupted_backfill_can_be_started_again(home: Path, sessions: Path, jobs: str) -> None:
    write_many(sessions, MANY, messages=turns(10))
    process = subprocess.Popen(
        [sys.executable, "-m", "grader_daemon", "grade", "--jobs", jobs],
        env=environment(home, {"batch_sessions": 50}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    wait_until(lambda: query(home / DATABASE, "SELECT 1 FROM session_grades LIMIT 1"), "the first grades")

    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE_SECONDS)

    done = len(query(home / DATABASE, "SELECT 1 FROM session_grades"))
    assert process.returncode == 130
    assert "Traceback" not in told
    assert 0 < done < MANY
    again = run_command(home, "grade", "--jobs", jobs)
    assert f"{MANY - done} graded" in again.stdout
    assert query(home / DATABASE, "SELECT 1 FROM session_files WHERE grades <> 1") == []


def test_backfill_beside_a_running_daemon_grades_nothing_wrong(
    start_daemon: StartDaemon, home: Path, sessions: Path
) -> None:
    ids = write_many(sessions, MANY)
    daemon = start_daemon()

    ended = run_command(home, "grade", "--jobs", "2")

    assert ended.returncode == 0
    assert ended.stderr == ""
    daemon.wait_for_count(MANY)
    assert [row["session_id"] for row in daemon.query("SELECT session_id FROM session_grades ORDER BY 1")] == ids
    assert daemon.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


# -- the original command line -----------------------------------------------------------------------------------------


def test_self_grader_grades_the_latest(home: Path, sessions: Path) -> None:
    for number in range(4):
        write(sessions, f"nr_{number}", age=100 - number)

    ended = run_command(home, "-g", "2", program="self-grader")

    assert ended.returncode == 0
    assert [line.split()[0] for line in ended.stdout.splitlines()[1:3]] == ["nr_3", "nr_2"]
    again = run_command(home, "-g", "10", program="self-grader")
    assert [line.split()[0] for line in again.stdout.splitlines()[1:3]] == ["nr_1", "nr_0"]


def test_self_grader_shows_a_summary(asked_home: Path) -> None:
    week = run_command(asked_home, "-s", program="self-grader")
    day = run_command(asked_home, "-s", "-d", "1", program="self-grader")

    assert week.returncode == day.returncode == 0
    assert "7 days" in week.stdout
    assert "the last day" in day.stdout
    assert "2 finished" in day.stdout


def test_self_grader_grades_one_file(home: Path, sessions: Path) -> None:
    file = write(sessions, "single")

    ended = run_command(home, "-f", file, program="self-grader")

    assert ended.returncode == 0
    assert "single" in ended.stdout


@pytest.mark.parametrize("whole", [None, b"", b'{"name": "no session"}'], ids=["missing", "empty", "no-session"])
def test_self_grader_says_in_one_line_why_a_file_has_no_grade(home: Path, tmp_path: Path, whole: bytes | None) -> None:
    file = path_of(tmp_path, "x")
    if whole is not None:
        file.write_bytes(whole)

    ended = run_command(home, "-f", file, program="self-grader")

    assert ended.returncode in (1, 2)
    assert ended.stderr.count("\n") == 1
    assert str(file) in ended.stderr


def test_self_grader_takes_its_options_together(home: Path, sessions: Path) -> None:
    write(sessions, "together")

    ended = run_command(home, "-g", "5", "-s", program="self-grader")

    assert ended.returncode == 0
    assert "together" in ended.stdout
    assert "1 finished" in ended.stdout


def test_self_grader_makes_the_weekly_report(asked_home: Path) -> None:
    ended = run_command(asked_home, "-r", program="self-grader")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Weekly report, 20")
    assert query(asked_home / DATABASE, "SELECT count(*) AS reports FROM weekly_reports") == [{"reports": 0}]


@pytest.mark.thorough
def test_a_helper_process_that_is_killed_costs_nothing(home: Path, sessions: Path) -> None:
    """At most the file that it read is tried again later."""
    ids = write_many(sessions, MANY, messages=turns(10))
    with subprocess.Popen(
        [sys.executable, "-m", "grader_daemon", "grade", "--jobs", "2"],
        env=environment(home, {}),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as backfill:
        database = home / DATABASE
        wait_until(lambda: query(database, "SELECT 1 FROM session_grades LIMIT 1"), "the first grades")
        os.kill(_newest_child(backfill.pid), signal.SIGKILL)
        told, said = backfill.communicate(timeout=PATIENCE_SECONDS)
    tried_again = query(database, "SELECT last_error FROM session_files WHERE state <> 'graded'")

    assert len(tried_again) <= 1
    assert all("the process that graded it crashed (SIGKILL)" in row["last_error"] for row in tried_again)
    assert (backfill.returncode, said) == (len(tried_again), "")
    assert f"{len(ids) - len(tried_again)} graded" in told
    assert len(query(database, "SELECT 1 FROM session_grades")) == len(ids) - len(tried_again)


def _newest_child(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()][-1]
