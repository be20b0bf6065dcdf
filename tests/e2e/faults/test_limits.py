"""Limits that are reached while an agent is at work: of events and watches, of descriptors and of memory."""

from __future__ import annotations

import resource
import signal
import subprocess
from functools import cache
from pathlib import Path

import pytest

from grader_daemon.pipeline.helpers import LARGE_BYTES
from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess
from tests.e2e.faults.bearing import borne
from tests.e2e.faults.held import HeldReading
from tests.e2e.faults.load import harmless, wait_until_caught_up
from tests.e2e.session_files import content, path_of, replace, turns, write
from tests.needs import require, require_programs
from tests.waiting import wait_until

FOLDERS = 30
WATCHES = 10
HUGE = 60_000_000
SELDOM = 3600
"""Seconds between two scans of a folder that is watched."""

_QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
_LONGEST_QUEUE = 200_000


# -- events ------------------------------------------------------------------------------------------------------------


def test_an_overflow_of_the_event_queue(start_daemon: StartDaemon, sessions: Path) -> None:
    """What the agent writes while nobody takes events from a full queue is told by none."""
    queued = int(_QUEUE.read_text())
    require(queued <= _LONGEST_QUEUE, f"an event queue of at most {_LONGEST_QUEUE} ({_QUEUE})")
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")
    with harmless(daemon, sessions) as load:
        daemon.send(signal.SIGSTOP)
        for number in range(2 * queued):  # a thread may take some before it stands still
            (sessions / f"note_{number % 2}").write_bytes(b"")
        load.wait_for_more()
        daemon.send(signal.SIGCONT)

    daemon.wait_for_event("watcher.gap_noticed", reason="the kernel's event queue overflowed")


# -- watches -----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_no_inotify_instance_is_left(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon(under=_with_limit("max_inotify_instances", 0), scan_seconds=SELDOM)
    assert "max_user_instances" in daemon.wait_for_event("watcher.degraded")["reason"]

    with borne(daemon), harmless(daemon, sessions) as load:
        _work_in_many_folders(daemon, sessions, "at first")
        load.wait_for_more()

    assert len(daemon.events("watcher.degraded")) == 1
    assert daemon.stop()[0] == 0


@pytest.mark.parametrize(
    "at_the_start", [pytest.param(True, id="at-the-start"), pytest.param(False, id="later", marks=pytest.mark.thorough)]
)
def test_no_inotify_watch_is_left(start_daemon: StartDaemon, sessions: Path, at_the_start: bool) -> None:
    for number in range(FOLDERS if at_the_start else 0):
        write(sessions / f"project_{number}", f"before_{number}")
    daemon = start_daemon(under=_with_limit("max_inotify_watches", WATCHES), scan_seconds=SELDOM)
    daemon.wait_for_event("reconcile.finished")

    with borne(daemon), harmless(daemon, sessions):
        _work_in_many_folders(daemon, sessions, "at first")
        daemon.wait_for_event("watcher.degraded")
        _work_in_many_folders(daemon, sessions, "later")


def _work_in_many_folders(daemon: DaemonProcess, sessions: Path, task: str) -> None:
    for number in range(FOLDERS):
        write(sessions / "projects" / f"{number}", f"in_folder_{number}", turns(number, task=task))
    wait_until_caught_up(daemon, sessions / "projects")


def _with_limit(name: str, limit: int) -> tuple[str, ...]:
    """A user namespace of its own, with a limit of its own: the machine's stays as it is."""
    script = f'echo {limit} > /proc/sys/user/{name} && exec "$@"'
    under = ("unshare", "--user", "--map-root-user", "sh", "-c", script, "sh")
    require_programs("unshare")
    require(_works(under), "user namespaces with limits of their own")
    return under


@cache
def _works(under: tuple[str, ...]) -> bool:
    return subprocess.run([*under, "true"], check=False).returncode == 0


# -- descriptors and memory --------------------------------------------------------------------------------------------


def test_no_file_can_be_opened_for_a_while(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon(retry_seconds=[0.5])
    daemon.wait_for_event("reconcile.finished")
    with harmless(daemon, sessions):
        used = {int(entry.name) for entry in Path(f"/proc/{daemon.pid}/fd").iterdir()}
        _limit(daemon.pid, resource.RLIMIT_NOFILE, min(set(range(1024)) - used))
        daemon.wait_for_rows("SELECT 1 FROM session_files WHERE state = 'retry'")
        scans = len(daemon.events("reconcile.finished"))
        (sessions / "a_folder_that_makes_it_scan").mkdir()
        wait_until(lambda: len(daemon.events("reconcile.finished")) > scans, "a scan")
        _limit(daemon.pid, resource.RLIMIT_NOFILE, 1024)


def test_a_session_that_needs_more_memory_than_there_is(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")
    path = path_of(sessions.parent, "huge")
    with harmless(daemon, sessions):
        replace(path_of(sessions.parent, "large"), _session_of("large", LARGE_BYTES))
        daemon.wait_for_grade("large")
        [helper] = daemon.children()
        _limit(helper, resource.RLIMIT_AS, _memory(helper) + HUGE // 2)
        replace(path, _session_of("huge", HUGE))
        row = daemon.wait_for_ledger(path, "dead")

    assert "memory" in row["last_error"]
    event = daemon.wait_for_event("session.quarantined")
    assert (event["path"], event["error"]) == (str(path), row["last_error"])
    assert daemon.troubles() == [event]


def _session_of(name: str, size: int) -> bytes:
    return content(name, turns(output="HUGE")).replace(b"HUGE", b"x" * size)


# -- memory that the kernel takes back ---------------------------------------------------------------------------------


def test_a_session_that_ends_the_daemon_each_time_is_given_up(
    start_daemon: StartDaemon, sessions: Path, tmp_path: Path
) -> None:
    path = write(sessions.parent, "deadly")
    for _ in range(3):
        _end_while_it_reads(path, start_daemon, tmp_path)

    daemon = start_daemon()

    with harmless(daemon, sessions):
        row = daemon.wait_for_ledger(path, "dead")
    assert "crashed while it read this file" in row["last_error"]
    replace(path, content("deadly"))
    daemon.wait_for_grade("deadly")


def test_a_session_is_not_blamed_for_what_ended_the_daemon_later(
    start_daemon: StartDaemon, sessions: Path, tmp_path: Path
) -> None:
    path = write(sessions, "slow")
    _end_while_it_reads(path, start_daemon, tmp_path)
    for _ in range(3):
        daemon = start_daemon(retry_seconds=[3600])
        daemon.wait_for_event("reconcile.finished")
        assert daemon.wait_for_ledger(path)["attempts"] == 1
        daemon.kill()


def _end_while_it_reads(path: Path, start_daemon: StartDaemon, tmp_path: Path) -> None:
    """Start a daemon, and end it as the kernel does when memory is short, before it is done with a session."""
    held = HeldReading(tmp_path, path.name)
    daemon = start_daemon(under=held.under)
    held.wait_for(daemon)
    daemon.kill()


def _limit(pid: int, which: int, limit: int) -> None:
    _, hard = resource.prlimit(pid, which)
    resource.prlimit(pid, which, (limit, hard))


def _memory(pid: int) -> int:
    """Its address space, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * resource.getpagesize()
