"""What people say of the work, from the file to the commands."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.daemon_process import DATABASE, query, run_command
from tests.e2e.session_files import TASK, turns, write
from tests.strategies import json_answer, json_user

_FIRST = [*turns(), json_user("No, that still fails on 2026-W53"), json_answer("I looked at it again.")]


def _write_both(sessions: Path) -> None:
    write(sessions, "first", _FIRST, session_start="2026-11-21T10:00:00.1", last_updated="2026-11-21T10:05:00.1")
    again = turns(task=f"{TASK.upper()}!")
    write(sessions, "second", again, session_start="2026-11-21T12:00:00.1", last_updated="2026-11-21T12:05:00.1")


def test_what_is_asked_twice_is_shown_at_the_first(home: Path, sessions: Path) -> None:
    _write_both(sessions)

    document = json.loads(run_command(home, "grade", "--json", sessions).stdout)

    first, second = document["grades"]
    assert (first["signals_from_people"], first["asked_again"]) == ([{"kind": "complaint", "index": 4}], "second")
    assert (second["signals_from_people"], second["asked_again"]) == ([], None)
    assert (
        "people              complaint (message 4), the person asked for the same again in second"
        in run_command(home, "show", "first").stdout
    )
    assert "people              -" in run_command(home, "show", "second").stdout
    why = run_command(home, "why", "first").stdout
    assert "people: complaint (message 4), the person asked for the same again in second" in why
    assert "-1  completion.complaint" in why
    assert "message 4: user: No, that still fails on 2026-W53" in why
    told = json.loads(run_command(home, "why", "--json", "first").stdout)
    assert (told["signals_from_people"], told["asked_again"]) == ([{"kind": "complaint", "index": 4}], "second")
    report = " ".join(run_command(home, "report", "--week", "2026-W47", "--all").stdout.split())
    assert "In 1 of 2 sessions, a person complained" in report
    assert "After 1 of them, a person asked" in report


def test_the_rules_say_how_soon_the_same_must_be_asked_again(home: Path, sessions: Path, tmp_path: Path) -> None:
    _write_both(sessions)
    rules = tmp_path / "rules.toml"
    rules.write_text("[people]\nasked_again_hours = 1\n[people.signals.complaint]\nphrases = []\n")

    ended = run_command(home, "grade", rules_file=str(rules))

    assert ended.returncode == 0, ended.stderr
    assert query(home / DATABASE, "SELECT asked_again, people FROM session_details ORDER BY session_id") == [
        {"asked_again": None, "people": '[{"kind":"correction","index":4}]'},
        {"asked_again": None, "people": "[]"},
    ]
