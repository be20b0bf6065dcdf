"""A disk that is full, fails or cannot be written to, while an agent is at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, STOP_SECONDS, DaemonProcess, run_command
from tests.e2e.faults.bearing import borne, refusal
from tests.e2e.faults.boxes import SmallDisk, failing_calls, without_privileges
from tests.e2e.faults.load import Load, assert_nothing_lost_or_twice, harmless, wait_until_caught_up
from tests.e2e.session_files import path_of, write
from tests.waiting import wait_until

_MANY = 40
_LONGEST_PAUSE_SECONDS = 15.0


@pytest.fixture
def disk(home: Path) -> Iterator[SmallDisk]:
    """A small disk for the database alone. Ask for it before `start_daemon`, so that it outlives the daemon."""
    with SmallDisk((home / DATABASE).parent) as made:
        yield made


@pytest.fixture
def disk_of_all(home: Path) -> Iterator[SmallDisk]:
    """A small disk for the whole home. The same holds for it."""
    with SmallDisk(home) as made:
        yield made


def _started(start_daemon: StartDaemon) -> DaemonProcess:
    daemon = start_daemon(retry_seconds=[0.5, 2])
    daemon.wait_for_event("reconcile.finished")
    return daemon


def _wait_for_pause(daemon: DaemonProcess, number: int = 1) -> None:
    wait_until(lambda: len(daemon.events("intake.paused")) == number, f"pause {number}")


def _wait_for_resumption(daemon: DaemonProcess, number: int = 1) -> None:
    wait_until(lambda: len(daemon.events("intake.resumed")) == number, f"resumption {number}")


# -- a full disk -------------------------------------------------------------------------------------------------------


def test_intake_waits_out_a_full_disk(disk: SmallDisk, start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = _started(start_daemon)

    with harmless(daemon, sessions) as load:
        with borne(daemon), disk.full():
            paused = daemon.wait_for_event("intake.paused")
            load.wait_for_more(_MANY)
        resumed = daemon.wait_for_event("intake.resumed")

    assert (paused["level"], resumed["level"]) == ("error", "notice")
    assert "the disk is full" in paused["error"]
    assert str(daemon.database) in paused["error"]
    assert paused["retry_seconds"] <= _LONGEST_PAUSE_SECONDS
    assert resumed["tries"] >= 1
    assert resumed["seconds"] > 0
    assert daemon.stop()[0] == 0


def test_each_full_disk_is_told(disk: SmallDisk, start_daemon: StartDaemon, sessions: Path) -> None:
    """Whoever reads only the last line must not think that all is well."""
    daemon = _started(start_daemon)
    with Load(sessions) as load:
        for number in (1, 2):
            load.wait_for_more()
            with disk.full():
                _wait_for_pause(daemon, number)
            _wait_for_resumption(daemon, number)


def test_a_full_disk_does_not_hold_up_the_end(disk: SmallDisk, start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = _started(start_daemon)
    with Load(sessions) as load:
        load.wait_for_more()
        with disk.full():
            _wait_for_pause(daemon)
            code, seconds = daemon.stop()
    assert (code, seconds < STOP_SECONDS) == (0, True)

    again = start_daemon()

    wait_until_caught_up(again, sessions)
    assert_nothing_lost_or_twice(again.database, sessions, versions=load.versions)


@pytest.mark.thorough
@pytest.mark.parametrize("is_new", [pytest.param(True, id="new-database"), pytest.param(False, id="old-database")])
def test_a_disk_that_is_full_at_the_start_is_waited_out(
    *, disk: SmallDisk, start_daemon: StartDaemon, home: Path, sessions: Path, is_new: bool
) -> None:
    write(sessions, "first")
    if not is_new:
        assert run_command(home, "grade", sessions).returncode == 0
        write(sessions, "second")
    with disk.full():
        daemon = start_daemon()
        paused = daemon.wait_for_event("intake.paused")
    assert f"database {home / DATABASE}: the disk is full" in paused["error"]
    daemon.wait_for_event("intake.resumed")

    wait_until_caught_up(daemon, sessions)
    assert_nothing_lost_or_twice(daemon.database, sessions)


def test_a_disk_that_fills_up_under_agent_and_daemon(
    disk_of_all: SmallDisk, start_daemon: StartDaemon, sessions: Path
) -> None:
    """Only what the agent could write counts."""
    daemon = _started(start_daemon)
    with Load(sessions) as load:
        load.wait_for_more()
        with borne(daemon) as burden, disk_of_all.full():
            pending = path_of(sessions, "pending")
            pending.touch()
            wait_until(lambda: burden.troubles, "the daemon to notice")
        load.wait_for_more()
    pending.unlink()

    wait_until_caught_up(daemon, sessions)
    assert_nothing_lost_or_twice(daemon.database, sessions, versions=load.versions)


# -- errors of the disk ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [pytest.param("EIO", id="bad-sectors"), pytest.param("EROFS", id="turned-read-only-by-the-kernel")]
)
def test_intake_waits_while_the_database_cannot_be_written(
    start_daemon: StartDaemon, sessions: Path, error: str
) -> None:
    daemon = _started(start_daemon)
    paths = [daemon.database, _log_of(daemon)]

    with harmless(daemon, sessions) as load:
        with borne(daemon), failing_calls(daemon, "pwrite64", "ftruncate", "fdatasync", paths=paths, error=error):
            _wait_for_pause(daemon)
            load.wait_for_more(_MANY)
        _wait_for_resumption(daemon)


def test_intake_waits_while_the_database_cannot_be_read(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = _started(start_daemon)

    with harmless(daemon, sessions) as load:
        with borne(daemon), failing_calls(daemon, "pread64", paths=[_log_of(daemon), daemon.database]):
            _make_forget_what_was_read(daemon)
            _wait_for_pause(daemon)
            load.wait_for_more(_MANY)
        _wait_for_resumption(daemon)


def test_what_a_failing_sync_may_have_lost_is_still_there(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = _started(start_daemon)
    with Load(sessions) as load:
        load.wait_for_more()
        with failing_calls(daemon, "fdatasync", "fsync"):
            load.wait_for_more()
            assert daemon.stop()[0] == 0

    again = start_daemon()

    wait_until_caught_up(again, sessions)
    assert_nothing_lost_or_twice(again.database, sessions, versions=load.versions)


@pytest.mark.thorough
def test_a_session_on_a_bad_sector_is_graded_when_it_can_be_read(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = _started(start_daemon)

    with harmless(daemon, sessions) as load, borne(daemon):
        for call in ("openat", "read", "newfstatat"):
            bad = path_of(sessions, f"bad_{call}")
            with failing_calls(daemon, call, paths=[bad]):
                write(sessions, f"bad_{call}")
                daemon.wait_for_ledger(bad, "retry")
                load.wait_for_more()

    assert len(daemon.events("session.retry_scheduled", error="Input/output error")) == 3
    assert daemon.events("session.quarantined") == []


# -- a disk that cannot be written to ----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_new", [pytest.param(True, id="new-database"), pytest.param(False, id="old-database")])
def test_a_disk_that_is_read_only_at_the_start_is_told_in_a_line(
    *, disk: SmallDisk, home: Path, sessions: Path, is_new: bool
) -> None:
    if not is_new:
        assert run_command(home, "grade", write(sessions, "first")).returncode == 0
    before = _content_of(home / DATABASE)

    with disk.read_only():
        line = refusal(home)

    assert f"database {home / DATABASE}" in line
    assert "read-only" in line.lower()
    assert _content_of(home / DATABASE) == before


@pytest.mark.parametrize("closed", [("file",), ("folder",), ("file", "folder")], ids="-and-".join)
def test_a_database_that_may_not_be_written_is_told_in_a_line(
    home: Path, sessions: Path, closed: tuple[str, ...]
) -> None:
    assert run_command(home, "grade", write(sessions, "first")).returncode == 0
    database = home / DATABASE
    before = database.read_bytes()
    database.chmod(0o444 if "file" in closed else 0o600)
    database.parent.chmod(0o555 if "folder" in closed else 0o700)

    line = refusal(home, under=without_privileges())

    assert str(database.parent) in line
    assert database.read_bytes() == before
    database.chmod(0o600)
    database.parent.chmod(0o700)
    assert run_command(home, "grade", write(sessions, "second")).returncode == 0


def _log_of(daemon: DaemonProcess) -> Path:
    """Where SQLite writes first."""
    return daemon.database.with_name(daemon.database.name + "-wal")


def _make_forget_what_was_read(daemon: DaemonProcess) -> None:
    """What another program writes makes SQLite forget its copies of the pages."""
    with closing(apsw.Connection(str(daemon.database))) as other:
        other.execute("CREATE TABLE of_another_program (number)")


def _content_of(database: Path) -> bytes | None:
    return database.read_bytes() if database.exists() else None
