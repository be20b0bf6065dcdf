"""``export`` into files and folders; what it prints is with `list`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from grader_daemon import SelfGrader
from tests.e2e.session_files import now, turns, write_ended
from tests.unit.cli.conftest import Run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one graded session of today."""
    write_ended(tmp_path / ".timmy/sessions", "20261121_110000_cccccc", now() - timedelta(minutes=90), turns(1))
    with SelfGrader(
        db_path=tmp_path / ".timmy/uniwizard/session_grades.db", watch_roots=[tmp_path / ".timmy"]
    ) as grader:
        grader.grade_latest_sessions()
    return tmp_path


def test_a_table_is_written_into_a_file(home: Path, run: Run) -> None:
    ended = run(home, "export", "--format", "parquet", "--out", "grades.parquet")

    assert (ended.returncode, ended.stdout) == (0, "1 grade written to grades.parquet.\n")
    assert pq.read_table(home / "grades.parquet").num_rows == 1


def test_a_folder_is_brought_up_to_date(home: Path, run: Run) -> None:
    command = ("export", "--format", "parquet", "--partition", "month", "--out", "grades")
    first, second = run(home, *command), run(home, *command)

    [file] = (home / "grades").glob("month=*/grades.parquet")
    month = file.parent.name.removeprefix("month=")
    assert first.stdout == f"{month} written\n1 grade written to grades.\n"
    assert second.stdout == "0 grades written to grades; 1 month as before.\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["--format", "parquet"], "give a destination with --out", id="parquet-to-a-terminal"),
        pytest.param(["--partition", "month"], "give a destination with --out", id="no-folder"),
        pytest.param(
            ["--partition", "month", "--out", "x", "--completed"],
            "the only filter allowed is --since",
            id="some-of-a-month",
        ),
        pytest.param(["--partition", "month", "--out", "."], "contains other files", id="a-folder-of-others"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(home: Path, run: Run, options: list[str], says: str) -> None:
    ended = run(home, "export", *options)

    assert ended.returncode == 2
    assert says in ended.stderr
    assert (ended.stdout, ended.stderr.count("\n")) == ("", 1)
