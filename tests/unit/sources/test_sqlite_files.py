"""Looks at databases that another process writes: nothing but what it committed, and nothing of it disturbed."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader_daemon.errors import ChangingFileError, ReadError, VanishedFileError
from grader_daemon.sources import sqlite_files
from grader_daemon.sources.sqlite_files import Reader, database_stamp, look_into
from tests.database_writer import DatabaseWriter


def rows_of(reader: Reader) -> list[object]:
    return [row[0] for row in reader.rows("SELECT text FROM notes ORDER BY id LIMIT 100")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "a home? #1 %41"
    folder.mkdir()
    return folder / "state.db"


@pytest.fixture
def writer(path: Path) -> Iterator[DatabaseWriter]:
    with DatabaseWriter(path) as writer:
        writer.run("PRAGMA journal_mode = WAL")
        writer.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        writer.run("INSERT INTO notes (text) VALUES ('one')")
        yield writer


def beside(path: Path) -> dict[str, tuple[int, bytes]]:
    """Return what lies in the folder; of the index of the log only that it is there: readers note themselves in it."""
    return {
        entry.name: (0, b"") if entry.name.endswith("-shm") else (entry.stat().st_ino, Path(entry.path).read_bytes())
        for entry in os.scandir(path.parent)
    }


def look(path: Path) -> list[object]:
    return look_into(str(path), rows_of)


def test_what_stands_only_in_the_log_is_read(path: Path, writer: DatabaseWriter) -> None:
    assert look(path) == ["one"]
    writer.run("INSERT INTO notes (text) VALUES ('two')")
    assert look(path) == ["one", "two"]


@pytest.mark.parametrize("end", ["runs", "closed", "killed"])
def test_nothing_beside_it_appears_or_goes_away(path: Path, writer: DatabaseWriter, end: str) -> None:
    if end == "closed":
        writer.close()
    if end == "killed":
        writer.kill()
    before = beside(path)
    assert look(path) == ["one"]
    assert beside(path) == before


@pytest.mark.usefixtures("writer")
def test_a_log_without_its_index_is_read_and_stays_alone(path: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied" / "state.db"
    copied.parent.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copied}{suffix}")
    before = beside(copied)
    assert look(copied) == ["one"]
    assert beside(copied) == before


def test_a_writer_that_closes_meanwhile_does_not_take_the_log_from_a_reader(path: Path, writer: DatabaseWriter) -> None:
    def close_and_read(reader: Reader) -> list[object]:
        writer.close()
        return rows_of(reader)

    assert look_into(str(path), close_and_read) == ["one"]
    assert sorted(beside(path)) == ["state.db", "state.db-shm", "state.db-wal"]


def test_a_file_without_a_log_to_which_one_is_begun_is_read_again(path: Path, writer: DatabaseWriter) -> None:
    writer.close()
    tries: list[int] = []
    others: list[DatabaseWriter] = []

    def read_while_another_begins(reader: Reader) -> list[object]:
        tries.append(1)
        if len(tries) == 1:
            others.append(DatabaseWriter(path))
            others[0].run("INSERT INTO notes (text) VALUES ('two')")
        return rows_of(reader)

    assert look_into(str(path), read_while_another_begins) == ["one", "two"]
    assert len(tries) == 2
    others[0].close()


def test_one_that_changes_at_every_try_is_said_to_be_written_to(path: Path, writer: DatabaseWriter) -> None:
    writer.close()

    def read_while_it_changes(reader: Reader) -> list[object]:
        os.utime(path)
        return rows_of(reader)

    with pytest.raises(ChangingFileError, match="written to"):
        look_into(str(path), read_while_it_changes)


def test_a_writer_commits_while_a_reader_looks(path: Path, writer: DatabaseWriter) -> None:
    def write_meanwhile(reader: Reader) -> list[object]:
        before = rows_of(reader)
        writer.run("INSERT INTO notes (text) VALUES ('two')")
        return before + rows_of(reader)

    assert look_into(str(path), write_meanwhile) == ["one", "one", "two"]


def test_a_writer_waits_for_none_of_those_who_look_again_and_again(path: Path, writer: DatabaseWriter) -> None:
    done = threading.Event()

    def look_on() -> None:
        while not done.is_set():
            look(path)

    readers = [threading.Thread(target=look_on) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for number in range(100):
            writer.run("INSERT INTO notes (text) VALUES (?)", str(number))
    finally:
        done.set()
        for reader in readers:
            reader.join()

    assert writer.longest_wait_seconds < 0.05


@pytest.mark.parametrize("mode", ["DELETE", "TRUNCATE", "PERSIST"])
def test_without_a_log_a_commit_waits_for_no_statement(path: Path, writer: DatabaseWriter, mode: str) -> None:
    writer.run(f"PRAGMA journal_mode = {mode}")
    before = sorted(beside(path))

    def write_meanwhile(reader: Reader) -> list[object]:
        seen = rows_of(reader)
        writer.run("INSERT INTO notes (text) VALUES ('two')")
        return seen

    assert look_into(str(path), write_meanwhile) == ["one"]
    assert look(path) == ["one", "two"]
    assert sorted(beside(path)) in (before, [*before, "state.db-journal"])


def test_a_transaction_that_is_not_committed_is_not_seen(path: Path, writer: DatabaseWriter) -> None:
    writer.run("BEGIN IMMEDIATE")
    writer.run("INSERT INTO notes (text) VALUES ('two')")
    assert look(path) == ["one"]
    writer.run("COMMIT")
    assert look(path) == ["one", "two"]


@pytest.mark.usefixtures("writer")
def test_two_threads_take_turns_and_lose_no_lock(path: Path) -> None:
    seen: list[list[object]] = []
    threads = [threading.Thread(target=lambda: seen.extend(look(path) for _ in range(20))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["one"]] * 60


def test_what_is_no_database_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with pytest.raises(VanishedFileError):
        look(path)
    path.write_bytes(b"")
    with pytest.raises(ChangingFileError):
        look(path)
    path.write_bytes(b"{}")
    with pytest.raises(ReadError, match="not a SQLite database"):
        look(path)
    path.write_bytes(b"SQLite format 3\0" + bytes(4080))
    with pytest.raises(ReadError, match="unknown structure"):
        look(path)
    assert os.listdir(tmp_path) == ["state.db"]


@pytest.mark.usefixtures("writer")
def test_no_link_is_followed(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "state.db"
    link.symlink_to(path)
    with pytest.raises(ReadError, match="symbolic link"):
        look(link)
    inner = tmp_path / "root" / "inner"
    inner.parent.mkdir()
    inner.symlink_to(path.parent)
    with pytest.raises(ReadError):
        look_into(str(inner / "state.db"), rows_of, roots=[str(inner.parent)])
    assert look_into(str(inner / "state.db"), rows_of, roots=[str(inner)]) == ["one"]


def test_a_folder_that_may_not_be_written_to_is_read(path: Path, writer: DatabaseWriter) -> None:
    writer.close()
    path.parent.chmod(0o555)
    try:
        assert look(path) == ["one"]
        assert [entry.name for entry in path.parent.iterdir()] == ["state.db"]
    finally:
        path.parent.chmod(0o755)


def test_a_statement_without_an_end_is_given_up(
    path: Path, writer: DatabaseWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.sources.sqlite_files._LONGEST_SECONDS", 0.05)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    writer.run(f"CREATE VIEW endless AS {endless}")
    with pytest.raises(ReadError, match="takes longer"):
        look_into(str(path), lambda reader: reader.rows("SELECT * FROM endless"))


@pytest.mark.usefixtures("writer")
def test_columns_of_a_table_and_of_none(path: Path) -> None:
    assert look_into(str(path), lambda reader: reader.columns("notes")) == {"id", "text"}
    assert look_into(str(path), lambda reader: reader.columns("letters")) == frozenset()


def test_values_that_are_computed_are_no_columns(path: Path, writer: DatabaseWriter) -> None:
    """Of a small file a reader would be given any number of any size."""
    huge = "printf('%.200000000c', 'x')"
    writer.run(f"CREATE TABLE made (id, text GENERATED ALWAYS AS ({huge}) VIRTUAL)")
    writer.run(f"CREATE VIEW seen AS SELECT id, {huge} AS text FROM notes")
    columns = look_into(str(path), lambda reader: [reader.columns(name) for name in ("made", "seen")])

    assert columns == [{"id"}, frozenset()]


def test_the_stamp_differs_after_each_commit(path: Path, writer: DatabaseWriter) -> None:
    stamps = {database_stamp(str(path))}
    for number in range(3):
        writer.run("INSERT INTO notes (text) VALUES (?)", number)
        stamps.add(database_stamp(str(path)))
    assert len(stamps) == 4
    look(path)
    assert database_stamp(str(path)) in stamps


def test_a_database_that_cannot_be_kept_still_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "no such lock")

    monkeypatch.setattr(sqlite_files, "lock_for_reading", refuse)

    with (
        (tmp_path / "a").open("wb") as file,
        pytest.raises(ReadError, match=r"cannot be locked for reading: .*no such lock"),
    ):
        sqlite_files._hold_still(file.fileno())
