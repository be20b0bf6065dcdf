"""People judge sessions while a daemon grades them."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, environment, query, run_command
from tests.e2e.session_files import failing, path_of, turns, write, write_many
from tests.waiting import PATIENCE_SECONDS, wait_until

NAMES = [f"20261121_100000_{number:06x}" for number in range(4)]
_COUNTED = "SELECT sessions, completed FROM daily_rollups WHERE dimension = 'overall'"


def review(home: Path, keys: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Review with these keys, each on a line of the standard input."""
    return subprocess.run(
        [sys.executable, "-m", "grader_daemon", "label", *arguments],
        env=environment(home, {}),
        cwd=home,
        input="".join(f"{key}\n" for key in keys),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_a_label_stands_while_the_daemon_grades_the_session_again(
    start_daemon: StartDaemon, home: Path, sessions: Path
) -> None:
    write(sessions, NAMES[0], turns(2))
    daemon = start_daemon()
    daemon.wait_for_grade(NAMES[0])

    assert run_command(home, "label", NAMES[0], "--completed", "no").returncode == 0
    write(sessions, NAMES[0], turns(5))
    wait_until(
        lambda: daemon.query("SELECT 1 FROM session_files WHERE session_id = ? AND grades = 2", NAMES[0]),
        "a second grade",
    )

    [grade] = json.loads(run_command(home, "list", "--json").stdout)["grades"]
    assert (grade["task_completed"], grade["verdict_by"], grade["automatic_completed"]) == (False, "person", True)
    assert grade["tool_calls"] == 5
    assert daemon.query(_COUNTED) == [{"sessions": 1, "completed": 0}]
    assert "before the session continued" in run_command(home, "show", NAMES[0]).stdout

    assert run_command(home, "label", NAMES[0], "--undo").returncode == 0
    assert daemon.query(_COUNTED) == [{"sessions": 1, "completed": 1}]
    assert [row["withdraws"] for row in daemon.query("SELECT withdraws FROM feedback ORDER BY id")] == [None, 1]


@pytest.mark.thorough
def test_labels_of_many_beside_a_working_daemon_are_all_kept(
    start_daemon: StartDaemon, home: Path, sessions: Path
) -> None:
    names = write_many(sessions, 300)
    daemon = start_daemon()
    daemon.wait_for_count(300)
    (home / "labels.csv").write_text("session_id,success\n" + "".join(f"{name},0\n" for name in names[100:]))

    def grade_again(number: int) -> None:
        write(sessions, f"new_{number:03}")

    def label(name: str) -> int:
        with SelfGrader(db_path=home / DATABASE, watch_roots=[home / ".timmy"]) as grader:
            return grader.labels.add(name, completed=False).id

    with ThreadPoolExecutor(4) as threads:
        written = threads.map(grade_again, range(50))
        labelled = list(threads.map(label, names[:100]))
        taken = run_command(home, "label", "--csv", "labels.csv")
        list(written)
    daemon.wait_for_count(350)

    assert taken.stdout == "200 added, 0 as before, 0 unknown.\n"
    assert len(set(labelled)) == 100
    wait_until(
        lambda: (
            daemon.query("SELECT sum(sessions) AS n FROM daily_rollups WHERE dimension = 'overall'") == [{"n": 350}]
        ),
        "350 sessions that are counted",
    )
    people = daemon.query("SELECT count(*) AS n FROM session_details WHERE verdict_by = 'person'")
    not_completed = daemon.query("SELECT count(*) AS n FROM session_grades WHERE NOT task_completed")
    assert people == not_completed == [{"n": 300}]
    checks = json.loads(run_command(home, "doctor", "--json").stdout)["checks"]
    assert {check["state"] for check in checks if check["name"] in ("integrity", "sums")} == {"ok"}


def test_a_review_by_lines_beside_a_daemon(start_daemon: StartDaemon, home: Path, sessions: Path) -> None:
    for name in NAMES:
        write(sessions, name, failing(2))
    daemon = start_daemon()
    daemon.wait_for_count(4)

    ended = review(home, "y3nuys", "-n", "3")

    assert ended.returncode == 0, ended.stderr
    told = daemon.query("SELECT completed, quality, source, sampled, withdraws FROM feedback ORDER BY id")
    assert [(row["completed"], row["quality"], row["withdraws"]) for row in told] == [
        (1, None, None),
        (0, 3, None),
        (None, None, 2),
        (1, None, None),
    ]
    assert {row["source"] for row in told} == {"review"}
    assert told[1]["sampled"] == told[3]["sampled"] in ("random", "uncertain")
    assert "2 labelled now, 2 this week in reviews." in ended.stdout
    assert {label["completed"] for label in json.loads(run_command(home, "label", "--list", "--json").stdout)["labels"]}


def test_one_key_is_enough_on_a_terminal(home: Path, sessions: Path) -> None:
    for name in NAMES:
        write(sessions, name)
    assert run_command(home, "grade", sessions).returncode == 0
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(ours)
    process = subprocess.Popen(
        [sys.executable, "-m", "grader_daemon", "label"],
        env=environment(home, {}) | {"TERM": "xterm"},
        cwd=home,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    try:
        shown = _read_until(ours, "q quit")
        os.write(ours, b"\x1b[1;5C")  # an arrow is no answer
        os.write(ours, b"4y")
        shown += _read_until(ours, "2 of 5", "q quit")
        os.write(ours, b"nq")
        shown += _read_until(ours, "2 labelled now, 2 this week in reviews.")
        assert process.wait(timeout=PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()

    after = termios.tcgetattr(ours)
    for descriptor in (ours, theirs):
        os.close(descriptor)
    assert after == before
    assert "Saved: done, quality 4 of 5" in shown
    told = query(home / DATABASE, "SELECT completed, quality FROM feedback ORDER BY id")
    assert told == [{"completed": 1, "quality": 4}, {"completed": 0, "quality": None}]


@pytest.mark.parametrize("arguments", [["label"], ["label", "--list"]], ids=["label", "list"])
def test_without_sessions_there_is_nothing_to_say(home: Path, arguments: list[str]) -> None:
    ended = run_command(home, *arguments)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "nothing was graded yet; start: grader-daemon run" in ended.stderr


def test_a_backup_holds_what_people_said(graded_home: Path, sessions: Path) -> None:
    run_command(graded_home, "label", "20261121_100000_aaaaaa", "--completed", "no")
    run_command(graded_home, "backup", "create", "grades.bak")
    run_command(graded_home, "label", "20261121_100000_aaaaaa", "--undo")
    path_of(sessions, "20261121_100000_aaaaaa").unlink()

    assert run_command(graded_home, "backup", "restore", "grades.bak").returncode == 0

    assert "not done (labelled by " in run_command(graded_home, "show", "20261121_100000_aaaaaa").stdout


def _read_until(terminal: int, *wanted: str) -> str:
    """Read until these stand there, in their order; one read may bring more than one of them."""
    shown, pattern = "", re.compile(".*".join(map(re.escape, wanted)), re.DOTALL)
    while not pattern.search(shown):
        ready, _, _ = select.select([terminal], [], [], PATIENCE_SECONDS)
        assert ready, f"waited in vain for {wanted!r} after {shown!r}"
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown
