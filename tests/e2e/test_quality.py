"""Scorers of quality of a real daemon: a model on loopback, a program, and nobody."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, STOP_SECONDS, query, run_command
from tests.e2e.session_files import now, turns, write_ended
from tests.scripted_model import hang, quality, scripted, status
from tests.waiting import wait_until

QUICK: dict[str, Any] = {"job_seconds": 1, "quiet_seconds": 0.05, "timezone": "UTC"}
SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
ENDED = "SELECT * FROM quality_checks WHERE outcome = 'answered'"


def _finish(sessions: Path, count: int) -> None:
    for number in range(count):
        ended_at = now() - timedelta(hours=2 + number)
        write_ended(sessions, f"s{number}", ended_at, turns(1, task=f"Fix parser {number} with {SECRET}"))


def test_a_model_is_asked_about_a_few_sessions_and_its_disagreement_is_shown(
    home: Path, sessions: Path, start_daemon: StartDaemon
) -> None:
    _finish(sessions, 4)
    with scripted(status(429), quality(1.0)) as model:
        settings = {
            **QUICK,
            "quality_checks_per_day": 3,
            "quality_discrepancy": 0.5,
            "quality_judge_url": model.url,
            "quality_judge_model": "m-8b",
            "quality_judge_key": "of-the-test",
        }
        daemon = start_daemon(**settings)
        told = daemon.wait_for_event("quality.disagreed")
        daemon.wait_for_rows(f"{ENDED} LIMIT 1 OFFSET 1")
        daemon.stop()
        start_daemon(arguments=["--once"], **settings).wait_for_end()

        shown = run_command(home, "show", told["session_id"], **settings)
        said = run_command(home, "status", **settings)

        assert len(model.asked) == 3  # the busy one and two answers, whatever was started anew
        assert SECRET not in json.dumps([asked.body for asked in model.asked])
        assert {asked.headers["Authorization"] for asked in model.asked} == {"Bearer of-the-test"}
    assert (told["level"], told["quality"], told["scorer"]) == ("notice", 1.0, f"m-8b at {model.url[7:-3]}")
    assert f"1 of 5 by {told['scorer']}" in shown.stdout
    assert f"3 of 3 today by {told['scorer']}; 2 disagree" in said.stdout
    grade = query(
        home / DATABASE, "SELECT response_quality FROM session_grades WHERE session_id = ?", told["session_id"]
    )
    assert grade == [{"response_quality": told["ours"]}]


def test_a_program_is_asked(sessions: Path, start_daemon: StartDaemon, tmp_path: Path) -> None:
    _finish(sessions, 1)
    program = tmp_path / "judge.py"
    program.write_text("import json, sys\nprint(json.load(sys.stdin)['grade']['response_quality'])\n")

    daemon = start_daemon(**QUICK, quality_checks_per_day=5, quality_command=[sys.executable, program])
    checked = daemon.wait_for_event("quality.checked")
    daemon.stop()

    assert (checked["discrepancy"], checked["session_id"]) == (0, "s0")


def test_a_model_that_is_away_fails_the_job_and_nothing_else(
    home: Path, sessions: Path, start_daemon: StartDaemon
) -> None:
    _finish(sessions, 1)
    with scripted(status(401)) as model:
        settings = {
            **QUICK,
            "quality_checks_per_day": 3,
            "quality_judge_url": model.url,
            "quality_judge_model": "m-8b",
        }
        daemon = start_daemon(**settings)
        failed = daemon.wait_for_event("job.failed", job="quality_check")
        _finish(sessions, 3)
        daemon.wait_for_count(3)
        checks = json.loads(run_command(home, "doctor", "--json", **settings).stdout)["checks"]
        daemon.stop()

        assert len(model.asked) == 1
    assert "it answered 401" in failed["error"]
    (made,) = (check for check in checks if check["name"] == "quality scorer")
    assert (made["state"], made["fix"]) == ("warning", "start it, or correct quality_judge_url")


def test_a_model_that_hangs_holds_up_neither_grading_nor_the_end(sessions: Path, start_daemon: StartDaemon) -> None:
    _finish(sessions, 1)
    with scripted(hang) as model:
        daemon = start_daemon(
            **QUICK, quality_checks_per_day=3, quality_judge_url=model.url, quality_judge_model="m-8b"
        )
        wait_until(lambda: model.asked, "a call")
        _finish(sessions, 3)
        daemon.wait_for_count(3)
        code, seconds = daemon.stop()

    assert code == 0
    assert seconds < STOP_SECONDS
    assert [row["outcome"] for row in daemon.query("SELECT outcome FROM quality_checks")] == ["asked"]


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="by-default"),
        pytest.param({"quality_checks_per_day": 5}, id="with-a-number-alone"),
        pytest.param({"quality_command": "false"}, id="with-a-scorer-alone"),
    ],
)
def test_nobody_is_asked(sessions: Path, start_daemon: StartDaemon, settings: dict[str, Any]) -> None:
    _finish(sessions, 2)

    daemon = start_daemon(arguments=["--once"], **QUICK, **settings)
    daemon.wait_for_end()

    assert daemon.query("SELECT * FROM quality_checks") == []
    assert daemon.grade_count() == 2
