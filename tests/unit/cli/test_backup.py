"""`backup create` and `backup restore` of files that are, and are not, what they should be."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from grader_daemon import bootstrap
from grader_daemon.storage.maintenance.inspection import Inspection
from tests.damage import make_database, middle_of
from tests.strategies import SESSION_GRADES, WEEKLY_REPORTS
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")


@pytest.fixture
def database(home: Path) -> Path:
    """A database with three grades."""
    make_database(home / DATABASE, sessions=3)
    return home / DATABASE


def rows(path: Path) -> list[Any]:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return connection.execute("SELECT * FROM session_grades ORDER BY id").fetchall()


def sql(path: Path, *statements: str) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_backup_replaces_an_older_one_and_nothing_else(run: Run, home: Path, database: Path) -> None:
    assert run(home, "backup", "create", "grades.bak").returncode == 0
    database.unlink()
    make_database(database, sessions=4)
    (home / "notes.txt").write_text("mine")
    shutil.copy(database, home / "copy.db")

    again = run(home, "backup", "create", "grades.bak")
    refused = [run(home, "backup", "create", target) for target in ("notes.txt", "copy.db", ".timmy", "none/x.db")]

    assert again.returncode == 0
    assert len(rows(home / "grades.bak")) == 4
    assert [(ended.returncode, ended.stdout, ended.stderr.count("\n")) for ended in refused] == [(2, "", 1)] * 4
    assert (home / "notes.txt").read_text() == "mine"


def test_a_backup_is_named_create_or_restore(run: Run, home: Path, database: Path) -> None:
    before = rows(database)

    alone, unnamed = run(home, "backup"), run(home, "backup", "grades.bak")

    assert (alone.returncode, alone.stdout.partition(" [")[0]) == (0, "Usage: grader-daemon backup")
    assert unnamed.stderr == "grader-daemon: there is no command 'grades.bak'; see 'grader-daemon backup --help'\n"
    assert (rows(database), (home / "grades.bak").exists()) == (before, False)


def test_a_link_in_the_place_of_a_backup_is_replaced_and_not_followed(run: Run, home: Path, database: Path) -> None:
    (home / "notes.txt").write_text("mine")
    (home / "to_notes").symlink_to("notes.txt")
    (home / "to_database").symlink_to(database)
    before = rows(database)

    for name in ("to_notes", "to_database"):
        assert run(home, "backup", "create", name).returncode == 0

    assert (home / "notes.txt").read_text() == "mine"
    assert rows(database) == before
    assert not (home / "to_notes").is_symlink()
    assert len(rows(home / "to_database")) == 3


def test_restore_refuses_what_is_no_sound_backup_of_ours(
    run: Run, home: Path, database: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("backups")
    damaged, newer, foreign, text = (folder / name for name in ("damaged", "newer", "foreign", "text"))
    make_database(damaged, sessions=200)
    middle_of(damaged)
    sql(newer, "CREATE TABLE session_grades (id)", "CREATE TABLE schema_migrations (version)")
    sql(newer, "INSERT INTO schema_migrations VALUES (9999)")
    sql(foreign, "CREATE TABLE cookies (id)")
    text.write_text("no database")
    before = rows(database)

    ended = {
        path: run(home, "backup", "restore", str(path))
        for path in (damaged, newer, foreign, text, database, folder, folder / "none")
    }

    assert {(each.returncode, each.stdout, each.stderr.count("\n")) for each in ended.values()} == {(2, "", 1)}
    assert "9999" in ended[newer].stderr
    assert ended[folder].stderr == f"grader-daemon: {folder}: is a folder; name a file\n"
    assert rows(database) == before
    assert [path.name for path in database.parent.iterdir() if "before" in path.name or path.name[0] == "."] == []


def test_a_log_without_a_database_never_comes_into_the_restored_one(run: Run, home: Path, database: Path) -> None:
    assert run(home, "backup", "create", "grades.bak").returncode == 0
    before = rows(database)
    for suffix in ("-wal", "-journal"):
        shutil.copy(database, f"{database}{suffix}")
    database.unlink()

    restored = run(home, "backup", "restore", "grades.bak")

    assert restored.returncode == 0, restored.stderr
    assert rows(database) == before
    with Inspection(database) as inspection:
        assert inspection.damage() == []


def test_restore_makes_a_private_database_where_there_was_none(run: Run, home: Path, database: Path) -> None:
    assert run(home, "backup", "create", "grades.bak").returncode == 0
    before = rows(database)
    shutil.rmtree(database.parent)

    restored = run(home, "backup", "restore", "grades.bak")

    assert restored.stdout.startswith(f"{database}: 3 grades again.\n")
    assert "kept" not in restored.stdout
    assert rows(database) == before
    assert database.stat().st_mode & 0o777 == 0o600
    assert database.parent.stat().st_mode & 0o777 == 0o700


def test_a_database_of_the_original_program_is_taken_and_brought_up_to_date(run: Run, home: Path) -> None:
    sql(home / "old.db", SESSION_GRADES, WEEKLY_REPORTS)

    restored = run(home, "backup", "restore", "old.db")

    assert restored.returncode == 0, restored.stderr
    with Inspection(home / DATABASE) as inspection:
        assert inspection.schema()
        assert inspection.foreign_tables() == []


@pytest.mark.usefixtures("database")
def test_only_the_newest_backups_of_a_folder_stay(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "backups"
    folder.mkdir()
    for name in ("grades-notes.db", "grades-20261122T120000Z.db.txt", "mine.db"):
        (folder / name).write_text("mine")
    for hour in range(4):
        monkeypatch.setattr(bootstrap, "utc_now", lambda hour=hour: datetime(2026, 11, 22, hour, tzinfo=UTC))
        ended = run(home, "backup", "create", "backups", "--keep", "2", "--json")
        assert (ended.returncode, ended.stderr) == (0, "")
        assert json.loads(ended.stdout)["grades"] == 3

    assert sorted(path.name for path in folder.iterdir()) == [
        "grades-20261122T020000Z.db",
        "grades-20261122T030000Z.db",
        "grades-20261122T120000Z.db.txt",
        "grades-notes.db",
        "mine.db",
    ]


@pytest.mark.usefixtures("database")
def test_backups_are_kept_in_folders_only(run: Run, home: Path) -> None:
    ended = run(home, "backup", "create", "nowhere", "--keep", "2")
    assert (ended.returncode, ended.stderr) == (2, f"grader-daemon: {home}/nowhere: no such folder\n")
