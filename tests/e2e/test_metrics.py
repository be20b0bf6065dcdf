"""The file of metrics that a real daemon leaves."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.daemon_process import DaemonProcess, run_command
from tests.e2e.session_files import turns, write
from tests.metric_texts import read_classic, value
from tests.waiting import wait_until


def test_a_daemon_leaves_its_metrics_where_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "grader.prom"
    daemon = DaemonProcess(tmp_path, settings={"job_seconds": 1, "metrics_file": str(file)})
    try:
        wait_until(file.exists, "the file")
        daemon.stop()
    finally:
        daemon.end()
    assert value(read_classic(file.read_text("utf-8")), "grader_up") == 1
    assert daemon.troubles() == []


def test_what_one_run_graded_is_in_its_metrics(tmp_path: Path) -> None:
    write(tmp_path / ".timmy" / "sessions", "one", turns())
    ended = run_command(tmp_path, "run", "--once", metrics_file=str(tmp_path / "grader.prom"))
    told = read_classic((tmp_path / "grader.prom").read_text("utf-8"))
    assert ended.returncode == 0
    assert value(told, "grader_files", state="graded") == 1
    assert value(told, "grader_agent_sessions", agent="hermes", verdict="unsure") == 1


def test_a_place_where_nothing_can_be_written_is_told_and_stops_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "grader.prom"
    daemon = DaemonProcess(tmp_path, settings={"job_seconds": 1, "metrics_file": str(file)})
    try:
        told = daemon.wait_for_event("job.failed", job="metrics")
        write(tmp_path / ".timmy" / "sessions", "one", turns())
        daemon.wait_for_count(1)
        daemon.stop()
    finally:
        daemon.end()
    assert told["error"] == f"{file}: cannot be written: No such file or directory"
