"""``grade --as``: what is read is what the person says, and ``-`` is standard input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.sources.contract.kept_by import run_of


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(run_of(1))))


def test_a_session_on_standard_input_is_graded_and_not_kept(home: Path, run: Run) -> None:
    done = run(home, "grade", "--as", "atif", "--json", "-")

    [grade] = json.loads(done.stdout)["grades"]
    assert (done.returncode, grade["session_id"], grade["session_file"]) == (0, "run", "-")
    assert list(home.rglob("*")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-"], "give the agent of the sessions on standard input, for example: grade --as atif -"),
        (
            ["--as", "atif", "-", "a.json"],
            "- means standard input and must be the only path; for a file of that name write ./-",
        ),
        (["--as", "opencode", "-"], "OpenCode keeps sessions in a database or a folder"),
        (["--as", "atif", "-", "--config", "small.toml"], "more bytes than max_file_bytes = 1,024"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(home: Path, run: Run, arguments: list[str], said: str) -> None:
    (home / "small.toml").write_text("max_file_bytes = 1024\n")
    given = io.TextIOWrapper(io.BytesIO(run_of(100)))
    sys.stdin = given

    done = run(home, "grade", *arguments)

    assert done.returncode != 0
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_nobody_there_to_give_anything_is_an_empty_file(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    assert run(home, "grade", "--as", "atif", "-").stderr == "cannot grade -: the file is empty\n"
