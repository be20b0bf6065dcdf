"""A database that is locked, taken away, replaced or damaged while an agent is at work, or before the daemon starts."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic

import apsw
import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import BUSY_MILLISECONDS, DATABASE, DaemonProcess, query, run_command
from tests.e2e.faults.bearing import borne, refusal
from tests.e2e.faults.load import Load, assert_nothing_lost_or_twice, harmless, integrity
from tests.e2e.session_files import failing, write, write_many
from tests.waiting import wait_until

_LOCKED_SECONDS = 60 if os.environ.get("GRADER_LONG_TESTS") else 8
_BESIDE_SECONDS = 30 if os.environ.get("GRADER_LONG_TESTS") else 5
_BORNE_SECONDS = 3.0
"""A lock that is held no longer is borne in silence; after five seconds the daemon says that it waits."""

_BETWEEN_SECONDS = 0.001
_MANY = 100
_PAGE_BYTES = 4096
_SOUND_SQLITE = (3, 51, 3)
"""The first in which two connections that write and checkpoint at the same moment cannot damage a database."""

_GARBAGE = bytes(range(1, 256)) * 33
_REPAIR = "doctor --repair"
Change = Callable[[Path, Path], object]


def _started(start_daemon: StartDaemon) -> DaemonProcess:
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")
    return daemon


# -- locked ------------------------------------------------------------------------------------------------------------


@contextmanager
def _locked(database: Path) -> Iterator[None]:
    """Another program is about to write."""
    with closing(apsw.Connection(str(database))) as other:
        other.set_busy_timeout(BUSY_MILLISECONDS)
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.thorough
def test_a_database_that_is_locked_for_long_is_waited_for(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = _started(start_daemon)

    with harmless(daemon, sessions), borne(daemon):
        with _locked(daemon.database):
            before = daemon.grade_count()
            threading.Event().wait(_LOCKED_SECONDS)
            assert daemon.grade_count() == before
        wait_until(lambda: daemon.grade_count() > before, "grading to go on")


@pytest.mark.thorough
def test_a_database_that_is_locked_again_and_again_is_waited_for(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = _started(start_daemon)

    locked_seconds = []
    with harmless(daemon, sessions) as load, borne(daemon) as burden:
        for _ in range(20):
            with _locked(daemon.database):
                began = monotonic()
                load.wait_for_more(4)
            locked_seconds.append(monotonic() - began)

    assert burden.troubles == [] or max(locked_seconds) > _BORNE_SECONDS


# -- taken away or replaced --------------------------------------------------------------------------------------------


def _delete_file(database: Path, _: Path) -> None:
    database.unlink()


def _delete_folder(database: Path, _: Path) -> None:
    shutil.rmtree(database.parent)


def _move_folder(database: Path, aside: Path) -> None:
    os.replace(database.parent, aside.parent)


def _replace_by_copy(database: Path, aside: Path) -> None:
    os.replace(aside, database)


def _replace_by_empty_file(database: Path, aside: Path) -> None:
    aside.write_bytes(b"")
    os.replace(aside, database)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_delete_file, id="file-deleted"),
        pytest.param(_delete_folder, id="folder-deleted", marks=pytest.mark.thorough),
        pytest.param(_move_folder, id="folder-moved"),
        pytest.param(_replace_by_copy, id="older-copy", marks=pytest.mark.thorough),
        pytest.param(_replace_by_empty_file, id="empty-file", marks=pytest.mark.thorough),
    ],
)
def test_a_database_that_is_replaced_is_begun_anew(
    start_daemon: StartDaemon, sessions: Path, tmp_path: Path, change: Change
) -> None:
    daemon = _started(start_daemon)
    aside = tmp_path / "aside" / daemon.database.name
    aside.parent.mkdir()

    with harmless(daemon, sessions) as load:
        _copy(daemon.database, aside)
        write_many(sessions / "many", _MANY)
        daemon.wait_for_count(_MANY)
        _checkpoint(daemon.database)
        load.wait_for_more()
        if change is _move_folder:
            shutil.rmtree(aside.parent)
        with borne(daemon):
            change(daemon.database, aside)
            write(sessions, "late")
            daemon.wait_for_event("store.replaced", database=str(daemon.database))
            wait_until(lambda: len(daemon.events("service.started")) == 2, "a new start")
            load.wait_for_more()

    assert len(daemon.events("store.replaced")) == 1
    assert query(aside, "SELECT 1 FROM session_grades WHERE session_id = 'late'") == []
    assert daemon.database.stat().st_mode & 0o777 == 0o600
    assert daemon.database.parent.stat().st_mode & 0o777 == 0o700
    assert daemon.stop()[0] == 0
    assert integrity(daemon.database) == "ok"


@pytest.mark.parametrize("ending", [pytest.param("-wal", marks=pytest.mark.thorough), "-shm"])
def test_a_database_that_loses_a_file_beside_it_is_opened_again(
    start_daemon: StartDaemon, sessions: Path, ending: str
) -> None:
    """Else the daemon and other programs would work on it without seeing each other."""
    daemon = _started(start_daemon)

    with harmless(daemon, sessions) as load:
        with borne(daemon):
            daemon.database.with_name(daemon.database.name + ending).unlink()
            wait_until(lambda: len(daemon.events("service.started")) == 2, "a new start")
            load.wait_for_more()
        assert run_command(daemon.home, "grade", write(sessions, "beside")).returncode == 0

    assert daemon.stop()[0] == 0
    assert integrity(daemon.database) == "ok"


def test_a_home_that_is_moved_away_and_back_is_taken_up_again(
    start_daemon: StartDaemon, sessions: Path, tmp_path: Path
) -> None:
    """Nothing is begun anew where the home was: it may come back."""
    daemon = _started(start_daemon)
    home = daemon.database.parent.parent
    write(sessions, "before")
    daemon.wait_for_grade("before")

    with borne(daemon):
        os.replace(home, tmp_path / "away")
        daemon.wait_for_event("store.replaced")
        write(tmp_path / "away" / sessions.relative_to(home), "meanwhile")
        assert not home.exists()
        os.replace(tmp_path / "away", home)
        write(sessions, "after")
        daemon.wait_for_grade("meanwhile")
        daemon.wait_for_grade("after")

    assert len(daemon.events("service.started")) == 1
    assert_nothing_lost_or_twice(daemon.database, sessions)


# -- damaged -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with many grades."""
    home = tmp_path_factory.mktemp("graded")
    write_many(home / ".timmy" / "sessions", _MANY, messages=failing(3))
    assert run_command(home, "grade", home / ".timmy").returncode == 0
    return home / DATABASE


def _damage_header(database: Path) -> None:
    _overwrite(database, _GARBAGE[:100], at=0)


def _damage_page(database: Path) -> None:
    """In the middle of the table of grades."""
    found = query(database, "SELECT rootpage FROM sqlite_master WHERE name = 'session_grades'")
    _overwrite(database, _GARBAGE[:_PAGE_BYTES], at=(found[0]["rootpage"] - 1) * _PAGE_BYTES)


def _truncate(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 2 // _PAGE_BYTES * _PAGE_BYTES)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(_damage_header, id="header"),
        pytest.param(_damage_page, id="page", marks=pytest.mark.thorough),
        pytest.param(_truncate, id="truncated"),
    ],
)
def test_a_damaged_database_is_refused_and_kept(home: Path, graded: Path, damage: Callable[[Path], None]) -> None:
    database = home / DATABASE
    database.parent.mkdir(parents=True)
    shutil.copy(graded, database)
    damage(database)
    damaged = database.read_bytes()

    line = refusal(home)

    assert f"database {database}" in line
    assert _REPAIR in line
    assert database.read_bytes() == damaged


def test_a_file_that_is_no_database_is_refused_and_kept(home: Path) -> None:
    database = home / DATABASE
    database.parent.mkdir(parents=True)
    database.write_text("These are my notes.\n" * 500)

    line = refusal(home)

    assert f"database {database}: not a database but another file; check db_path" in line
    assert database.read_text() == "These are my notes.\n" * 500


def test_damage_under_a_running_daemon_is_told_once_and_kept(start_daemon: StartDaemon, sessions: Path) -> None:
    write_many(sessions, _MANY)
    daemon = _started(start_daemon)
    daemon.wait_for_count(_MANY)
    _write_beside(daemon.database)
    _checkpoint(daemon.database)
    identity = daemon.database.stat().st_ino

    with borne(daemon) as burden:
        _damage_page(daemon.database)
        write_many(sessions, _MANY, messages=failing(3))
        told = daemon.wait_for_event("intake.paused")
        with Load(sessions) as load:
            load.wait_for_more(_MANY)

    assert _REPAIR in told["error"]
    assert len(burden.troubles) == 1
    assert len(daemon.events("service.started")) == 1
    assert daemon.stop()[0] == 0
    assert daemon.database.stat().st_ino == identity


# -- of another version ------------------------------------------------------------------------------------------------


def test_a_database_of_a_later_version_is_refused_and_kept(home: Path, sessions: Path) -> None:
    assert run_command(home, "grade", write(sessions, "first")).returncode == 0
    database = home / DATABASE
    with closing(apsw.Connection(str(database))) as other:
        other.execute("INSERT INTO schema_migrations VALUES (9999, 'of the future', '2030-01-01 00:00:00+00:00')")
    before = database.read_bytes()

    line = refusal(home)

    assert "schema 9999 is newer" in line
    assert "update grader-daemon" in line
    assert database.read_bytes() == before


# -- many that write ---------------------------------------------------------------------------------------------------


def test_commands_that_write_beside_the_daemon_harm_nothing(
    start_daemon: StartDaemon, sessions: Path, tmp_path: Path
) -> None:
    daemon = _started(start_daemon)
    home, end = daemon.home, monotonic() + _BESIDE_SECONDS
    write(sessions, "failing", failing(3))
    daemon.wait_for_grade("failing")
    (issue,) = json.loads(run_command(home, "report", "errors", "list", "--json").stdout)["issues"]
    backup = tmp_path / "backup.db"

    def resolve_and_reopen() -> None:
        while monotonic() < end:
            assert run_command(home, "report", "errors", "resolve", issue["fingerprint"]).returncode == 0
            assert run_command(home, "report", "errors", "reopen", issue["fingerprint"]).returncode == 0

    def back_up() -> None:
        while monotonic() < end:
            assert run_command(home, "backup", "create", backup).returncode == 0
            assert integrity(backup) == "ok"

    with harmless(daemon, sessions), ThreadPoolExecutor() as others:
        for running in [
            others.submit(resolve_and_reopen),
            others.submit(back_up),
            others.submit(_write_until, end, daemon),
        ]:
            running.result()

    assert daemon.troubles() == []


def _write_until(end: float, daemon: DaemonProcess) -> None:
    """Write and checkpoint hundreds of times a second; without any pause, SQLite would let nobody else have a turn."""
    with closing(apsw.Connection(str(daemon.database))) as other:
        other.set_busy_timeout(BUSY_MILLISECONDS)
        other.execute("CREATE TABLE of_another_program (content)")
        pause = threading.Event()
        while monotonic() < end:
            other.execute("INSERT INTO of_another_program VALUES (randomblob(20000))")
            other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            pause.wait(_BETWEEN_SECONDS)


def test_the_sqlite_in_use_cannot_damage_a_database_by_itself(start_daemon: StartDaemon) -> None:
    daemon = _started(start_daemon)
    loaded = Path(f"/proc/{daemon.pid}/maps").read_text("utf-8")
    assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= _SOUND_SQLITE
    assert "/apsw/" in loaded
    assert "libsqlite3" not in loaded


def _copy(database: Path, copy: Path) -> None:
    with closing(apsw.Connection(str(database))) as source:
        source.execute("VACUUM INTO ?", (str(copy),))


def _checkpoint(database: Path) -> None:
    """Bring all that is in SQLite's log into the database itself."""
    with closing(apsw.Connection(str(database))) as other:
        other.set_busy_timeout(BUSY_MILLISECONDS)
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").get == (0, 0, 0)


def _write_beside(database: Path) -> None:
    """What another program writes makes SQLite forget its copies of the pages."""
    with closing(apsw.Connection(str(database))) as other:
        other.set_busy_timeout(BUSY_MILLISECONDS)
        other.execute("CREATE TABLE of_another_program (content)")


def _overwrite(path: Path, content: bytes, *, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)
