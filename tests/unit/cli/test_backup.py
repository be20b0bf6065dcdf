"""`backup` and `restore` of files that are, and are not, what they should be."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from grader_daemon.storage.inspection import Inspection
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
    assert run(home, "backup", "grades.bak").returncode == 0
    database.unlink()
    make_database(database, sessions=4)
    (home / "notes.txt").write_text("mine")
    shutil.copy(database, home / "copy.db")

    again = run(home, "backup", "grades.bak")
    refused = [run(home, "backup", target) for target in ("notes.txt", "copy.db", ".timmy", "none/x.db")]

    assert again.returncode == 0
    assert len(rows(home / "grades.bak")) == 4
    assert [(ended.returncode, ended.stdout, ended.stderr.count("\n")) for ended in refused] == [(2, "", 1)] * 4
    assert (home / "notes.txt").read_text() == "mine"


def test_a_link_in_the_place_of_a_backup_is_replaced_and_not_followed(run: Run, home: Path, database: Path) -> None:
    (home / "notes.txt").write_text("mine")
    (home / "to_notes").symlink_to("notes.txt")
    (home / "to_database").symlink_to(database)
    before = rows(database)

    for name in ("to_notes", "to_database"):
        assert run(home, "backup", name).returncode == 0

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
        path: run(home, "restore", str(path))
        for path in (damaged, newer, foreign, text, database, folder, folder / "none")
    }

    assert {(each.returncode, each.stdout, each.stderr.count("\n")) for each in ended.values()} == {(2, "", 1)}
    assert "9999" in ended[newer].stderr
    assert rows(database) == before
    assert [path.name for path in database.parent.iterdir() if "before" in path.name or path.name[0] == "."] == []


def test_a_log_without_a_database_never_comes_into_the_restored_one(run: Run, home: Path, database: Path) -> None:
    assert run(home, "backup", "grades.bak").returncode == 0
    before = rows(database)
    for suffix in ("-wal", "-journal"):
        shutil.copy(database, f"{database}{suffix}")
    database.unlink()

    restored = run(home, "restore", "grades.bak")

    assert restored.returncode == 0, restored.stderr
    assert rows(database) == before
    with Inspection(database) as inspection:
        assert inspection.damage() == []


def test_restore_makes_a_private_database_where_there_was_none(run: Run, home: Path, database: Path) -> None:
    assert run(home, "backup", "grades.bak").returncode == 0
    before = rows(database)
    shutil.rmtree(database.parent)

    restored = run(home, "restore", "grades.bak")

    assert restored.stdout.startswith(f"{database}: 3 grades again.\n")
    assert "kept" not in restored.stdout
    assert rows(database) == before
    assert database.stat().st_mode & 0o777 == 0o600
    assert database.parent.stat().st_mode & 0o777 == 0o700


def test_a_database_of_the_original_program_is_taken_and_brought_up_to_date(run: Run, home: Path) -> None:
    sql(home / "old.db", SESSION_GRADES, WEEKLY_REPORTS)

    restored = run(home, "restore", "old.db")

    assert restored.returncode == 0, restored.stderr
    with Inspection(home / DATABASE) as inspection:
        assert inspection.schema()
        assert inspection.foreign_tables() == []
