"""``grade --as``: what is read is what the person says, and ``-`` is standard input."""

from __future__ import annotations

import io
import json
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import write
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


def test_a_file_read_as_one_of_another_agent_by_mistake_leaves_no_trace(home: Path, run: Run) -> None:
    write(home, "one")
    wrong = run(home, "grade", "--as", "codex", "session_one.json")
    after = json.loads(run(home, "status", "--json").stdout)
    right = run(home, "grade", "session_one.json")

    assert (wrong.returncode, wrong.stderr.startswith("cannot grade ")) == (1, True)
    assert after["files"].get("dead", 0) == 0
    assert right.returncode == 0


def test_a_grade_ends_an_earlier_failure_to_read_the_file_as_one_of_another_agent(home: Path, run: Run) -> None:
    """Earlier versions kept such a failure."""
    file = write(home, "one")
    run(home, "grade", "--as", "codex", file.name)
    failed = LedgerEntry(
        unit=Unit("codex", str(file), ""), stamp=b"", written_ns=0, state=FileState.DEAD, reason="no session"
    )
    with closing(SqliteStore(home / ".timmy/uniwizard/session_grades.db")) as store, store.transaction():
        store.save_entries([failed], now=datetime(2026, 11, 1, tzinfo=UTC))
    before = json.loads(run(home, "status", "--json").stdout)
    run(home, "grade", file.name)
    after = json.loads(run(home, "status", "--json").stdout)

    assert (before["files"]["dead"], after["files"].get("dead", 0)) == (1, 0)


def test_nobody_there_to_give_anything_is_an_empty_file(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    assert run(home, "grade", "--as", "atif", "-").stderr == "cannot grade -: the file is empty\n"
