"""Reports, error issues and loop risks of a real daemon."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, query, run_command
from tests.e2e.session_files import PERMISSION_DENIED, failing, now, write, write_ended
from tests.strategies import json_answer, json_round, json_user

QUICK: dict[str, Any] = {"job_seconds": 1, "quiet_seconds": 0.05, "timezone": "UTC"}


# -- reports -----------------------------------------------------------------------------------------------------


def test_a_daemon_writes_a_report_for_each_week_that_is_over(
    home: Path, sessions: Path, start_daemon: StartDaemon
) -> None:
    for weeks in (1, 2, 3):
        write_ended(sessions, f"weeks_ago_{weeks}", _ago(weeks))
    daemon = start_daemon(**QUICK)
    told = [daemon.wait_for_event("report.written", week=_week(weeks)) for weeks in (3, 2, 1)]
    daemon.stop()

    assert [each["sessions"] for each in told] == [1, 1, 1]
    weeks_kept = query(home / DATABASE, "SELECT week_start, report_json FROM weekly_reports ORDER BY week_start")
    assert [json.loads(row["report_json"])["week"] for row in weeks_kept] == [_week(3), _week(2), _week(1)]
    shown = run_command(home, "report", "--week", _week(2), "--format", "json").stdout
    assert json.loads(shown) == json.loads(weeks_kept[1]["report_json"])


def test_a_report_is_made_once_and_again_when_sessions_arrive_late(
    home: Path, sessions: Path, start_daemon: StartDaemon
) -> None:
    write_ended(sessions, "first", _ago(1))
    first = start_daemon(**QUICK)
    first.wait_for_event("report.written", week=_week(1), revision=1)
    first.stop()
    write_ended(sessions, "late", _ago(1))
    second = start_daemon(**QUICK)
    again = second.wait_for_event("report.written", week=_week(1))
    second.stop()

    assert (again["revision"], again["sessions"]) == (2, 2)
    assert "1 session arrived after the first report" in run_command(home, "report", "--week", _week(1)).stdout.replace(
        "\n", " "
    )
    third = start_daemon(arguments=["--once"], **QUICK)
    third.wait_for_end()
    assert third.events("report.written") == []


@pytest.mark.parametrize("form", ["text", "md", "html", "json"])
def test_a_report_is_the_same_bytes_each_time(graded_home: Path, tmp_path: Path, form: str) -> None:
    paths = [tmp_path / f"report_{number}" for number in range(2)]
    for path in paths:
        ended = run_command(graded_home, "report", "--week", "2026-W47", "--format", form, "--out", path)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{path} is written.\n", "")
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert paths[0].stat().st_mode & 0o777 == 0o600
    assert b"2026-W47" in first


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--week", "2026-W60"], "2026-W47", id="no-such-week"),
        pytest.param(["--week", "2999-W01"], "is in the future", id="a-week-to-come"),
        pytest.param(["--out", "/nowhere/at/all.html"], "cannot be written", id="no-such-folder"),
    ],
)
def test_a_report_that_cannot_be_made_gets_one_line(asked_home: Path, arguments: list[str], says: str) -> None:
    ended = run_command(asked_home, "report", *arguments)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert says in ended.stderr


def _ago(weeks: int) -> datetime:
    """A moment of a week that is over for more than an hour, even early on a Monday."""
    return now() - timedelta(weeks=weeks, hours=2)


def _week(weeks_ago: int) -> str:
    year, week, _ = _ago(weeks_ago).isocalendar()
    return f"{year}-W{week:02}"


# -- error issues ------------------------------------------------------------------------------------------------


def test_failures_of_one_cause_are_one_issue_that_people_settle(home: Path, sessions: Path) -> None:
    for name in ("a", "b"):
        write(sessions, name, failing(2))
    run_command(home, "grade", sessions)

    [issue] = json.loads(run_command(home, "report", "errors", "list", "--json").stdout)["issues"]
    fingerprint = issue["fingerprint"]
    assert (issue["failures"], issue["sessions"], issue["state"]) == (4, 2, "new")
    for action, state in (("resolve", "resolved"), ("ignore", "ignored"), ("reopen", "new")):
        said = run_command(home, "report", "errors", action, fingerprint.partition("-")[2][:6]).stdout
        assert said.startswith(f"{fingerprint} is {state}")
    run_command(home, "report", "errors", "ignore", fingerprint)
    assert run_command(home, "report", "errors", "list").stdout == "No error groups.\n"
    assert fingerprint in run_command(home, "report", "errors", "list", "--state", "ignored").stdout


def test_an_issue_tells_what_helped(home: Path, sessions: Path) -> None:
    for number in range(3):
        look, again = json_round(call_id="call_2", tool="read_file"), json_round(call_id="call_3")
        work = [*json_round(PERMISSION_DENIED, call_id="call_1"), *look, *again]
        write(sessions, f"s{number}", [json_user("Read it"), *work, json_answer()])
    run_command(home, "grade", sessions)

    [issue] = json.loads(run_command(home, "report", "errors", "list", "--json").stdout)["issues"]
    shown = run_command(home, "report", "errors", "show", issue["fingerprint"]).stdout

    assert "The call worked later in 3 of 3 tries; no next step clearly helped." in shown
    assert "in 3 sessions of 1 task type" in shown


# -- loops -------------------------------------------------------------------------------------------------------


def test_the_loop_risk_of_a_running_session_is_told_once(sessions: Path, start_daemon: StartDaemon) -> None:
    daemon = start_daemon(**QUICK)
    for failures in (4, 5, 6):
        write(sessions, "looping", failing(failures, answer=None))
        daemon.wait_for_event("session.graded", session_id="looping", errors=failures)
    told = daemon.wait_for_event("session.loop_risk", session_id="looping")
    daemon.stop()
    again = start_daemon(**QUICK)
    write(sessions, "looping", failing(7, answer=None))
    again.wait_for_event("session.graded", session_id="looping", errors=7)
    again.stop()

    assert (told["level"], told["errors"]) == ("warning", 5)
    assert len(daemon.events("session.loop_risk")) == 1
    assert again.events("session.loop_risk") == []
