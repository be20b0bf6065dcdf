"""The commands of trials, as a person uses them."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.bootstrap import utc_now
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Ended, Run

DATABASE = ".timmy/uniwizard/session_grades.db"
TRIALS = ".config/grader-daemon/trials/trials.json"
SKILL = ".timmy/skills/deploy/SKILL.md"
SHOWN = f"~/{SKILL}"


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """`changes trial run` gives the agent the signals that a shell would; the tests go on with those of Python."""
    before = {number: signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A skill in a home."""
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    file = tmp_path / SKILL
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: deploy\ndescription: Deploys.\n---\n")
    return file


def shown(run: Run, home: Path, *arguments: str) -> str:
    ended = run(home, "changes", "trial", *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


class ScriptedAgent:
    """An agent that fails unless it finds the skill: in place of the program that `changes trial run` becomes."""

    def __init__(self, store: SqliteStore, skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._store = store
        self._skill = skill
        self.sessions: list[bool] = []
        monkeypatch.setattr(os, "execvp", self._work)

    def _work(self, program: str, arguments: tuple[str, ...]) -> None:
        assert (program, arguments) == ("hermes", ("hermes", "-p", ""))
        self.sessions.append(self._skill.exists())
        made = grade(
            session_id=f"session-{len(self.sessions)}",
            session_file=f"/s/{len(self.sessions)}",
            agent="hermes",
            session_start=utc_now(),
            ended_at=utc_now() + timedelta(minutes=1),
            ending=EndingKind.ANSWERED,
            standing=ResultStanding.CHECKED if self._skill.exists() else ResultStanding.CHECK_FAILED,
        )
        with self._store.transaction():
            save_grades(self._store, [new_grade(made)])


@pytest.fixture
def agent(skill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedAgent]:
    with closing(SqliteStore(tmp_path / DATABASE)) as store:
        yield ScriptedAgent(store, skill, monkeypatch)


def session(run: Run, home: Path) -> Ended:
    """Start the agent as its person does."""
    return run(home, "changes", "trial", "run", "deploy", "--", "hermes", "-p", "")


@pytest.mark.usefixtures("skill")
def test_what_is_done_is_shown_before_it_begins(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["n", "y"])
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(answers))
    refused = shown(run, tmp_path, "start", "deploy")
    assert f"renames {SHOWN} to SKILL.md.grader-trial or back." in refused
    assert "No trial yet. Start one: grader-daemon changes trial start NAME" in shown(run, tmp_path, "status")
    assert "grader-daemon changes trial run deploy -- COMMAND" in shown(run, tmp_path, "start", "deploy")
    assert "0 sessions with it, 0 without: too few to tell." in run(tmp_path, "changes", "trial", "status").stdout
    assert "a trial of deploy runs" in run(tmp_path, "changes", "trial", "start", "deploy", "--yes").stderr
    assert f"The trial of deploy is over. {SHOWN} is in its place." in shown(run, tmp_path, "stop")


def test_programs_say_yes_beforehand(run: Run, tmp_path: Path, skill: Path) -> None:
    ended = run(tmp_path, "changes", "trial", "start", "deploy", "--json")
    assert (ended.returncode, "--json needs --yes, because it cannot ask" in ended.stderr) == (2, True)
    document = json.loads(shown(run, tmp_path, "start", "deploy", "--yes", "--json"))
    assert (document["agent"], document["path"]) == ("hermes", str(skill))
    stopped = json.loads(shown(run, tmp_path, "stop", "deploy", "--json"))["stopped"]
    assert stopped == [{"name": "deploy", "path": str(skill), "in_place": True}]


def test_sessions_tell_what_the_skill_does(
    run: Run, tmp_path: Path, skill: Path, agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = skill.read_bytes()
    coin = iter([1, 0] * 12)
    monkeypatch.setattr("secrets.randbits", lambda _: next(coin))
    shown(run, tmp_path, "start", "deploy", "--yes")
    for _ in range(24):
        assert session(run, tmp_path)[:3:2] == (0, "")
    assert agent.sessions == [True, False] * 12
    told = shown(run, tmp_path, "status")
    assert "12 sessions with it, 12 without; bad endings 0 %" in told
    assert re.search(r"−100 points \(−100 to −\d+\)\.\n  The difference is clear\.", told)
    assert "is away; 24 draws" in told
    shown(run, tmp_path, "stop", "deploy")
    assert skill.read_bytes() == before
    assert "over: you stopped it" in shown(run, tmp_path, "status")


@pytest.mark.usefixtures("agent")
def test_a_trial_that_is_over_asks_for_nothing_and_tells_nothing_of_a_later_one(run: Run, tmp_path: Path) -> None:
    shown(run, tmp_path, "start", "deploy", "--yes")
    session(run, tmp_path)
    assert "10 draws with a finished session are needed a side" in shown(run, tmp_path, "status")
    shown(run, tmp_path, "stop")
    over = shown(run, tmp_path, "status")
    assert f"{SHOWN} is in its place; 1 draw" in over
    assert over.endswith(": too few to tell.\n")
    shown(run, tmp_path, "start", "deploy", "--yes")

    later, earlier = shown(run, tmp_path, "status").split("\n\n")

    assert f"{SHOWN} is in its place; 0 draws" in later
    assert f"{SHOWN} is of a later trial; 1 draw" in earlier
    states = json.loads(shown(run, tmp_path, "status", "--json"))["trials"]
    assert [state["position"] for state in states] == ["on", None]


@pytest.mark.usefixtures("skill")
def test_trials_that_ended_long_ago_are_counted_and_shown_on_request(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        shown(run, tmp_path, "start", "deploy", "--yes")
        shown(run, tmp_path, "stop")
    trials = json.loads((tmp_path / TRIALS).read_text())
    trials[0]["ended_at"] = (utc_now() - timedelta(days=31)).isoformat()
    (tmp_path / TRIALS).write_text(json.dumps(trials))

    usual, everything = (run(tmp_path, "changes", "trial", "status", *said).stdout for said in ([], ["--all"]))

    assert usual.count("over: you stopped it") == 1
    assert usual.endswith("1 trial ended more than 30 days ago: grader-daemon changes trial status --all\n")
    assert everything.count("over: you stopped it") == 2
    assert "30 days" not in everything


@pytest.mark.parametrize("url", ["https://127.0.0.1:1/", "postgresql://127.0.0.1:1/fleet"])
def test_who_reads_a_fleet_sees_the_sessions_of_this_machine(
    run: Run, tmp_path: Path, agent: ScriptedAgent, url: str
) -> None:
    shown(run, tmp_path, "start", "deploy", "--yes")
    session(run, tmp_path)
    (tmp_path / ".config" / "grader-daemon" / "config.toml").write_text(
        f'fleet_read_url = "{url}"\nfleet_read_token_file = "{tmp_path}/token"\n'
    )
    told = shown(run, tmp_path, "status")
    assert ("1 session with it" in told) is agent.sessions[0]
    assert ("0 sessions with it, 1 without" in told) is not agent.sessions[0]


def test_where_no_session_was_graded_it_is_said(run: Run, tmp_path: Path, skill: Path) -> None:  # noqa: ARG001
    assert run(tmp_path, "changes", "trial", "status").stderr == ""
    shown(run, tmp_path, "start", "deploy", "--yes")
    ended = run(tmp_path, "changes", "trial", "status")
    said = f"no database at {tmp_path / DATABASE}: no session was graded on this machine yet"
    assert (ended.returncode, said in ended.stderr) == (0, True)
    assert "0 sessions with it, 0 without" in ended.stdout


@pytest.mark.parametrize("wrong", ["{", None])
def test_the_agent_starts_whatever_is_wrong(run: Run, tmp_path: Path, agent: ScriptedAgent, wrong: str | None) -> None:
    if wrong is not None:
        (tmp_path / TRIALS).parent.mkdir(parents=True)
        (tmp_path / TRIALS).write_text(wrong)
    ended = session(run, tmp_path)
    assert (ended.returncode, agent.sessions) == (0, [True])
    assert ("nothing was drawn" in ended.stderr) is (wrong is not None)


@pytest.mark.usefixtures("skill", "agent")
def test_a_name_that_never_had_a_trial_is_told_and_one_that_had_is_not(run: Run, tmp_path: Path) -> None:
    assert "there never was a trial of deploy" in session(run, tmp_path).stderr
    shown(run, tmp_path, "start", "deploy", "--yes")
    shown(run, tmp_path, "stop")
    assert session(run, tmp_path).stderr == ""


def test_an_edit_ends_the_trial_and_both_commands_say_so(
    run: Run, tmp_path: Path, skill: Path, agent: ScriptedAgent
) -> None:
    shown(run, tmp_path, "start", "deploy", "--yes")
    skill.write_text("---\nname: deploy\ndescription: Deploys twice.\n---\n")
    assert "the trial of deploy is over: the file was edited" in session(run, tmp_path).stderr
    assert "over: the file was edited" in shown(run, tmp_path, "status")
    assert agent.sessions == [True]


def test_a_file_of_another_in_its_place_is_kept_and_named(
    run: Run, tmp_path: Path, skill: Path, agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.randbits", lambda _: 0)
    shown(run, tmp_path, "start", "deploy", "--yes")
    session(run, tmp_path)
    skill.write_text("new")
    told = shown(run, tmp_path, "stop")
    assert f"{SHOWN} is not the file of the trial; the one of the trial is {SHOWN}.grader-trial" in told
    assert f"The file of the trial is {SHOWN}.grader-trial" in shown(run, tmp_path, "status")
    assert skill.read_text() == "new"
    assert agent.sessions == [False]


def test_a_program_that_is_not_there_is_told_as_a_shell_does(run: Run, tmp_path: Path) -> None:
    ended = run(tmp_path, "changes", "trial", "run", "deploy", "--", "no-such-agent")
    assert ended.returncode == 127
    assert ended.stderr.endswith("\ngrader-daemon: no-such-agent: No such file or directory\n")
