"""The first look: what ``grader-daemon`` alone shows."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from grader_daemon import SelfGrader
from grader_daemon.storage.lock import DaemonLock
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import alert
from tests.e2e.session_files import failing, now, turns, write, write_claude, write_ended
from tests.strategies import json_user
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")
SESSIONS = Path(".timmy/hermes/sessions")


@pytest.fixture(autouse=True)
def systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that could run a service."""
    monkeypatch.setattr("grader_daemon.api.overview.has_systemd", lambda: True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with four sessions that worked, three that failed, one without an answer; and five of the week before."""
    at = now()
    for number in range(4):
        write_ended(tmp_path / SESSIONS, f"done{number}", at - timedelta(hours=number + 1), turns(1))
    for number in range(3):
        write_ended(tmp_path / SESSIONS, f"failed{number}", at - timedelta(hours=number + 1), failing(2))
    write_ended(tmp_path / SESSIONS, "dead", at - timedelta(hours=9), [json_user("Fix it")])
    for number in range(5):
        write_ended(tmp_path / SESSIONS, f"before{number}", at - timedelta(days=9, hours=number), turns(1))
    with SelfGrader(db_path=tmp_path / DATABASE, watch_roots=[tmp_path / ".timmy"]) as grader:
        grader.grade_latest_sessions(n=100)
    return tmp_path


def told(shown: str) -> dict[str, str]:
    """What stands behind each name."""
    lines = [line for line in shown.splitlines() if line.strip() and not line.startswith("Next")]
    at = lines[0].index(lines[0].split(None, 1)[1])
    return {line[:at].strip(): line[at:] for line in lines}


def test_the_first_look_tells_how_it_stands(home: Path, run: Run) -> None:
    ended = run(home)

    said = told(ended.stdout)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert said["daemon"].startswith("not running: ")
    assert said["last 7 days"] == "7 sessions counted; not counted: 1 without an answer or a tool call"
    assert said["verdicts"] == "0 done, 0 not done, 7 unsure"
    assert said["completion rate"].startswith("unknown: 0 of 20 random sessions labelled")
    assert said["trust"] == "verdicts by the rules, not yet checked: label 50 sessions"
    assert said["alerts"] == "none are open"
    assert said["new error"].startswith("terminal: permission_denied, 6 failures in 3 sessions")
    assert ended.stdout.endswith("\nNext: grader-daemon service install\n")


def test_the_first_look_counts_unsure_verdicts_apart(home: Path, run: Run) -> None:
    with closing(apsw.Connection(str(home / DATABASE))) as connection:
        last = "SELECT max(day) FROM daily_rollups"
        connection.execute(f"UPDATE daily_rollups SET done = 4, not_done = 2 WHERE day = ({last})")

    assert told(run(home).stdout)["verdicts"] == "4 done, 2 not done, 1 unsure"


def test_an_error_that_is_back_is_called_returned_and_counted_in_these_days(home: Path, run: Run) -> None:
    with closing(apsw.Connection(str(home / DATABASE))) as connection:
        connection.execute("UPDATE error_issues SET resolved_at = '2020-01-01T00:00:00.000000Z'")

    said = told(run(home).stdout)
    assert "new error" not in said
    assert said["returned error"].startswith("terminal: permission_denied, 6 failures in 3 sessions in 7 days; ")


def test_without_systemd_the_daemon_is_run_by_hand(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.api.overview.has_systemd", lambda: False)

    assert run(home).stdout.endswith("\nNext: grader-daemon run\n")


def test_an_agent_that_is_not_graded_is_the_first_thing_to_enable(tmp_path: Path, run: Run) -> None:
    (tmp_path / ".hermes" / "sessions").mkdir(parents=True)
    (tmp_path / ".hermes" / "state.db").touch()
    write(tmp_path / ".hermes" / "sessions", "there")

    shown = run(tmp_path).stdout

    assert told(shown)["not graded"].startswith("Hermes: 1 session in ")
    assert told(shown)["sessions"] == "none is graded yet"
    assert "\nNext: grader-daemon sources enable hermes --path " in shown
    assert not (tmp_path / DATABASE).parent.exists()


def test_a_database_without_grades_does_not_hide_an_agent_that_is_not_graded(tmp_path: Path, run: Run) -> None:
    write_claude(tmp_path)
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    SqliteStore(tmp_path / DATABASE).close()

    assert run(tmp_path).stdout.endswith("\nNext: grader-daemon sources enable claude-code\n")


def test_days_without_sessions_have_no_figures(tmp_path: Path, run: Run) -> None:
    ended = now() - timedelta(days=20)
    write_ended(tmp_path / SESSIONS, "long_ago", ended)
    run(tmp_path, "grade")

    said = told(run(tmp_path).stdout)

    assert said["last 7 days"] == f"no session; 1 older, the last of {ended.date()}: grader-daemon -d 30"
    assert "completion rate" not in said


def test_an_alert_that_is_open_comes_first(home: Path, run: Run) -> None:
    store = SqliteStore(home / DATABASE)
    with store.transaction():
        for _ in range(5):
            store.alerts.add(alert())
    store.close()
    with DaemonLock(home / DATABASE):
        shown = run(home).stdout

    assert sum(line.startswith("alert ") for line in shown.splitlines()) == 3
    assert "and 2 more" in shown
    assert shown.endswith("\nNext: grader-daemon alerts show 5\n")
    assert told(shown)["daemon"].startswith("running, pid ")


def test_the_worst_new_error_is_next_where_all_is_well(home: Path, run: Run) -> None:
    with DaemonLock(home / DATABASE):
        ended = run(home)

    [issue] = json.loads(run(home, "report", "errors", "list", "--json").stdout)["issues"]
    assert ended.stdout.endswith(f"\nNext: grader-daemon report errors show {issue['fingerprint']}\n")


def test_a_file_that_was_given_up_is_counted_and_next(home: Path, run: Run) -> None:
    (home / SESSIONS / "session_broken.json").write_text("[1]")
    run(home, "grade")

    with DaemonLock(home / DATABASE):
        shown = run(home).stdout

    assert told(shown)["last 7 days"].endswith("1 without an answer or a tool call, 1 given up")
    assert shown.endswith("\nNext: grader-daemon doctor\n")


def test_open_sessions_that_go_in_circles_are_named(home: Path, run: Run) -> None:
    for name in ("circling", "fine"):
        write(home / SESSIONS, name, failing(6, answer=None) if name == "circling" else turns(1, answer=None))
    run(home, "grade")

    said = told(run(home).stdout)

    assert said["open"].startswith("2 sessions, the oldest began 2026-11-21 ")
    assert said["open"].endswith("; 1 session may go in circles: circling")
    assert said["last 7 days"].startswith("7 sessions counted; not counted: 2 still open")


def test_the_first_look_as_json(home: Path, run: Run) -> None:
    document = json.loads(run(home, "--json", "-d", "7").stdout)

    assert document["schema_version"] == 1
    assert document["summary"]["sessions"] == document["patterns"]["sessions"] == 7
    assert document["patterns"]["unanswered"] == 1
    assert document["status"]["running"] is False
    assert document["worst_error"]["failures"] == 6
    assert document["open_sessions"] == {"sessions": 0, "since": None, "in_circles": []}


def test_the_sessions_that_most_likely_failed_are_named_with_why(home: Path, run: Run) -> None:
    run(home, "label", "failed1", "--completed", "no")

    shown = run(home).stdout
    looks = json.loads(run(home, "--json").stdout)["looks"]

    assert [look["session_id"] for look in looks][:2] == ["failed0", "failed2"]
    assert {look["why"] for look in looks[:2]} <= {"admits that a part is not done", "the same task was given again"}
    assert "failed0: admits that a part is not done; Fix the date parser" in shown


@pytest.mark.parametrize("command", [[], ["--json"]], ids=["alone", "json"])
def test_a_database_that_is_named_must_be_there(tmp_path: Path, run: Run, command: list[str]) -> None:
    missing = tmp_path / "no" / "such.db"

    ended = run(tmp_path, "--db-path", str(missing), *command)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"no database at {missing}" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_first_look_in_python(home: Path) -> None:
    with SelfGrader(db_path=home / DATABASE, watch_roots=[home / ".timmy"]) as grader:
        seen = grader.overview(days=30)

    assert seen.patterns is not None
    assert seen.patterns.sessions == 12
