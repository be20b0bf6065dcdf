"""Sessions of Hermes in its database, some in a file, too: the daemon beside a writer that does as Hermes does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.session_files import write
from tests.fuzz.state_db import play
from tests.state_db import SCHEMAS, StateHome
from tests.strategies import json_answer, json_user


@pytest.mark.parametrize("version", SCHEMAS)
def test_a_session_is_graded_when_its_turn_has_ended_and_again_when_it_goes_on(
    version: int, start_daemon: StartDaemon, sessions: Path
) -> None:
    agent = StateHome(sessions.parent, version=version)
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")

    agent.session("a", model="m", input_tokens=10, output_tokens=2)
    agent.turn("a", "What is 1 + 1?", "It is 2.")
    first = daemon.wait_for_grade("a")
    agent.turn("a", "And 2 + 2?", "It is 4.")
    daemon.wait_for_rows("SELECT 1 FROM session_details WHERE session_id = 'a' AND messages = 4")

    second = daemon.wait_for_grade("a")
    assert (first["id"], first["state"], second["state"]) == (second["id"], "complete", "complete")
    assert second["session_file"] == str(agent.path)
    assert daemon.grade_count() == 1
    assert sorted(path.name for path in agent.folder.iterdir()) == ["sessions", "state.db"]


def test_a_session_that_is_graded_from_its_file_moves_to_its_row(start_daemon: StartDaemon, sessions: Path) -> None:
    messages = [json_user("What is 1 + 1?"), json_answer("It is 2.")]
    write(sessions, "a", messages)
    daemon = start_daemon()
    before = daemon.wait_for_grade("a")

    agent = StateHome(sessions.parent)
    agent.session("a", input_tokens=10)
    agent.turn("a", "What is 1 + 1?", "It is 2.")
    daemon.wait_for_rows("SELECT 1 FROM session_grades WHERE session_file = ?", str(agent.path))
    write(sessions, "a", [*messages, json_user("Thanks!")])
    daemon.wait_for_rows("SELECT 1 FROM session_details WHERE session_id = 'a' AND messages = 3")

    after = daemon.wait_for_grade("a")
    assert (after["id"], after["session_file"]) == (before["id"], str(agent.path))
    assert daemon.grade_count() == 1
    daemon.stop()  # a grade is told after it is saved
    events = daemon.events("session.graded", session_id="a")
    assert len(events) == 3, json.dumps(events)


def test_a_database_without_rows_leaves_files_alone(start_daemon: StartDaemon, sessions: Path) -> None:
    StateHome(sessions.parent)
    path = write(sessions, "a", [json_user(), json_answer()])
    daemon = start_daemon()
    assert daemon.wait_for_grade("a")["session_file"] == str(path)


def test_kills_of_either_lose_nothing_and_disturb_nobody(tmp_path: Path) -> None:
    outcome = play(tmp_path, rounds=4, seed=1)

    assert outcome.sessions > 0
    assert outcome.longest_wait_ms < 50
