"""Watched folders that come late, go, are replaced, unmounted or closed, while an agent is at work."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess, Row
from tests.e2e.faults.bearing import borne
from tests.e2e.faults.boxes import SmallDisk, without_privileges
from tests.e2e.faults.load import Load, harmless, undisturbed, wait_until_caught_up
from tests.e2e.session_files import write
from tests.waiting import wait_until

SELDOM = 3600
"""Seconds between two scans of a folder that is watched: whatever is seen there was told by an event."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder to watch, which is not there yet."""
    return tmp_path / "root"


def test_a_root_that_comes_later(start_daemon: StartDaemon, root: Path) -> None:
    daemon = start_daemon(root, scan_seconds=SELDOM)
    assert daemon.wait_for_event("watcher.degraded", root=str(root))["level"] == "warning"

    with harmless(daemon, root):
        _wait_until_watched(daemon, root)
        _assert_told_at_once(daemon, root)

    assert len(daemon.events("watcher.degraded")) == 1


def test_a_root_that_is_renamed_and_made_again_at_once(start_daemon: StartDaemon, root: Path, tmp_path: Path) -> None:
    """In the end what was renamed comes back, with older files of the same sessions."""
    daemon = start_daemon(root, scan_seconds=SELDOM)
    away = tmp_path / "away"
    with harmless(daemon, root) as load:
        _wait_until_watched(daemon, root)
        root.rename(away)
        load.wait_for_more()
        daemon.wait_for_event("watcher.restarted")
        _wait_until_watched(daemon, root)
        strange = write(away / "sessions", "none_of_our_business")
        _assert_told_at_once(daemon, root)
        assert daemon.ledger(strange) is None
        strange.unlink()
        away.rename(root / "back")


def test_a_root_that_is_deleted_and_stays_away(start_daemon: StartDaemon, root: Path) -> None:
    daemon = start_daemon(root, scan_seconds=SELDOM)
    gone = _work_of_a_while(daemon, root)
    with borne(daemon):
        shutil.rmtree(root)
        daemon.wait_for_event("watcher.degraded", root=str(root))
        _wait_for_scan(daemon)

    with harmless(daemon, root, gone=gone):
        _wait_until_watched(daemon, root)
        _assert_told_at_once(daemon, root)


def test_a_root_that_is_unmounted_and_mounted_again(start_daemon: StartDaemon, root: Path) -> None:
    """What is written below the mount point meanwhile is hidden by the next mount."""
    with SmallDisk(root):
        daemon = start_daemon(root, scan_seconds=SELDOM)
        gone = _work_of_a_while(daemon, root, name="disk")
    with Load(root, name="folder") as load:
        daemon.wait_for_event("watcher.restarted")
        load.wait_for_more()
    wait_until_caught_up(daemon, root)
    gone |= undisturbed(root)

    with SmallDisk(root):
        with harmless(daemon, root, gone=gone):
            _wait_until_watched(daemon, root)
            _assert_told_at_once(daemon, root)
        daemon.stop()


def test_a_root_that_is_a_link_and_is_led_elsewhere(start_daemon: StartDaemon, root: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    root.symlink_to(one)
    daemon = start_daemon(root, scan_seconds=SELDOM)
    gone = _work_of_a_while(daemon, root / "work")
    new = tmp_path / "new"
    new.symlink_to(other)
    os.replace(new, root)

    with harmless(daemon, root / "work", gone=gone):
        daemon.wait_for_event("watcher.restarted")
        _wait_until_watched(daemon, root)
        _assert_told_at_once(daemon, root / "work")


def test_rights_that_are_taken_and_given_back(start_daemon: StartDaemon, root: Path) -> None:
    sessions = root / "agent" / "sessions"
    daemon = start_daemon(root, under=without_privileges(), scan_seconds=SELDOM, retry_seconds=[0.5])
    _work_of_a_while(daemon, sessions)
    with harmless(daemon, root) as load:
        for closed in (sessions, root):
            before = len(daemon.events("session.retry_scheduled"))
            closed.chmod(0)
            load.wait_for_more()
            daemon.wait_for_rows("SELECT 1 FROM session_files WHERE last_error LIKE 'permission denied%'")
            closed.chmod(0o700)
            wait_until(
                lambda: not daemon.query("SELECT 1 FROM session_files WHERE state = 'retry'"), "all to be read again"
            )
            told = Counter(event["path"] for event in daemon.events("session.retry_scheduled")[before:])
            assert set(told.values()) == {1}


def _work_of_a_while(daemon: DaemonProcess, root: Path, *, name: str = "before") -> dict[str, Row]:
    """Let an agent work and rest; gives the grades of what it did."""
    with Load(root, name=name) as load:
        load.wait_for_more()
    wait_until_caught_up(daemon, root)
    return undisturbed(root)


def _wait_until_watched(daemon: DaemonProcess, root: Path) -> None:
    said = f'%"{root}":"watched"%'
    daemon.wait_for_rows("SELECT 1 FROM daemon_status WHERE watching LIKE ?", said)


def _wait_for_scan(daemon: DaemonProcess) -> None:
    """Each scan is published with the time."""
    said = daemon.query("SELECT said_at FROM daemon_status")[0]["said_at"]
    daemon.wait_for_rows("SELECT 1 FROM daemon_status WHERE said_at > ?", said)


def _assert_told_at_once(daemon: DaemonProcess, root: Path) -> None:
    """Events arrive again."""
    write(root / "other" / "sessions", "told_at_once")
    daemon.wait_for_grade("told_at_once")
