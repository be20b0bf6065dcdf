"""The database of a grader: when it is opened, and for what."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.errors import InputError, NoDatabaseError, StoreError
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.earlier import add_migration
from tests.units import unit


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(db_path=tmp_path / "grades.db")


def test_without_a_database_nothing_is_made_of_a_question(settings: Settings) -> None:
    context = GraderContext(settings)

    assert not context.has_database
    with pytest.raises(NoDatabaseError, match="nothing was graded yet"):
        _ = context.store
    with pytest.raises(NoDatabaseError):
        _ = context.writable
    assert not settings.db_path.exists()


def test_a_database_in_a_folder_that_is_closed_is_there_and_cannot_be_read(
    settings: Settings, without_rights: Callable[[], AbstractContextManager[None]]
) -> None:
    SqliteStore(settings.db_path).close()
    settings.db_path.parent.chmod(0)
    context = GraderContext(settings)

    with without_rights():
        assert context.has_database
        with pytest.raises(StoreError) as refused:
            _ = context.store
    settings.db_path.parent.chmod(0o700)

    assert str(refused.value) == (
        f"database {settings.db_path}: cannot be read: permission denied; check the mode of its folder"
    )


def test_a_database_that_may_not_be_read_is_told_with_its_mode(
    settings: Settings, without_rights: Callable[[], AbstractContextManager[None]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "grades.db"
        SqliteStore(path).close()
        path.chmod(0)
        Path(folder).chmod(0o755)
        context = GraderContext(settings.model_copy(update={"db_path": path}))
        with without_rights():
            assert context.has_database
            with pytest.raises(StoreError, match=r"no permission to read it \(mode 0000\); run this as its owner"):
                _ = context.store


def _as_a_file_alone(path: Path) -> apsw.Connection:
    path.touch()
    return apsw.Connection(str(path))


def _as_one_page(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    return connection


def _with_tables_that_nobody_else_sees(path: Path) -> apsw.Connection:
    connection = _as_one_page(path)
    connection.execute("BEGIN IMMEDIATE; CREATE TABLE session_grades (a TEXT)")
    return connection


@pytest.mark.parametrize("begin", [_as_a_file_alone, _as_one_page, _with_tables_that_nobody_else_sees])
def test_a_database_that_another_program_begins_to_make_is_none_yet(
    begin: Callable[[Path], apsw.Connection], settings: Settings
) -> None:
    with closing(begin(settings.db_path)), closing(GraderContext(settings)) as context:
        assert not context.has_database
        with pytest.raises(NoDatabaseError, match="nothing was graded yet"):
            _ = context.store


def test_a_database_whose_tables_are_all_in_its_log_is_one(settings: Settings) -> None:
    with closing(_with_tables_that_nobody_else_sees(settings.db_path)) as connection:
        connection.execute("COMMIT")
        assert settings.db_path.stat().st_size <= 4096
        assert GraderContext(settings).has_database


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + bytes(4000)])
def test_a_file_that_is_no_database_is_told_as_one_that_cannot_be_read(settings: Settings, content: bytes) -> None:
    settings.db_path.write_bytes(content)

    with closing(GraderContext(settings)) as context:
        assert context.has_database
        with pytest.raises(StoreError):
            _ = context.store


def test_what_is_to_be_graded_makes_the_database(settings: Settings) -> None:
    with closing(GraderContext(settings)) as context:
        made = context.make_store()

        assert settings.db_path.exists()
        assert context.store is made
        assert context.writable is made


def test_what_only_reads_cannot_write(settings: Settings) -> None:
    SqliteStore(settings.db_path).close()

    with closing(GraderContext(settings)) as context, pytest.raises(StoreError), context.store.transaction():
        context.store.forget_units([unit("/s/x.json")])


def test_what_only_reads_leaves_the_version_of_a_database_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStore(settings.db_path).close()
    version = add_migration(monkeypatch)
    before = settings.db_path.read_bytes()

    with (
        closing(GraderContext(settings)) as context,
        pytest.raises(StoreError, match=rf"an earlier version .* \(schema {version}, "),
    ):
        context.store.file_counts()

    assert settings.db_path.read_bytes() == before


def test_threads_share_what_is_opened(settings: Settings) -> None:
    SqliteStore(settings.db_path).close()

    with closing(GraderContext(settings)) as context, ThreadPoolExecutor(8) as threads:
        opened = set(threads.map(lambda _: id(context.store), range(32)))

    assert len(opened) == 1


def test_a_store_that_is_given_stands_in_the_place_of_the_database(settings: Settings, store: SqliteStore) -> None:
    context = GraderContext(settings, store=store)

    assert context.has_database
    assert context.store is context.writable is store
    assert not settings.db_path.exists()


def test_what_is_closed_answers_nothing(settings: Settings) -> None:
    context = GraderContext(settings)
    context.make_store()
    context.close()
    context.close()

    with pytest.raises(InputError, match="this SelfGrader is closed"):
        _ = context.store
    with pytest.raises(InputError, match="this SelfGrader is closed"):
        context.make_store()
