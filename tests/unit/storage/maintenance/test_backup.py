from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.errors import InputError, StoreError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.maintenance.backup import BACKUP_MARK, back_up, restore
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.damage import DAMAGES, make_database
from tests.earlier import add_migration
from tests.strategies import NOW, grade, new_grade


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with some grades, in a folder of its own."""
    path = tmp_path / "grades" / "grades.db"
    make_database(path, sessions=40)
    return path


def mark_of(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[68:72])


def test_only_backups_are_marked(database: Path, tmp_path: Path) -> None:
    back_up(database, tmp_path / "bak")

    restore(tmp_path / "bak", database, now=NOW)

    assert (mark_of(tmp_path / "bak"), mark_of(database)) == (BACKUP_MARK, 0)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", ".lock", ".reading"])
@pytest.mark.parametrize("way", ["as it is", "by a link to its folder"])
def test_the_database_and_its_companions_are_no_place_for_a_backup(
    database: Path, tmp_path: Path, suffix: str, way: str
) -> None:
    folder = tmp_path / "link"
    folder.symlink_to(database.parent)
    target = (database.parent if way == "as it is" else folder) / f"{database.name}{suffix}"
    before = database.read_bytes()

    with pytest.raises(InputError, match="belongs to the database itself"):
        back_up(database, target)

    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_a_second_name_of_the_database_is_no_place_for_a_backup(database: Path, tmp_path: Path) -> None:
    (tmp_path / "second").hardlink_to(database)

    with pytest.raises(InputError):
        back_up(database, tmp_path / "second")


@pytest.mark.parametrize("content", [b"", b"notes", b"SQLite format 3\0", bytes(200)], ids=len)
def test_what_is_no_backup_is_not_replaced(database: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine").write_bytes(content)

    with pytest.raises(InputError, match="is not a backup of grader-daemon"):
        back_up(database, tmp_path / "mine")

    assert (tmp_path / "mine").read_bytes() == content


def test_a_device_is_no_place_for_a_backup(database: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for target in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(InputError):
            back_up(database, target)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_not_backed_up_and_leaves_nothing(database: Path, tmp_path: Path, damage: str) -> None:
    back_up(database, tmp_path / "bak")
    before = (tmp_path / "bak").read_bytes()
    DAMAGES[damage](database)

    with pytest.raises(StoreError):
        back_up(database, tmp_path / "bak")

    assert (tmp_path / "bak").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bak", "grades"]


def test_a_link_to_a_pipe_is_not_replaced(database: Path, tmp_path: Path) -> None:
    """As /dev/stdout is one, which root could replace."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")

    with pytest.raises(InputError, match="not a backup"):
        back_up(database, tmp_path / "link")

    assert (tmp_path / "link").is_symlink()


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="check that it exists"):
        back_up(tmp_path / "none.db", tmp_path / "bak")

    assert list(tmp_path.iterdir()) == []


def test_what_is_committed_while_pages_are_copied_is_not_half_in_the_backup(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader_daemon.storage.maintenance import backup as module

    monkeypatch.setattr(module, "_PAGES_A_STEP", 1)
    with closing(SqliteStore(database)) as store:
        written = iter(range(10_000))

        def write(*_: object) -> bool:
            with store.transaction():
                save_grades(store, [new_grade(grade(session_id=f"meanwhile{next(written)}"))])
            return False

        progress = _calling(write)
        monkeypatch.setattr(apsw, "Connection", progress)
        made = back_up(database, tmp_path / "bak")
        monkeypatch.undo()

    assert next(written) > 5
    assert made.grades == 40


def _calling(write: object) -> type[apsw.Connection]:
    """Connections whose backups let `write` happen before each step."""

    class Stepping:
        def __init__(self, backup: apsw.Backup) -> None:
            self._backup = backup

        def __enter__(self) -> Stepping:
            self._backup.__enter__()
            return self

        def __exit__(self, *details: object) -> None:
            self._backup.__exit__(*details)  # type: ignore[arg-type]

        @property
        def done(self) -> bool:
            return self._backup.done

        def step(self, pages: int) -> bool:
            write()  # type: ignore[operator]
            return self._backup.step(pages)

    class Connection(apsw.Connection):
        def backup(self, name: str, source: apsw.Connection, source_name: str) -> Stepping:  # type: ignore[override]
            return Stepping(super().backup(name, source, source_name))

    return Connection


def test_a_restore_into_its_own_folder_is_refused_for_the_database_itself(database: Path) -> None:
    with pytest.raises(InputError, match="is the database itself"):
        restore(database, database, now=NOW)


def test_the_log_of_an_empty_file_is_kept_when_a_backup_takes_its_place(database: Path, tmp_path: Path) -> None:
    back_up(database, tmp_path / "bak")
    DAMAGES["zero-length"](database)
    Path(f"{database}-wal").write_bytes(b"all that is left")

    restored = restore(tmp_path / "bak", database, now=NOW)

    assert restored.grades == 40
    assert Path(f"{restored.kept}-wal").read_bytes() == b"all that is left"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param(
            "CREATE TRIGGER t AFTER INSERT ON session_grades BEGIN DELETE FROM session_grades; END", "t", id="a-trigger"
        ),
        pytest.param(
            "ALTER TABLE weekly_reports RENAME TO w; CREATE VIEW weekly_reports AS WITH RECURSIVE r(n) AS"
            " (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS id FROM r",
            "weekly_reports",
            id="a-view-in-the-place-of-a-table",
        ),
        pytest.param("CREATE VIEW v AS SELECT 1", "v", id="a-view"),
        pytest.param("CREATE VIRTUAL TABLE f USING fts5(a)", "f", id="a-virtual-table"),
        pytest.param("CREATE INDEX i ON session_grades (abs(session_id))", "i", id="an-index-of-our-table"),
        pytest.param(
            "ALTER TABLE session_files ADD COLUMN x INTEGER CHECK (x > 0)", "session_files", id="a-table-changed"
        ),
        pytest.param("DROP TRIGGER feedback_is_kept", "feedback_is_kept", id="a-trigger-of-ours-gone"),
        pytest.param("PRAGMA user_version = 2147483647", "user_version", id="a-version-that-we-do-not-use"),
    ],
)
def test_a_backup_whose_schema_is_not_ours_is_refused(database: Path, tmp_path: Path, change: str, named: str) -> None:
    back_up(database, tmp_path / "bak")
    with closing(apsw.Connection(str(tmp_path / "bak"))) as connection:
        connection.execute(change)
    before = database.read_bytes()

    with pytest.raises(InputError, match=rf"its schema is not grader-daemon's \({named}\b"):
        restore(tmp_path / "bak", database, now=NOW)

    assert database.read_bytes() == before
    assert not list(database.parent.glob("*before-restore*"))


def test_tables_of_others_and_statistics_of_sqlite_are_restored_too(database: Path, tmp_path: Path) -> None:
    with closing(apsw.Connection(str(database))) as connection:
        connection.execute("CREATE TABLE mine (a TEXT); CREATE INDEX my_index ON mine (a); ANALYZE")
    back_up(database, tmp_path / "bak")

    assert restore(tmp_path / "bak", database, now=NOW).grades == 40


def test_a_backup_of_an_earlier_version_is_as_that_version_makes_it(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(database, tmp_path / "bak")
    add_migration(monkeypatch)

    assert restore(tmp_path / "bak", database, now=NOW).grades == 40


@pytest.mark.parametrize("damage", DAMAGES)
def test_of_a_damaged_backup_no_repair_of_the_database_is_proposed(database: Path, tmp_path: Path, damage: str) -> None:
    back_up(database, tmp_path / "bak")
    DAMAGES[damage](tmp_path / "bak")
    before = database.read_bytes()

    with pytest.raises((StoreError, InputError)) as caught:
        restore(tmp_path / "bak", database, now=NOW)

    assert "repair" not in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/bak: is ")
    assert database.read_bytes() == before


def test_whoever_meets_a_damaged_database_is_told_how_to_repair_that_one(database: Path) -> None:
    moved = database.rename(database.with_name("my grades.db"))
    DAMAGES["noise-in-the-header"](moved)

    command = rf"grader-daemon --db-path '{moved}'"
    with pytest.raises(StoreError, match=rf"{command} doctor --repair; .*{command} backup restore FILE$"):
        SqliteStore(moved).close()
