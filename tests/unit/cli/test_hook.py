"""The commands of hooks, as a person uses them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon.bootstrap import utc_now
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.hook.hooked_agents import Mode
from grader_daemon.hook.store import FoundClaim, HookTable
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Run

CONFIG = ".config/grader-daemon/config.toml"
DATABASE = ".timmy/uniwizard/session_grades.db"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of Claude Code in a home."""
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    (tmp_path / ".timmy" / "uniwizard").mkdir(parents=True)
    (tmp_path / ".claude").mkdir()
    file = tmp_path / ".claude" / "settings.json"
    file.write_text('{\n  "model": "opus"\n}\n')
    (tmp_path / CONFIG).parent.mkdir(parents=True)
    (tmp_path / CONFIG).write_text('sources = ["hermes", "claude-code"]\n')
    return file


def shown(run: Run, home: Path, *arguments: str) -> str:
    ended = run(home, "hook", *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_the_change_is_shown_before_it_is_made_and_taken_back(
    run: Run, tmp_path: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings.read_text()
    answers = iter(["n", "y", "y"])
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(answers))
    refused = shown(run, tmp_path, "install", "claude-code")
    assert '+    "Stop": [' in refused
    assert refused.endswith("\nNothing was changed.\n")
    assert settings.read_text() == before

    assert "Claude Code uses the hook from its next session on; the daemon tells you." in shown(
        run, tmp_path, "install", "claude-code"
    )
    assert "Claude Code: the daemon tells you" in shown(run, tmp_path, "status")
    assert '-    "Stop": [' in shown(run, tmp_path, "uninstall", "claude-code")
    assert settings.read_text() == before


@pytest.mark.usefixtures("settings")
def test_programs_say_yes_beforehand(run: Run, tmp_path: Path) -> None:
    ended = run(tmp_path, "hook", "install", "claude-code", "--json")
    assert (ended.returncode, "--json needs --yes, because it cannot ask" in ended.stderr) == (2, True)
    document = json.loads(shown(run, tmp_path, "install", "claude-code", "--yes", "--json", "--mode", "block"))
    assert (document["agent"], document["mode"]) == ("claude-code", "block")
    assert json.loads(shown(run, tmp_path, "uninstall", "claude-code", "--yes", "--json"))["agent"] == "claude-code"


def test_a_hook_of_an_agent_that_is_not_graded_reports_nothing(run: Run, tmp_path: Path, settings: Path) -> None:
    (tmp_path / CONFIG).unlink()
    ended = run(tmp_path, "hook", "install", "claude-code", "--yes")
    assert "Claude Code is not graded, so its hook reports nothing; grader-daemon sources enable" in ended.stderr
    assert (ended.returncode, "Stop" in settings.read_text()) == (0, True)


def test_an_agent_that_can_show_nothing_cannot_tell(run: Run, tmp_path: Path) -> None:
    ended = run(tmp_path, "hook", "install", "hermes", "--mode", "tell", "--yes")
    assert "Hermes cannot show you a hook's messages; use --mode block or log" in ended.stderr


def test_without_a_hook_it_says_how_to_get_one(run: Run, tmp_path: Path) -> None:
    assert shown(run, tmp_path, "status") == (
        "No agent has the hook. Next: grader-daemon hook install claude-code|codex|hermes\n"
    )


@pytest.mark.usefixtures("settings")
def test_a_trial_without_messages_says_that_nothing_can_be_compared(run: Run, tmp_path: Path) -> None:
    shown(run, tmp_path, "install", "claude-code", "--mode", "log", "--yes")
    SqliteStore(tmp_path / DATABASE).close()
    assert "no agent has a hook that shows messages" in run(tmp_path, "hook", "trial", "start").stderr


def test_what_was_found_and_what_a_trial_shows(run: Run, tmp_path: Path, settings: Path) -> None:
    shown(run, tmp_path, "install", "claude-code", "--yes")
    assert "No contradicted claim in the last 30 days." in shown(run, tmp_path, "status")
    SqliteStore(tmp_path / DATABASE).close()
    begun = run(tmp_path, "hook", "trial", "start")
    assert begun == (0, "The trial is running; see its result: grader-daemon hook status\n", "")
    again = run(tmp_path, "hook", "trial", "start")
    assert (again.returncode, "a trial is already running" in again.stderr) == (2, True)
    assert "Trial: 0 sessions with the message, 0 without: too few to compare; the trial is running." in shown(
        run, tmp_path, "status"
    )
    find(tmp_path / DATABASE, 60)
    assert shown(run, tmp_path, "trial", "stop") == "The trial has ended; see its result: grader-daemon hook status\n"
    assert "no trial is running" in run(tmp_path, "hook", "trial", "stop").stderr
    settings.write_text("{}")
    told = shown(run, tmp_path, "status")
    assert "the hook is missing there" in told
    assert "60 contradicted claims in 60 sessions of the last 30 days, 30 shown." in told
    assert "Ended with such a claim: 100% of those with, 100% of those without; difference +0 points" in " ".join(
        told.split()
    )
    document = json.loads(shown(run, tmp_path, "status", "--json"))
    assert (document["found"], document["told"], document["sessions"], document["trial_runs"]) == (60, 30, 60, False)


def find(database: Path, sessions: int) -> None:
    """Keep findings in sessions, which all ended as they were."""
    claim = Claim(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, None, 3, (2,))
    now = utc_now()
    with closing(SqliteStore(database)) as store, store.transaction():
        made = [
            grade(session_id=f"s{number}", session_file=f"/s/{number}", state=SessionState.COMPLETE, claims=(claim,))
            for number in range(sessions)
        ]
        save_grades(store, [new_grade(each) for each in made])
        for number in range(sessions):
            HookTable(store).add(
                FoundClaim(f"s{number}", "All tests pass", now, "codex", Mode.TELL, is_told=number % 2 == 0, trial=1)
            )
