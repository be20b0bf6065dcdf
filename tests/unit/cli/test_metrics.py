from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.metric_texts import read_classic, series, value
from tests.unit.cli.conftest import Run


@pytest.fixture
def full_home(made: Path, tmp_path: Path) -> Path:
    """A home with a database of a little of everything."""
    return shutil.copytree(made, tmp_path / "home")


def test_metrics_of_a_home_can_be_read(full_home: Path, run: Run) -> None:
    ended = run(full_home, "export", "metrics")
    told = read_classic(ended.stdout)
    assert (ended.returncode, value(told, "grader_up")) == (0, 0)
    assert value(told, "grader_files", state="graded") == 13
    assert value(told, "grader_tool_calls", tool="terminal", outcome="failed") == 12
    assert value(told, "grader_labels_total") == 2


def test_before_anything_was_graded_there_are_metrics_and_no_database(home: Path, run: Run) -> None:
    ended = run(home, "export", "metrics")
    assert value(read_classic(ended.stdout), "grader_up") == 0
    assert list(home.iterdir()) == []


def test_they_go_into_a_file_that_others_may_read(full_home: Path, run: Run) -> None:
    printed = run(full_home, "export", "metrics").stdout
    ended = run(full_home, "export", "metrics", "--out", "grader.prom")
    written = full_home / "grader.prom"
    assert (ended.returncode, ended.stdout) == (0, "grader.prom is written.\n")
    assert series(read_classic(written.read_text("utf-8"))) == series(read_classic(printed))
    assert written.stat().st_mode & 0o777 == 0o644


def test_a_place_that_cannot_be_written_is_told_in_one_line(home: Path, run: Run) -> None:
    ended = run(home, "export", "metrics", "--out", "missing/grader.prom")
    assert (ended.returncode, ended.stderr) == (
        2,
        "grader-daemon: missing/grader.prom: cannot be written: No such file or directory\n",
    )


@pytest.mark.parametrize("name", ["demo_", "step.sh", "date parser"])
def test_no_session_is_named(full_home: Path, run: Run, name: str) -> None:
    assert name not in run(full_home, "export", "metrics").stdout
