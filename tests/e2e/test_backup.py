"""A backup beside a busy daemon, and the way back: never a half file, never a log beside the wrong database."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.storage.maintenance.backup import back_up
from tests.damage import make_database
from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, Row, query, run_command
from tests.e2e.faults.boxes import SmallDisk
from tests.e2e.faults.load import Load, integrity, wait_until_caught_up
from tests.e2e.session_files import write, write_many

_KEPT = "session_grades.db.before-restore-*"


@pytest.fixture
def database(home: Path) -> Path:
    """A database with three grades."""
    make_database(home / DATABASE, sessions=3)
    return home / DATABASE


# -- backup ------------------------------------------------------------------------------------------------------------


def test_a_backup_beside_a_busy_daemon_is_one_moment_of_it(
    start_daemon: StartDaemon, home: Path, sessions: Path, tmp_path: Path
) -> None:
    write_many(sessions, 500)
    daemon = start_daemon()
    with Load(sessions):
        daemon.wait_for_count(500)
        for number in range(3):
            made = run_command(home, "backup", "create", tmp_path / f"{number}.db")
            assert made.returncode == 0, made.stderr
            write(sessions, f"between_{number}")  # the load may have become very many, and add none any more
            daemon.wait_for_grade(f"between_{number}")

    wait_until_caught_up(daemon, sessions)
    assert daemon.events("store.failed") == []
    counts = [_checked(tmp_path / f"{number}.db") for number in range(3)]
    assert counts == sorted(counts)
    assert 500 <= counts[0] < counts[2] <= daemon.grade_count()


def test_a_backup_is_private_says_how_much_it_holds_and_needs_no_companions(database: Path, home: Path) -> None:
    made = run_command(home, "backup", "create", "grades.bak", within=60)

    backup = home / "grades.bak"
    assert made.stdout == f"{backup}: 3 grades, {backup.stat().st_size:,} bytes, checked.\n"
    assert backup.stat().st_mode & 0o777 == 0o600
    assert _rows(backup) == _rows(database)
    backup.chmod(0o400)
    assert _rows(backup) == _rows(database)
    assert sorted(path.name for path in home.iterdir()) == [".cache", ".timmy", "grades.bak"]


def test_a_full_disk_leaves_no_part_of_a_backup(home: Path, database: Path, tmp_path: Path) -> None:
    assert database.exists()
    with SmallDisk(tmp_path / "disk", megabytes=1) as disk:
        disk.fill()
        target = disk.folder / "grades.bak"

        ended = run_command(home, "backup", "create", target)

        left = [path.name for path in disk.folder.iterdir()]
    assert ended.returncode == 2
    assert ended.stderr == f"grader-daemon: {target}: the disk is full; the incomplete file was removed\n"
    assert left == ["ballast"]


# -- restore -----------------------------------------------------------------------------------------------------------


def test_a_restored_backup_is_what_was_backed_up_and_the_daemon_grades_the_rest(
    start_daemon: StartDaemon, database: Path, home: Path, sessions: Path
) -> None:
    before = _rows(database)
    back_up(database, home / "grades.bak")
    write(sessions, "later")
    assert run_command(home, "grade", sessions).returncode == 0

    restored = run_command(home, "backup", "restore", "grades.bak")

    assert restored.returncode == 0, restored.stderr
    assert "3 grades" in restored.stdout
    assert _rows(database) == before
    kept = _the_kept(database)
    assert len(_rows(kept)) == 4
    assert str(kept) in restored.stdout
    assert database.stat().st_mode & 0o777 == kept.stat().st_mode & 0o777 == 0o600
    daemon = start_daemon()
    daemon.wait_for_grade("later")
    assert integrity(database) == "ok"


def test_the_log_of_a_killed_daemon_never_comes_into_the_restored_database(
    start_daemon: StartDaemon, home: Path, sessions: Path, tmp_path: Path
) -> None:
    make_database(home / DATABASE, sessions=300)
    back_up(home / DATABASE, tmp_path / "grades.bak")
    backed_up = _rows(tmp_path / "grades.bak")
    daemon = start_daemon()
    write_many(sessions, 300)
    daemon.wait_for_count(600)
    daemon.kill()
    log = Path(f"{home / DATABASE}-wal")
    assert log.stat().st_size > 0

    restored = run_command(home, "backup", "restore", tmp_path / "grades.bak")

    assert restored.returncode == 0, restored.stderr
    assert not log.exists()
    assert _rows(home / DATABASE) == backed_up
    assert integrity(home / DATABASE) == "ok"
    kept = _the_kept(home / DATABASE)
    assert len(_rows(kept)) == 600
    assert integrity(kept) == "ok"


def test_restore_is_refused_while_a_daemon_runs(start_daemon: StartDaemon, home: Path, database: Path) -> None:
    back_up(database, home / "grades.bak")
    daemon = start_daemon()
    daemon.wait_for_event("service.started")

    refused = run_command(home, "backup", "restore", "grades.bak")

    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert f"pid {daemon.pid}" in refused.stderr
    assert list(database.parent.glob(_KEPT)) == []


def test_restore_is_refused_while_any_program_has_the_database_open(home: Path, database: Path) -> None:
    back_up(database, home / "grades.bak")
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)) as reader:
        reader.execute("SELECT * FROM session_grades").fetchall()
        refused = run_command(home, "backup", "restore", "grades.bak")
        still = reader.execute("SELECT count(*) FROM session_grades").get

    assert refused.returncode == 2
    assert "a program is using it; stop that program and try again" in refused.stderr
    assert f"(pid {os.getpid()})" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert still == 3
    assert list(database.parent.glob(_KEPT)) == []
    assert list(database.parent.glob(".*")) == []


def _checked(backup: Path) -> int:
    """The grades of a backup that is whole and agrees with itself."""
    assert integrity(backup) == "ok"
    half = "SELECT 1 FROM session_files AS f WHERE state = 'graded' AND NOT EXISTS"
    assert query(backup, f"{half} (SELECT 1 FROM session_grades AS g WHERE g.session_id = f.session_id)") == []
    return len(_rows(backup))


def _rows(database: Path) -> list[Row]:
    return query(database, "SELECT * FROM session_grades ORDER BY id")


def _the_kept(database: Path) -> Path:
    kept = [path for path in database.parent.glob(_KEPT) if not path.name.endswith(("-wal", "-shm"))]
    assert len(kept) == 1
    return kept[0]
