"""Large files are examined in a process of their own: whatever they do there, the daemon goes on and obeys."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from grader_daemon.pipeline.helpers import LARGE_BYTES
from tests.e2e.conftest import StartDaemon
from tests.e2e.session_files import content, path_of, replace, turns, write
from tests.waiting import wait_until

SITE = """
import sys
if "grader_daemon.pipeline.helper_process" in sys.orig_argv:
    import os, re, signal
    import grader_daemon.sources.hermes.snapshot as snapshot
    read = snapshot.parse
    def misbehave(content, path, **options):
        if "endless" in path:
            re.match(r"(a+)+$", "a" * 64 + "b")
        if "deadly" in path:
            os.kill(os.getpid(), signal.SIGSEGV)
        return read(content, path, **options)
    snapshot.parse = misbehave
"""
"""What every Python below the daemon runs first: some files make the helper hang in C, or end; no known file does."""

Under = tuple[str, ...]


@pytest.fixture
def under(tmp_path: Path) -> Under:
    """What the daemon is started by."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITE)
    env = shutil.which("env")
    assert env is not None
    return (env, f"PYTHONPATH={folder}")


def write_large(folder: Path, name: str) -> Path:
    return replace(path_of(folder, name), content(name, turns(output="x" * LARGE_BYTES)))


def test_a_large_session_is_graded_in_a_process_of_its_own(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon()
    write_large(sessions, "large")

    daemon.wait_for_grade("large")
    assert len(daemon.children()) == 1
    write(sessions, "small")
    daemon.wait_for_grade("small")
    assert daemon.stop()[0] == 0


@pytest.mark.thorough
def test_the_daemon_ends_in_time_while_a_file_comes_to_no_end(
    start_daemon: StartDaemon, sessions: Path, under: Under
) -> None:
    daemon = start_daemon(under=under)
    daemon.wait_for_event("reconcile.finished")
    write_large(sessions, "endless")
    [helper] = wait_until(daemon.children, "a helper")
    wait_until(lambda: _cpu_ticks(helper) > 200, "the helper to hang")

    code, seconds = daemon.stop(signal.SIGTERM)

    assert code == 0
    assert seconds < 5
    assert not Path(f"/proc/{helper}").exists()


def test_no_helper_outlives_a_daemon_that_is_killed(start_daemon: StartDaemon, sessions: Path, under: Under) -> None:
    daemon = start_daemon(under=under)
    daemon.wait_for_event("service.started")  # until then another process reads its settings
    write_large(sessions, "endless")
    [helper] = wait_until(daemon.children, "a helper")
    wait_until(lambda: _cpu_ticks(helper) > 200, "the helper to hang")

    daemon.kill()

    wait_until(lambda: not _runs(helper), "the helper to end")


def test_a_file_that_comes_to_no_end_is_given_up(start_daemon: StartDaemon, sessions: Path, under: Under) -> None:
    daemon = start_daemon(under=under)
    path = write_large(sessions, "endless")

    row = daemon.wait_for_ledger(path, "dead")

    assert "more CPU time than max_cpu_seconds_per_100_mb = 20 allows" in row["last_error"]
    [trouble] = daemon.troubles()
    assert (trouble["event"], trouble["path"]) == ("session.quarantined", str(path))
    write(sessions, "after")
    daemon.wait_for_grade("after")


def test_a_file_that_ends_whoever_reads_it_ends_no_daemon(
    start_daemon: StartDaemon, sessions: Path, under: Under
) -> None:
    daemon = start_daemon(under=under)
    path = write_large(sessions, "deadly")

    row = daemon.wait_for_ledger(path, "dead")

    assert "the process that graded it crashed (SIGSEGV)" in row["last_error"]
    write(sessions, "after")
    daemon.wait_for_grade("after")
    assert daemon.stop()[0] == 0


def _runs(pid: int) -> bool:
    """Whoever takes it over may leave it as a zombie for a while."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
