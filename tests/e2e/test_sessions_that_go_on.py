"""Sessions that grow, pause, come back, or are left alone."""

from __future__ import annotations

import json
import time
from functools import partial
from itertools import count
from pathlib import Path

from grader_daemon.sources.file_reading import stamp_of
from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import Row, run_command
from tests.e2e.session_files import path_of, replace, turns, write
from tests.strategies import json_answer, json_round, json_user
from tests.waiting import wait_until


def test_a_session_that_never_pauses_has_a_provisional_grade_before_it_ends(
    start_daemon: StartDaemon, sessions: Path
) -> None:
    daemon = start_daemon(quiet_seconds=0.5, max_wait_seconds=0.5)
    daemon.wait_for_event("reconcile.finished")
    rounds = count(1)

    def grow() -> list[Row]:
        write(sessions, "growing", turns(next(rounds), answer=None))
        return daemon.query("SELECT state, messages FROM session_details WHERE session_id = 'growing'")

    provisional = wait_until(grow, "a provisional grade while the session grows")
    whole = next(rounds)
    write(sessions, "growing", turns(whole))

    daemon.wait_for_rows("SELECT 1 FROM session_details WHERE session_id = 'growing' AND state = 'complete'")
    final = daemon.wait_for_grade("growing")
    assert {row["state"] for row in provisional} == {"open"}
    assert all(row["messages"] < 2 * whole + 1 for row in provisional)
    assert (final["messages"], final["tool_calls"]) == (2 * whole + 2, whole)
    assert daemon.query("SELECT count(*) AS count FROM session_files") == [{"count": 1}]


def test_a_large_session_costs_no_more_than_ten_times_what_grading_it_once_does(
    start_daemon: StartDaemon, sessions: Path
) -> None:
    """Graded at each of its 60 turns it would cost 30 times as much."""
    daemon = start_daemon(quiet_seconds=0.05)
    daemon.wait_for_event("reconcile.finished")
    steps = 60
    rounds = turns(steps, output="a line of a log that is long " * 2_000)[1:-1]
    for step in range(1, steps + 1):
        path = write(sessions, "growing", [json_user(), *rounds[: 2 * step], json_answer(f"Answer {step}")])
        written = path.stat().st_mtime_ns
        wait_until(partial(_has_passed, written), "the quiet time to pass twice")

    daemon.wait_for_rows("SELECT 1 FROM session_details WHERE messages = ?", 2 * steps + 2)

    grades = daemon.wait_for_ledger(path, "graded")["grades"]
    daemon.stop()  # a grade is told after it is saved
    assert len(daemon.events("session.graded", session_id="growing")) == grades
    assert 2 <= grades <= 20


def _has_passed(written_ns: int) -> bool:
    return time.time_ns() - written_ns > 100_000_000


def test_a_session_that_is_resumed_the_next_day_keeps_its_row(start_daemon: StartDaemon, sessions: Path) -> None:
    day = 86_400
    daemon = start_daemon()
    path = write(sessions, "resumed", turns(1), age=day, session_start="2026-11-20T10:00:00.000001")
    write(sessions, "other")
    first = daemon.wait_for_grade("resumed")
    daemon.wait_for_grade("other")
    again = [json_user("Now write the tests too"), *json_round(call_id="call_9"), json_answer("Finished the tests.")]

    write(sessions, "resumed", [*turns(1), *again], session_start="2026-11-21T10:00:00.000002")

    daemon.wait_for_rows("SELECT 1 FROM session_details WHERE session_id = 'resumed' AND messages = 8")
    second = daemon.wait_for_grade("resumed")
    assert second["id"] == first["id"]
    assert second["graded_at"] > first["graded_at"]
    assert second["tool_calls"] == 2
    ledger = daemon.wait_for_ledger(path, "graded")
    assert ledger["grades"] == 2
    assert daemon.query("SELECT count(*) AS count FROM session_grades") == [{"count": 2}]


def test_the_same_bytes_written_again_are_not_graded_again(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon()
    path = write(sessions, "same")
    daemon.wait_for_grade("same")
    inode = path.stat().st_ino

    replace(path, path.read_bytes())

    assert path.stat().st_ino != inode
    wait_until(
        lambda: (daemon.ledger(path) or {}).get("stamp") == stamp_of(path.stat()), "the ledger to have the new inode"
    )
    assert (daemon.ledger(path) or {})["grades"] == 1


def test_an_open_session_counts_as_interrupted_when_it_was_idle_for_too_long(
    start_daemon: StartDaemon, sessions: Path
) -> None:
    daemon = start_daemon(idle_minutes=0.1)
    daemon.wait_for_event("reconcile.finished")
    write(sessions, "left_alone", turns(2, answer=None))

    daemon.wait_for_rows("SELECT 1 FROM session_details WHERE session_id = 'left_alone' AND state = 'interrupted'")
    assert daemon.query("SELECT retry_at FROM session_files") == [{"retry_at": None}]
    daemon.wait_for_event("session.graded", state="interrupted")
    assert [event["state"] for event in daemon.events("session.graded")] == ["open", "interrupted"]


def test_a_session_file_that_is_deleted_keeps_its_grade(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon(idle_minutes=0.05)
    path = write(sessions, "deleted", turns(2, answer=None))
    daemon.wait_for_grade("deleted")

    path.unlink()

    daemon.wait_for_rows("SELECT 1 FROM session_files WHERE retry_at IS NULL")
    assert daemon.grade_count() == 1
    write(sessions, "next")
    daemon.wait_for_grade("next")


def test_our_own_files_are_no_sessions(start_daemon: StartDaemon, sessions: Path) -> None:
    for name in ("sessions.json.bak", "processes.json", "notes.txt", ".session_x_abcdefgh.tmp"):
        (sessions / name).write_text('{"messages": []}')
    daemon = start_daemon()
    write(sessions, "the_only_one")

    daemon.wait_for_grade("the_only_one")

    assert [row["path"] for row in daemon.query("SELECT path FROM session_files")] == [
        str(path_of(sessions, "the_only_one"))
    ]


def test_a_copy_that_was_read_before_its_original_is_logged_as_one(home: Path, sessions: Path) -> None:
    """Files are read in the order of their names."""
    said = [json_user(), *json_round(call_id="call_4c637ca0beac"), json_answer()]
    write(sessions, "a_copy", said, age=60, session_start="2026-11-21T21:57:00.5", last_updated="2026-11-21T21:58:00.5")
    write(sessions, "original", said, age=60, session_start="2026-11-21T21:55:00.5", last_updated="2026-11-21T21:56:00")

    ended = run_command(home, "run", "--once")

    events = [json.loads(line) for line in ended.stderr.splitlines()]
    skipped = [
        (event["session_id"], event["reason"], event["by"]) for event in events if event["event"] == "session.skipped"
    ]
    assert skipped == [("a_copy", "copy", "original")]
