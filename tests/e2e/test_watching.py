"""Several folders that are watched. What befalls them while an agent is at work: see faults/."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess, run_command
from tests.e2e.session_files import content, path_of, replace, write
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


@pytest.mark.parametrize("healed_by", ["daemon", "run --once", "grade", "grade PATHS"])
def test_a_folder_renamed_and_renamed_back_is_where_its_grades_point_to(
    start_daemon: StartDaemon, home: Path, healed_by: str
) -> None:
    root = home / ".timmy"
    files = [write(root / "sessions", f"s{number}", age=60) for number in range(3)]
    broken = replace(path_of(root / "sessions", "broken"), content("broken")[:200], age=60)
    daemon = start_daemon(root, scan_seconds=2 if healed_by == "daemon" else 60)
    _wait_until_watched(daemon, root)
    daemon.wait_for_count(3)
    daemon.wait_for_ledger(broken, "retry", "dead")
    (root / "sessions").rename(root / "moved")
    wait_until(lambda: _graded_from(daemon) == {root / "moved" / file.name for file in files}, "the move to be seen")
    daemon.wait_for_ledger(root / "moved" / broken.name, "retry", "dead")
    wait_until(lambda: daemon.ledger(broken) is None, "nothing to be known of a file that is gone")

    if healed_by != "daemon":
        daemon.stop()
    (root / "moved").rename(root / "sessions")
    if healed_by != "daemon":
        arguments = [*healed_by.removesuffix(" PATHS").split(), *(map(str, files) if "PATHS" in healed_by else ())]
        run_command(home, *arguments, watch_roots=[str(root)])

    wait_until(lambda: _graded_from(daemon) == set(files), "the grades to point to files that are there")
    if healed_by in {"daemon", "run --once"}:
        wait_until(lambda: _known(daemon) == {*files, broken}, "nothing to be known of files that are gone")


def _graded_from(daemon: DaemonProcess) -> set[Path]:
    return {Path(row["session_file"]) for row in daemon.query("SELECT session_file FROM session_grades")}


def _known(daemon: DaemonProcess) -> set[Path]:
    return {Path(row["path"]) for row in daemon.query("SELECT path FROM session_files")}


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
