"""``why`` as a person and a program use it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.transcripts import SESSION, Transcript, call
from tests.unit.cli.conftest import Run


def _grade(home: Path, run: Run, *, refused: bool) -> None:
    """Grade a session of Claude Code whose second message calls a command."""
    noted = Transcript()
    noted.prompt("Delete it")
    noted.answer(call("c1", command="rm x"), stop="tool_use")
    noted.result("c1", "This command requires approval" if refused else "gone", error=refused or None)
    noted.answer("It is there still." if refused else "It is gone.")
    path = home / ".claude" / "projects" / "-work" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    noted.write(path)
    assert run(home, "grade", str(path)).returncode == 0


def test_calls_that_were_refused_are_marked(home: Path, run: Run) -> None:
    _grade(home, run, refused=True)

    assert "\nrefused: the call was not allowed, which is no error (message 2)\n" in run(home, "why", SESSION).stdout
    assert json.loads(run(home, "why", SESSION, "--json").stdout)["refused"] == [2]


def test_where_no_call_was_refused_nothing_is_said_of_it(home: Path, run: Run) -> None:
    _grade(home, run, refused=False)

    assert "refused:" not in run(home, "why", SESSION).stdout
