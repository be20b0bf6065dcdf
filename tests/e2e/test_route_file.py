"""A real daemon keeps the file for routers."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import run_command
from tests.e2e.session_files import turns, write
from tests.strategies import json_answer, json_round, json_user
from tests.waiting import wait_until

_FAILED = '{"output": "2 failed", "exit_code": 1, "error": null}'


def _write_all(folder: Path) -> None:
    """Two models at one type of task, of different requests: one fixes it, the other one gives up. Some have labels."""
    given_up = [*json_round(_FAILED), *json_round(_FAILED), json_answer("I could not fix it; the tests still fail.")]
    for number in range(20):
        task = f"Fix the parser of dates, case {number}"
        write(folder, f"good-{number}", turns(2, task=task), model="good")
        write(folder, f"poor-{number}", [json_user(task), *given_up], model="poor")


def _label_some(home: Path) -> None:
    """Verdicts that are all unsure prefer no model."""
    rows = [f"{name}-{number},{said}" for number in range(4) for name, said in (("good", "yes"), ("poor", "no"))]
    (home / "labels.csv").write_text("\n".join(["session_id,completed", *rows]), "utf-8")
    assert run_command(home, "label", "--csv", home / "labels.csv").returncode == 0


def test_the_file_sends_requests_to_the_model_that_does_them_best(
    home: Path, sessions: Path, start_daemon: StartDaemon
) -> None:
    file = home / "route.json"
    _write_all(sessions)
    assert run_command(home, "grade", sessions).returncode == 0
    _label_some(home)

    start_daemon(route_file=str(file), job_seconds=1)
    wait_until(file.exists, "the file")

    found = json.loads(file.read_text("utf-8"))["task_types"]["debugging"]
    assert [(score["model"], score["n"]) for score in found["models"]] == [("good", 20), ("poor", 20)]
    assert (found["prefer"], found["default"]) == ("good", None)
    assert found["models"][0]["score"] > found["models"][1]["score"] + 0.1
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_daemon_without_the_setting_leaves_no_file(home: Path, sessions: Path, start_daemon: StartDaemon) -> None:
    _write_all(sessions)
    assert run_command(home, "grade", sessions).returncode == 0

    daemon = start_daemon(job_seconds=1)
    wait_until(lambda: daemon.events("calibration.updated"), "the jobs to run")

    assert not list(home.rglob("route.json"))
