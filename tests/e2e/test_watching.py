"""Folders that come, go and move; machines that have no watches left."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess, wait_until
from tests.e2e.session_files import path_of, replace, write, write_many

SOON = 4.0
"""Sooner than a scan: who sees something within this time was told by an event. Scans are a minute apart."""


def _watched(daemon: DaemonProcess, *roots: Path) -> bool:
    said = daemon.query("SELECT watching FROM daemon_status")
    return bool(said) and all(f'"{root}":"watched"' in said[0]["watching"] for root in roots)


def _wait_until_watched(daemon: DaemonProcess, *roots: Path) -> None:
    wait_until(lambda: _watched(daemon, *roots), f"{roots} to be watched")


def test_a_root_that_comes_later_is_told_and_then_graded(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "later"
    daemon = start_daemon(root)
    event = daemon.wait_for_event("watcher.degraded", root=str(root))
    assert event["level"] == "warning"

    write(root / "sessions", "first")

    daemon.wait_for_grade("first")
    _wait_until_watched(daemon, root)
    write(root / "sessions", "second")
    daemon.wait_for_grade("second", within=SOON)
    assert len(daemon.events("watcher.degraded")) == 1


def test_a_root_that_is_deleted_and_made_again_is_watched_again(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "sessions", "before")
    daemon = start_daemon(root)
    daemon.wait_for_grade("before")

    shutil.rmtree(root)
    write(root / "sessions", "between")

    daemon.wait_for_grade("between")
    daemon.wait_for_event("watcher.restarted")
    _wait_until_watched(daemon, root)
    write(root / "sessions", "after")
    daemon.wait_for_grade("after", within=SOON)


def test_a_root_that_stays_away_for_a_while_is_told(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "sessions", "before")
    daemon = start_daemon(root)
    daemon.wait_for_grade("before")

    shutil.rmtree(root)
    daemon.wait_for_event("watcher.degraded", root=str(root))
    write(root / "sessions", "after")

    daemon.wait_for_grade("after")


def test_a_root_that_is_renamed_and_replaced_is_watched_again(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "sessions", "before")
    daemon = start_daemon(root)
    daemon.wait_for_grade("before")

    root.rename(tmp_path / "moved_away")
    write(root / "sessions", "between")

    daemon.wait_for_grade("between")
    _wait_until_watched(daemon, root)
    write(root / "sessions", "after")
    daemon.wait_for_grade("after", within=SOON)
    old = write(tmp_path / "moved_away" / "sessions", "none_of_our_business")
    write(root / "sessions", "last")
    daemon.wait_for_grade("last", within=SOON)
    assert daemon.ledger(old) is None


def test_a_root_that_is_a_link_is_followed(start_daemon: StartDaemon, tmp_path: Path) -> None:
    write(tmp_path / "real" / "sessions", "before")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    daemon = start_daemon(tmp_path / "link")

    daemon.wait_for_grade("before")

    write(tmp_path / "real" / "sessions", "after")
    daemon.wait_for_grade("after", within=SOON)
    assert daemon.query("SELECT count(*) AS count FROM session_files") == [{"count": 2}]


def test_links_to_folders_below_a_root_are_not_followed(start_daemon: StartDaemon, tmp_path: Path) -> None:
    write(tmp_path / "outside" / "sessions", "outside")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    write(root / "sessions", "inside")

    daemon = start_daemon(root, arguments=["--once"])

    assert daemon.wait_for_end() == 0
    assert daemon.query("SELECT session_id FROM session_grades") == [{"session_id": "inside"}]


def test_two_roots_are_watched(start_daemon: StartDaemon, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    daemon = start_daemon(one, two)
    _wait_until_watched(daemon, one, two)

    write(one / "sessions", "in_one")
    write(two / "sessions", "in_two")

    daemon.wait_for_grade("in_one", within=SOON)
    daemon.wait_for_grade("in_two", within=SOON)


def test_one_missing_root_does_not_hold_back_the_other(start_daemon: StartDaemon, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    daemon = start_daemon(tmp_path / "missing", there)
    daemon.wait_for_event("watcher.degraded", root=str(tmp_path / "missing"))

    write(there / "sessions", "graded")

    daemon.wait_for_grade("graded", within=SOON)


def test_a_root_inside_another_grades_nothing_twice(start_daemon: StartDaemon, tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    daemon = start_daemon(tmp_path / "outer", inner)
    _wait_until_watched(daemon, tmp_path / "outer", inner)

    write(inner / "sessions", "once")

    daemon.wait_for_grade("once")
    write(inner / "sessions", "next")
    daemon.wait_for_grade("next")
    assert {row["grades"] for row in daemon.query("SELECT grades FROM session_files")} == {1}


def test_sessions_in_folders_that_were_just_made_are_all_seen(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    daemon = start_daemon(root)
    _wait_until_watched(daemon, root)

    for number in range(200):
        write(root / f"a{number}" / "b" / "c" / "sessions", f"deep_{number}")

    daemon.wait_for_count(200, within=10)


def test_a_folder_of_sessions_that_is_moved_into_the_root_is_graded(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    ids = write_many(tmp_path / "elsewhere" / "agent" / "sessions", 50)
    daemon = start_daemon(root)
    _wait_until_watched(daemon, root)

    (tmp_path / "elsewhere").rename(root / "elsewhere")

    daemon.wait_for_count(len(ids), within=10)
    write(root / "elsewhere" / "agent" / "sessions", "written_there_later")
    daemon.wait_for_grade("written_there_later", within=SOON)


def test_a_folder_that_is_renamed_within_the_root_keeps_its_grades(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    ids = write_many(root / "old" / "sessions", 20)
    daemon = start_daemon(root)
    daemon.wait_for_count(len(ids))
    before = daemon.query("SELECT id, session_id FROM session_grades ORDER BY id")

    (root / "old").rename(root / "new")

    daemon.wait_for_rows(
        "SELECT 1 WHERE (SELECT count(*) FROM session_grades WHERE session_file LIKE ?) = ?",
        f"{root}/new/%",
        len(ids),
    )
    assert daemon.query("SELECT id, session_id FROM session_grades ORDER BY id") == before


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


# -- no watches left ---------------------------------------------------------------------------------------------------


def _with_limit(name: str, limit: int) -> tuple[str, ...]:
    """A user namespace of its own, with a limit of its own: the machine's stays as it is."""
    script = f'echo {limit} > /proc/sys/user/{name} && exec "$@"'
    return ("unshare", "--user", "--map-root-user", "sh", "-c", script, "sh")


def _limits_work() -> bool:
    if shutil.which("unshare") is None:
        return False
    check = _with_limit("max_inotify_instances", 0)
    return subprocess.run([*check, "true"], check=False, capture_output=True).returncode == 0


needs_limits = pytest.mark.skipif(not _limits_work(), reason="user namespaces with their own limits are not to be had")


@needs_limits
def test_without_inotify_instances_it_goes_on_by_scanning(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "sessions", "before")
    daemon = start_daemon(root, under=_with_limit("max_inotify_instances", 0))

    event = daemon.wait_for_event("watcher.degraded")

    assert "max_user_instances" in event["reason"]
    daemon.wait_for_grade("before")
    for number in range(3):
        write(root / f"agent_{number}" / "sessions", f"later_{number}")
        daemon.wait_for_grade(f"later_{number}", within=8)
    assert len(daemon.events("watcher.degraded")) == 1
    assert daemon.stop()[0] == 0


@needs_limits
def test_with_too_few_watches_it_goes_on_by_scanning(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(30):
        write(root / f"agent_{number}" / "sessions", f"before_{number}")
    daemon = start_daemon(root, under=_with_limit("max_inotify_watches", 10))
    daemon.wait_for_count(30)

    daemon.wait_for_event("watcher.degraded")
    for number in range(30):
        write(root / f"agent_{number}" / "sessions", f"later_{number}")

    daemon.wait_for_count(60, within=10)


@needs_limits
def test_watches_that_run_out_later_are_noticed(start_daemon: StartDaemon, tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "sessions", "before")
    daemon = start_daemon(root, under=_with_limit("max_inotify_watches", 10))
    _wait_until_watched(daemon, root)

    for number in range(30):
        write(root / f"agent_{number}" / "sessions", f"new_{number}")

    daemon.wait_for_count(31, within=10)
    daemon.wait_for_event("watcher.degraded")
    for number in range(30):
        write(root / f"agent_{number}" / "sessions", f"later_{number}")
    daemon.wait_for_count(61, within=10)


def test_when_the_process_may_open_no_more_files_it_waits_until_it_may(
    start_daemon: StartDaemon, sessions: Path
) -> None:
    daemon = start_daemon()
    write(sessions, "before")
    daemon.wait_for_grade("before")
    used = {int(name) for name in os.listdir(f"/proc/{daemon.pid}/fd")}

    _limit_files(daemon.pid, min(set(range(1024)) - used))
    path = write(sessions, "meanwhile")
    (sessions.parent / "a_folder_that_makes_it_scan").mkdir()
    daemon.wait_for_ledger(path, "retry")
    wait_until(lambda: len(daemon.events("reconcile.finished")) > 1 or not daemon.running, "a scan")
    _limit_files(daemon.pid, 1024)

    daemon.wait_for_grade("meanwhile")


def _limit_files(pid: int, limit: int) -> None:
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
