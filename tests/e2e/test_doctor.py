"""What the doctor says of a whole machine and of broken ones, and what its repairs are worth."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from grader_daemon.storage.maintenance.inspection import Inspection
from tests.damage import DAMAGES, make_database
from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import BUSY_MILLISECONDS, DATABASE, Row, query, run_command
from tests.e2e.faults.load import assert_nothing_lost_or_twice
from tests.e2e.session_files import content, path_of, write_many

NAMES = [
    *("settings", "rules", "clock", "time zone", "sqlite", "database", "database place", "integrity", "privacy"),
    *("write-ahead log", "sums", "ledger", "grader", "other programs", "former copies", "disk space", "folders"),
    *("file systems", "inotify", "agents", "agent databases", "agent versions", "retention", "newest sessions"),
    *(
        "skills",
        "last session",
        "dead files",
        "daemon",
        "service",
        "trials",
        "outcomes",
        "hooks",
        "quality scorer",
        "fleet",
        "fleet watch",
    ),
]
_DAMAGED = "session_grades.db.damaged-*"


def examined(home: Path) -> dict[str, dict[str, Any]]:
    """The checks of ``doctor --json``, by name."""
    ended = run_command(home, "doctor", "--json")
    assert ended.stderr == ""
    document = json.loads(ended.stdout)
    assert document["schema_version"] == 1
    checks = {check["name"]: check for check in document["checks"]}
    assert list(checks) == NAMES
    assert all(check["fix"] for check in checks.values() if check["state"] in ("warning", "problem"))
    assert ended.returncode == int(any(check["state"] == "problem" for check in checks.values()))
    return checks


def states(checks: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The checks that are not ok."""
    return {name: check["state"] for name, check in checks.items() if check["state"] != "ok"}


def test_a_daemon_at_work_has_no_problem_and_the_numbers_are_right(
    start_daemon: StartDaemon, home: Path, sessions: Path
) -> None:
    write_many(sessions, 40)
    daemon = start_daemon()
    daemon.wait_for_count(40)
    daemon.wait_for_rows("SELECT * FROM daemon_status")

    checks = examined(home)

    assert set(states(checks)) <= {"service", "disk space", "inotify", "time zone"}
    assert checks["database"]["found"].startswith("40 grades, schema ")
    assert checks["integrity"]["found"].startswith("no error in ")
    assert checks["sums"]["found"].endswith("agree with 40 grades")
    assert checks["ledger"]["found"] == "40 graded files, their grades are stored"
    assert checks["daemon"]["found"].startswith(f"it runs, pid {daemon.pid}, 0 files waiting")
    assert checks["sqlite"]["found"].startswith("3.")
    assert checks["folders"]["found"] == f"4 folders at and below {home / '.timmy'}"


def test_the_doctor_changes_nothing(home: Path) -> None:
    database = home / DATABASE
    make_database(database, sessions=3)
    database.chmod(0o644)
    before = database.read_bytes(), database.stat().st_mode

    examined(home)

    assert (database.read_bytes(), database.stat().st_mode) == before


def test_a_pipe_gets_each_check_and_each_fix_on_a_line_of_its_own(home: Path) -> None:
    ended = run_command(home, "doctor")

    lines = ended.stdout.splitlines()
    assert ended.returncode == 1
    assert [line[:15].rstrip() for line in lines[:-1] if line[0] != " "] == NAMES
    folders = next(number for number, line in enumerate(lines) if line.startswith("folders"))
    assert lines[folders].split()[1] == "problem"
    assert lines[folders + 1].split()[:3] == ["fix", "mkdir", "-p"]
    assert re.fullmatch(r"35 checks: \d+ ok, \d warnings?, 1 problem\.", lines[-1])
    assert list(home.iterdir()) == []


# -- what is not right -------------------------------------------------------------------------------------------------


def test_dead_files_are_told_with_their_error_and_tried_once_more(
    start_daemon: StartDaemon, home: Path, sessions: Path
) -> None:
    dead, huge = path_of(sessions, "dead"), path_of(sessions, "huge")
    dead.write_text("this was never a session")
    huge.write_bytes(content("huge"))
    daemon = start_daemon(max_file_bytes=1024)
    daemon.wait_for_ledger(dead, "dead")
    daemon.wait_for_ledger(huge, "dead")
    daemon.stop()

    before = examined(home)["dead files"]
    repaired = run_command(home, "doctor", "--repair")

    assert before["state"] == "problem"
    assert before["found"].startswith("2 files failed, 0 waiting for a retry; ")
    assert "grader-daemon grade " in before["fix"]
    assert "Done: 2 files that failed will be retried once" in repaired.stdout
    daemon = start_daemon()
    daemon.wait_for_grade("huge")
    daemon.wait_for_ledger(dead, "dead")


def test_modes_sums_and_half_grades_are_repaired_beside_a_running_daemon(
    start_daemon: StartDaemon, home: Path, sessions: Path
) -> None:
    write_many(sessions, 20)
    daemon = start_daemon()
    daemon.wait_for_count(20)
    with closing(apsw.Connection(str(daemon.database))) as connection:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.execute("UPDATE daily_rollups SET sessions = sessions + 1 WHERE dimension = 'overall'")
        connection.execute("DELETE FROM session_details WHERE session_id = 'many_00003'")
        connection.execute("DELETE FROM session_grades WHERE session_id = 'many_00007'")
    daemon.database.chmod(0o644)
    daemon.database.parent.chmod(0o755)
    before = states(examined(home))

    repaired = run_command(home, "doctor", "--repair")

    daemon.wait_for_count(20)
    daemon.wait_for_rows("SELECT 1 FROM session_details WHERE session_id = 'many_00003'")
    assert {"privacy": "problem", "sums": "problem", "ledger": "problem"}.items() <= before.items()
    assert repaired.stdout.count("Done: ") == 4
    assert "Not done: " not in repaired.stdout
    assert not {"privacy", "sums", "ledger"} & states(examined(home)).keys()
    assert daemon.database.stat().st_mode & 0o777 == 0o600
    assert_nothing_lost_or_twice(daemon.database, sessions)


# -- damaged databases -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with 120 graded sessions; each test puts its own database there."""
    home = tmp_path_factory.mktemp("graded")
    write_many(home / ".timmy" / "sessions", 120)
    assert run_command(home, "run", "--once").returncode == 0
    shutil.copy(home / DATABASE, home / "whole.db")
    return home


@pytest.mark.parametrize("damage", ["noise-in-the-middle", "noise-in-the-header", "cut-in-half", "zero-length"])
def test_after_any_damage_and_its_repair_every_session_is_graded_again(graded_once: Path, damage: str) -> None:
    home, database = graded_once, graded_once / DATABASE
    shutil.rmtree(database.parent)
    database.parent.mkdir(mode=0o700)
    shutil.copy(home / "whole.db", database)
    DAMAGES[damage](database)
    damaged = database.read_bytes()

    repaired = run_command(home, "doctor", "--repair", "--json")
    again = run_command(home, "run", "--once")

    document = json.loads(repaired.stdout)
    assert repaired.returncode == again.returncode == 0
    assert {check["state"] for check in document["checks"]} <= {"ok", "warning", "unknown"}
    if damaged:
        (kept,) = database.parent.glob(_DAMAGED)
        assert kept.read_bytes() == damaged
        assert any(str(kept) in each["what"] and each["done"] for each in document["repairs"])
    assert _grades(database) == _grades(home / "whole.db")
    assert query(database, "SELECT path FROM session_files WHERE state <> 'graded'") == []
    with Inspection(database) as inspection:
        assert inspection.damage() == []
        assert inspection.miscounted() == {}
        assert inspection.half_graded() == []


def test_a_damaged_database_is_not_touched_while_a_daemon_runs(
    start_daemon: StartDaemon, home: Path, sessions: Path
) -> None:
    write_many(sessions, 120)
    daemon = start_daemon()
    daemon.wait_for_count(120)
    database = home / DATABASE
    with closing(apsw.Connection(str(database))) as connection:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get == (0, 0, 0)
    DAMAGES["noise-in-the-middle"](database)
    damaged = database.read_bytes()

    repaired = run_command(home, "doctor", "--repair")

    assert repaired.returncode == 1
    assert f"(pid {daemon.pid}) is running" in repaired.stdout
    assert "stop it first" in repaired.stdout
    assert database.read_bytes() == damaged
    assert list(database.parent.glob(_DAMAGED)) == []
    daemon.kill()


def test_the_daemon_that_finds_its_database_damaged_names_the_repair(home: Path, sessions: Path) -> None:
    make_database(home / DATABASE, sessions=200)
    DAMAGES["noise-in-the-header"](home / DATABASE)
    before = (home / DATABASE).read_bytes()

    refused = run_command(home, "run", "--once")

    assert refused.returncode == 2
    command = f"grader-daemon --db-path {home / DATABASE}"
    assert refused.stderr.rstrip().endswith(
        f"{command} doctor --repair; or restore a backup: {command} backup restore FILE"
    )
    assert (home / DATABASE).read_bytes() == before
    assert sessions.exists()


def _grades(database: Path) -> list[Row]:
    rows = query(database, "SELECT * FROM session_grades JOIN session_details USING (session_id) ORDER BY session_id")
    return [{name: value for name, value in row.items() if name not in ("id", "graded_at", "watched")} for row in rows]
