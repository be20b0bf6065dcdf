"""First grading: a process that enables and grades what is found, once, and ends with the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.ungraded import UngradedAgent, ungraded_agents
from grader_daemon.dashboard.access import door_of
from grader_daemon.dashboard.app import make_app
from grader_daemon.dashboard.first_grading import FirstGrading, GradingState
from grader_daemon.dashboard.site import Site
from grader_daemon.settings import load_settings
from grader_daemon.storage.lock import DaemonLock
from tests.transcripts import Transcript
from tests.unit.dashboard.conftest import ACCESS, HOST, MakeClient
from tests.waiting import wait_until

ENDED = GradingState(goes_on=False)


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Settings of a home in which Claude Code has a session that nobody grades."""
    said = Transcript(cwd="/w", sessionId="00000000-1111-4222-8333-444455556666")
    said.prompt("Watch the lighthouse")
    said.answer("Done.")
    said.write(tmp_path / "claude" / "p" / "00000000-1111-4222-8333-444455556666.jsonl")
    path = tmp_path / "config.toml"
    path.write_text(
        f'db_path = "{tmp_path}/grades.db"\nclaude_code_roots = ["{tmp_path}/claude"]\n'
        f'watch_roots = ["{tmp_path}/none"]\nsources_declined = ["codex"]\n',
        "utf-8",
    )
    return str(path)


@pytest.fixture
def grading(config: str) -> Iterator[FirstGrading]:
    made = FirstGrading(partial(load_settings, config=config), config=config, options=["--config", config])
    yield made
    made.close()


@pytest.fixture
def page(grading: FirstGrading, config: str) -> Iterator[TestClient]:
    settings = load_settings(config=config)
    site = Site(settings, door_of(settings, ACCESS), first_grading=grading)
    with TestClient(
        make_app(site),
        base_url=f"http://{HOST}",
        cookies={ACCESS.cookie: ACCESS.cookie_value},
        headers={"origin": f"http://{HOST}"},
        follow_redirects=False,
    ) as client:
        yield client


def of_claude_code(config: str) -> list[UngradedAgent]:
    return [each for each in ungraded_agents(load_settings(config=config)) if each.agent == "claude-code"]


def ended(grading: FirstGrading) -> Callable[[], bool]:
    return lambda: grading.state is not None and not grading.state.goes_on


def test_click_enables_and_grades_what_is_found(page: TestClient, grading: FirstGrading, config: str) -> None:
    before = page.get("/").text
    assert "Claude Code has 1 sessions" in before
    assert "grader-daemon sources enable" not in before
    answer = page.post("/grade", data={"form_token": ACCESS.form_token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    wait_until(ended(grading), "the grading ends")

    assert grading.state == ENDED
    assert "claude-code" in load_settings(config=config).sources
    after = page.get("/").text
    assert "Watch the lighthouse" in after
    assert "Grading existing sessions" not in after
    assert "not graded" not in after, "the page knows the new settings"


def test_lock_of_a_daemon_is_honoured_and_named_in_a_line(
    page: TestClient, grading: FirstGrading, config: str, tmp_path: Path
) -> None:
    with DaemonLock(tmp_path / "grades.db"):
        assert "Grade these" not in page.get("/").text, "a daemon grades them"
        grading.begin(of_claude_code(config))
        wait_until(ended(grading), "the grading ends")

    assert grading.state is not None
    assert grading.state.failed is not None
    assert "is running on" in grading.state.failed
    assert "Grading ended: grader-daemon: another grader-daemon" in page.get("/").text


def test_second_click_begins_nothing_while_the_first_goes_on(grading: FirstGrading, config: str) -> None:
    agents = of_claude_code(config)
    grading.begin(agents)
    first = grading.pid
    grading.begin(agents)

    assert grading.pid == first


def test_grading_ends_with_the_page(page: TestClient, grading: FirstGrading) -> None:
    page.post("/grade", data={"form_token": ACCESS.form_token})
    process = grading.pid
    assert process is not None
    page.__exit__(None, None, None)

    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_page_that_nobody_started_at_the_prompt_names_commands_and_grades_nothing(
    client_of: MakeClient, tmp_path: Path, config: str
) -> None:
    client = client_of(tmp_path / "grades.db", config=config)
    shown = client.get("/").text
    refused = client.post("/grade", data={"form_token": ACCESS.form_token})

    assert "grader-daemon sources enable claude-code" in shown
    assert "Grade these" not in shown
    assert refused.status_code == 400
    assert "grader-daemon run" in refused.text
    assert not (tmp_path / "grades.db").exists()


def test_click_without_the_token_of_the_form_is_refused(page: TestClient, grading: FirstGrading) -> None:
    assert page.post("/grade", data={"form_token": "0"}).status_code == 403
    assert grading.state is None


def test_grades_that_there_are_stay_when_it_is_ended(grading: FirstGrading, config: str) -> None:
    grading.begin(of_claude_code(config))
    wait_until(ended(grading), "the grading ends")
    grading.close()

    with SelfGrader(settings=load_settings(config=config)) as grader:
        assert grader.grades.find("00000000").grade.task_summary == "Watch the lighthouse"
