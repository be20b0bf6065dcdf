"""Several folders that are watched. What befalls them while an agent is at work: see faults/."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess
from tests.e2e.session_files import path_of, replace, write
from tests.waiting import wait_until

SELDOM = 3600
"""Seconds between two scans: whatever is seen was told by an event."""


def _watched(daemon: DaemonProcess, *roots: Path) -> bool:
    said = daemon.query("SELECT watching FROM daemon_status")
    return bool(said) and all(f'"{root}":"watched"' in said[0]["watching"] for root in roots)


def _wait_until_watched(daemon: DaemonProcess, *roots: Path) -> None:
    wait_until(lambda: _watched(daemon, *roots), f"{roots} to be watched")


def test_two_roots_are_watched(start_daemon: StartDaemon, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    daemon = start_daemon(one, two, scan_seconds=SELDOM)
    _wait_until_watched(daemon, one, two)

    write(one / "sessions", "in_one")
    write(two / "sessions", "in_two")

    daemon.wait_for_grade("in_one")
    daemon.wait_for_grade("in_two")


def test_one_missing_root_does_not_hold_back_the_other(start_daemon: StartDaemon, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    daemon = start_daemon(tmp_path / "missing", there)
    daemon.wait_for_event("watcher.degraded", root=str(tmp_path / "missing"))

    write(there / "sessions", "graded")

    daemon.wait_for_grade("graded")


def test_a_root_inside_another_grades_nothing_twice(start_daemon: StartDaemon, tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    daemon = start_daemon(tmp_path / "outer", inner, scan_seconds=SELDOM)
    _wait_until_watched(daemon, tmp_path / "outer", inner)

    write(inner / "sessions", "once")

    daemon.wait_for_grade("once")
    write(inner / "sessions", "next")
    daemon.wait_for_grade("next")
    assert {row["grades"] for row in daemon.query("SELECT grades FROM session_files")} == {1}


def test_a_copy_of_a_session_is_graded_once(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    original = write(root / "sessions", "copied")
    daemon = start_daemon(root)
    first = daemon.wait_for_grade("copied")
    (root / "backup").mkdir()

    copy = replace(path_of(root / "backup", "copied"), original.read_bytes(), age=100)

    assert daemon.wait_for_ledger(copy, "skipped")["reason"] == "copy"
    assert daemon.query("SELECT id, session_file FROM session_grades") == [
        {"id": first["id"], "session_file": str(original)}
    ]
