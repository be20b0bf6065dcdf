"""How the daemon starts, stops, and comes back."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, STOP_SECONDS, DaemonProcess, environment, query, run_command
from tests.e2e.session_files import content, path_of, turns, write, write_claude, write_many
from tests.strategies import SESSION_GRADES, WEEKLY_REPORTS, json_answer, json_round, json_user

EVERY_SIGNAL_TO_END = pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name.lower()
)


# -- starting ----------------------------------------------------------------------------------------------------------


def test_a_umask_that_takes_everything_leaves_the_owner_what_is_ours(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon(under=("sh", "-c", 'umask 777; exec "$@"', "sh"))
    write(sessions, "before")
    daemon.wait_for_grade("before")

    made = [daemon.database.parent, *daemon.database.parent.iterdir()]

    assert {path.name: oct(path.stat().st_mode & 0o077) for path in made if path.stat().st_mode & 0o077} == {}
    assert all(path.stat().st_mode & 0o600 == 0o600 for path in made)
    assert daemon.database.parent.stat().st_mode & 0o700 == 0o700


def test_names_that_could_not_be_read_are_told_in_one_line(home: Path, sessions: Path) -> None:
    write(sessions, "größe")
    daemon = DaemonProcess(home, under=("env", "LC_ALL=C", "PYTHONUTF8=0"))
    try:
        assert daemon.wait_for_end() == 2
    finally:
        daemon.end()

    [line] = daemon.strange_lines()
    assert "Python reads file names as" in line
    assert "PYTHONUTF8=1" in line


def test_a_daemon_that_is_forked_is_what_one_is_that_is_started(home: Path) -> None:
    forked, started = (_seen_by_the_kernel(DaemonProcess(home, under=under)) for under in ((), ("env",)))

    assert forked == started
    assert {"/dev/null", "anon_inode:inotify"} <= set(forked["descriptors"])


def _seen_by_the_kernel(daemon: DaemonProcess) -> dict[str, Any]:
    """Return what a daemon that watches has of its start: signals, rights, limits, group, session, terminal, files."""
    own = Path("/proc", str(daemon.pid))
    try:
        daemon.wait_for_event("reconcile.finished")
        kept = re.compile(r"(?:Sig[^Q]|Shd|Umask|[UG]id|Groups|Cap|NoNewPrivs|Threads)")
        _, _, fields = (own / "stat").read_text().rpartition(")")
        return {
            "status": [line for line in (own / "status").read_text().splitlines() if kept.match(line)],
            "group, session, terminal": fields.split()[2:5],
            "limits": (own / "limits").read_text(),
            "folder": os.readlink(own / "cwd"),
            "descriptors": sorted(re.sub(r"\d+", "N", os.readlink(each)) for each in (own / "fd").iterdir()),
            "end": daemon.stop()[0],
        }
    finally:
        daemon.end()


# -- stopping ----------------------------------------------------------------------------------------------------------


@EVERY_SIGNAL_TO_END
def test_a_signal_ends_the_idle_daemon_at_once(
    start_daemon: StartDaemon, sessions: Path, number: signal.Signals
) -> None:
    daemon = start_daemon()
    write(sessions, "before")
    daemon.wait_for_grade("before")

    code, seconds = daemon.stop(number)

    assert code == 0
    assert seconds < STOP_SECONDS
    assert daemon.events("service.stopped")[0]["finished"] is True


def test_a_second_signal_while_it_stops_does_no_harm(start_daemon: StartDaemon, sessions: Path) -> None:
    write_many(sessions, 3000)
    daemon = start_daemon()
    daemon.wait_for_event("session.graded")
    daemon.send(signal.SIGTERM)
    daemon.send(signal.SIGINT)

    code, seconds = daemon.stop()

    assert code == 0
    assert seconds < STOP_SECONDS


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2], ids=lambda number: number.name.lower())
def test_a_signal_that_means_nothing_changes_nothing(
    start_daemon: StartDaemon, sessions: Path, number: signal.Signals
) -> None:
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")

    daemon.send(number)
    write(sessions, "after")

    daemon.wait_for_grade("after")
    assert daemon.stop()[0] == 0


def test_settings_that_change_while_it_works_are_read_at_a_hangup_that_ends_nothing(
    start_daemon: StartDaemon, home: Path, sessions: Path, tmp_path: Path
) -> None:
    """It is the same process under the same lock, and what was written meanwhile is graded."""
    config = home / ".config" / "grader-daemon" / "config.toml"
    elsewhere = tmp_path / "elsewhere"
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")
    config.parent.mkdir(parents=True)
    config.write_text(f"watch_roots = [{json.dumps(str(sessions))}, {json.dumps(str(elsewhere))}]\n")
    write(elsewhere, "other")
    write(sessions, "meanwhile")

    daemon.send(signal.SIGHUP)

    daemon.wait_for_grade("other")
    daemon.wait_for_grade("meanwhile")
    assert [event["roots"][-1] for event in daemon.events("service.started")][1:] == [str(elsewhere)]
    assert daemon.stop()[0] == 0


def test_an_agent_that_is_enabled_is_graded_by_the_daemon_that_runs(start_daemon: StartDaemon, home: Path) -> None:
    path = write_claude(home)
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")

    enabled = run_command(home, "sources", "enable", "claude-code")

    assert "has the new settings" in enabled.stdout
    assert daemon.wait_for_event("session.graded", session_id=path.stem)["agent"] == "claude-code"
    disabled = run_command(home, "sources", "disable", "claude-code", "--json")
    assert json.loads(disabled.stdout)["took_over"] is True
    assert daemon.stop()[0] == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param("idle_minutes = -1\n", "idle_minutes", id="a-setting"),
        pytest.param("rules_file = '~/rules.toml'\n", "rules.toml", id="the-rules"),
        pytest.param("db_path = '/dev/null/grades.db'\n", "/dev/null", id="the-database"),
    ],
)
def test_wrong_settings_leave_a_daemon_at_work_under_those_that_it_has(
    start_daemon: StartDaemon, home: Path, sessions: Path, wrong: str, said: str
) -> None:
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")
    config = home / ".config" / "grader-daemon" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(wrong)

    daemon.send(signal.SIGHUP)

    told = daemon.wait_for_event("settings.rejected")
    assert said in told["error"]
    write(sessions, "after")
    daemon.wait_for_grade("after")
    assert daemon.strange_lines() == []
    assert daemon.stop()[0] == 0


def test_under_nohup_it_outlives_its_terminal(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon(under=["nohup"])
    daemon.wait_for_event("reconcile.finished")

    daemon.send(signal.SIGHUP)
    write(sessions, "after")

    daemon.wait_for_grade("after")
    assert daemon.stop()[0] == 0


# -- starting ----------------------------------------------------------------------------------------------------------


def test_a_session_written_while_no_daemon_ran_is_graded_at_the_next_start(
    start_daemon: StartDaemon, sessions: Path
) -> None:
    write(sessions, "first")
    daemon = start_daemon()
    daemon.wait_for_grade("first")
    daemon.stop()
    write(sessions, "meanwhile")

    daemon = start_daemon()

    daemon.wait_for_grade("meanwhile")
    assert daemon.events("session.graded", session_id="first") == []


def test_an_agent_that_is_not_graded_is_told(home: Path) -> None:
    write(home / ".hermes" / "sessions", "unseen")
    fix = f"grader-daemon sources enable hermes --path {home}/.hermes"

    ran, asked = run_command(home, "run", "--once"), run_command(home, "status")

    [told] = [event for event in map(json.loads, ran.stderr.splitlines()) if event["event"] == "agent.ungraded"]
    assert (told["level"], told["sessions"], told["fix"]) == ("warning", 1, fix)
    assert told["message"] == f"Hermes: 1 session in ~/.hermes, not graded: {fix}"
    assert "Hermes: 1 session in ~/.hermes: grader-daemon sources enable hermes --path ~/.hermes" in asked.stdout


def test_a_folder_that_others_may_write_is_told_at_each_start(home: Path) -> None:
    folder = (home / DATABASE).parent
    folder.mkdir(parents=True)
    folder.chmod(0o777)

    ended = run_command(home, "run", "--once")

    [told] = [event for event in map(json.loads, ended.stderr.splitlines()) if event["event"] == "place.exposed"]
    assert (told["level"], told["path"], told["mode"]) == ("warning", str(folder), "0777")
    assert told["message"] == f"other users can write to ~/.timmy/uniwizard (mode 0777): chmod go-w {folder}"


@pytest.mark.parametrize(
    ("roots", "code"),
    [
        pytest.param([], 0, id="the-default"),
        pytest.param(["there"], 0, id="one-that-is-there"),
        pytest.param(["there", "missing"], 1, id="one-that-is-not"),
    ],
)
def test_a_folder_that_was_named_and_is_not_there_is_no_success(home: Path, roots: list[str], code: int) -> None:
    (home / "there").mkdir()

    ended = run_command(home, "run", "--once", *(part for root in roots for part in ("--watch-root", root)))

    assert ended.returncode == code
    assert ("cannot watch" in ended.stderr) is (code == 1)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        pytest.param("quiet_seconds", "soon", id="not-a-number"),
        pytest.param("quiet_seconds", "-1", id="below-its-range"),
        pytest.param("watch_roots", "~nobody_of_this_name/x", id="home-of-nobody"),
        pytest.param("timezone", "Mars/Olympus", id="no-such-zone"),
        pytest.param("log_level", "loud", id="no-such-level"),
        pytest.param("rules_file", "/nowhere/rules.toml", id="no-such-rules-file"),
        pytest.param("config", "/nowhere/config.toml", id="no-such-settings-file"),
    ],
)
def test_a_wrong_setting_is_told_in_one_line_that_names_it(home: Path, setting: str, value: str) -> None:
    wrong: dict[str, Any] = {setting: value}

    ended = run_command(home, "run", **wrong)

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr
    assert value in ended.stderr


@pytest.mark.parametrize("unusable", ["folder", "text"])
def test_a_database_that_is_none_is_told_in_one_line_and_left_as_it_is(home: Path, unusable: str) -> None:
    path = home / "grades.db"
    if unusable == "folder":
        path.mkdir()
    else:
        path.write_text("These are my notes, and no database at all.\n" * 40)

    ended = run_command(home, "run", db_path=str(path))

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert path.is_dir() or path.read_text().startswith("These are my notes")


def test_files_that_were_there_before_the_first_start_are_graded(start_daemon: StartDaemon, sessions: Path) -> None:
    write_many(sessions, 30)
    write(sessions.parent / "profiles" / "work" / "sessions", "of_a_profile", age=60)

    daemon = start_daemon()

    daemon.wait_for_count(31)
    assert daemon.query("SELECT * FROM session_files WHERE grades <> 1") == []


def test_a_restart_changes_nothing(start_daemon: StartDaemon, sessions: Path) -> None:
    write_many(sessions, 30)
    daemon = start_daemon(arguments=["--once"])
    assert daemon.wait_for_end() == 0
    before = _everything(daemon)

    again = start_daemon(arguments=["--once"])

    assert again.wait_for_end() == 0
    assert _everything(again) == before
    assert again.events("session.graded") == []


def test_once_ends_with_the_verdicts_of_the_judge_that_its_sessions_taught(
    start_daemon: StartDaemon, sessions: Path
) -> None:
    write_many(sessions, 30, messages=turns(30))  # far longer than they ordinarily are elsewhere
    daemon = start_daemon(arguments=["--once"])
    assert daemon.wait_for_end() == 0

    [taught], [finished] = daemon.events("calibration.updated"), daemon.events("run.finished")
    rows = daemon.query("SELECT rules_version FROM session_details")
    assert {row["rules_version"].partition("+")[2] for row in rows} == {taught["now"]}
    told = Counter(event["session_id"] for event in daemon.events("session.graded"))
    assert (len(told), set(told.values())) == (30, {1})
    assert (finished["graded"], finished["redecided"]) == (30, 30)
    assert sum(finished.get(verdict, 0) for verdict in ("done", "not_done", "unsure", "no_answer")) == 30
    ages = daemon.query("SELECT max(grades) AS grades FROM session_files")
    assert ages == [{"grades": 1}]


def test_a_kill_between_grading_and_another_judge_loses_nothing_and_grades_nothing_twice(
    start_daemon: StartDaemon, sessions: Path
) -> None:
    """Each session is a transaction of its own, so that the kill comes in the midst of them."""
    names = write_many(sessions, 30, messages=turns(30))
    daemon = start_daemon(arguments=["--once"], batch_sessions=1)
    daemon.wait_for_event("calibration.updated")
    daemon.kill()
    write(sessions, names[7], turns(31), age=60)  # goes on meanwhile

    again = start_daemon(arguments=["--once"])

    assert again.wait_for_end() == 0
    assert [event["session_id"] for event in again.events("session.graded")] == [names[7]]
    adopted = again.query("SELECT model ->> 'version' AS model FROM calibrations WHERE adopted ORDER BY id DESC")[0]
    judges = again.query("SELECT DISTINCT rules_version FROM session_details")
    assert [row["rules_version"].partition("+")[2] for row in judges] == [f"{adopted['model']}.rules"]
    times = Counter({row["session_id"]: row["grades"] for row in again.query("SELECT * FROM session_files")})
    assert times == Counter(names) + Counter(names[7:8])
    [sums] = again.query(
        "SELECT sum(sessions) AS sessions, sum(predicted_millionths) AS likely FROM daily_rollups"
        " WHERE dimension = 'overall'"
    )
    [rows] = again.query(
        "SELECT count(*) AS sessions, sum(CAST(round(p_completed * 1e6) AS INTEGER)) AS likely FROM session_details"
    )
    assert sums == rows


def test_once_grades_what_is_there_and_ends(start_daemon: StartDaemon, sessions: Path) -> None:
    write_many(sessions, 200)
    write(sessions, "just_written")
    broken = path_of(sessions, "broken")
    broken.write_bytes(content("broken")[:-40])

    daemon = start_daemon(arguments=["--once"])

    assert daemon.wait_for_end() == 1  # for the broken one
    assert daemon.grade_count() == 201
    assert daemon.ledger(broken) is not None


def test_the_database_and_its_folder_are_private(start_daemon: StartDaemon, sessions: Path) -> None:
    write(sessions, "private")
    daemon = start_daemon(arguments=["--once"])
    daemon.wait_for_end()

    assert daemon.database.stat().st_mode & 0o777 == 0o600
    assert daemon.database.parent.stat().st_mode & 0o777 == 0o700


# -- rules and old databases -------------------------------------------------------------------------------------------


def test_changed_rules_grade_everything_again_at_the_next_start(
    start_daemon: StartDaemon, sessions: Path, tmp_path: Path
) -> None:
    failing = json_round('{"output": "a peculiar complaint", "exit_code": 3, "error": null}')
    messages = [json_user("Fix it"), *failing, json_answer()]
    for number in range(20):
        write(sessions, f"judged_{number}", messages, age=60)
    daemon = start_daemon(arguments=["--once"])
    daemon.wait_for_end()
    before = daemon.query("SELECT id, session_id, error_types FROM session_grades ORDER BY id")
    assert {row["error_types"] for row in before} == {'["command_failed"]'}
    [(grades,)] = {tuple(row.values()) for row in daemon.query("SELECT grades FROM session_files")}
    rules = tmp_path / "rules.toml"
    rules.write_text('[failures.categories]\nnetwork_error = ["a peculiar complaint"]\n')

    daemon = start_daemon(rules_file=str(rules))

    daemon.wait_for_rows(
        "SELECT 1 WHERE (SELECT count(*) FROM session_grades WHERE error_types = ?) = 20", '["network_error"]'
    )
    after = daemon.query("SELECT id, session_id FROM session_grades ORDER BY id")
    assert after == [{"id": row["id"], "session_id": row["session_id"]} for row in before]
    assert {row["grades"] for row in daemon.query("SELECT grades FROM session_files")} == {grades + 1}


ORIGINAL_SCHEMA = f"{SESSION_GRADES};\n{WEEKLY_REPORTS};\n"


def test_a_database_of_the_original_program_is_adopted_with_its_rows(
    start_daemon: StartDaemon, sessions: Path, home: Path
) -> None:
    database = home / DATABASE
    _make_original(database)
    original = query(database, "SELECT * FROM session_grades ORDER BY id")
    tables = "SELECT name, sql FROM sqlite_master WHERE name IN ('session_grades', 'weekly_reports') ORDER BY name"
    schema = query(database, tables)
    write(sessions, "known", turns(3))

    daemon = start_daemon()
    write(sessions, "of_today")

    daemon.wait_for_grade("of_today")
    known = daemon.wait_for_grade("known")
    rows = daemon.query("SELECT * FROM session_grades ORDER BY id")
    assert rows[0] == original[0]
    assert known["id"] == original[1]["id"]
    assert known["tool_calls"] == 3
    assert [row["session_id"] for row in rows] == ["of_another_time", "known", "of_today"]
    assert daemon.query("SELECT report_json FROM weekly_reports") == [{"report_json": "{}"}]
    assert daemon.query(tables) == schema


def test_the_rows_of_an_adopted_database_can_be_listed(home: Path, sessions: Path) -> None:
    _make_original(home / DATABASE)
    sessions.mkdir(parents=True, exist_ok=True)

    refused = run_command(home, "list")
    run_command(home, "run", "--once")
    listed = run_command(home, "list")

    assert refused.returncode == 2
    assert "to upgrade it and keep a copy: grader-daemon run --once" in refused.stderr
    assert listed.returncode == 0
    assert "of_another_time" in listed.stdout


def _make_original(database: Path) -> None:
    database.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(database))
    connection.execute(ORIGINAL_SCHEMA)
    for session_id in ("of_another_time", "known"):
        connection.execute(
            "INSERT INTO session_grades VALUES (NULL, ?, '/gone/session.json', '2026-03-30T10:00:00', 1, 4, 3, 1, 7,"
            " 'hermes-4', 'cli', '2026-03-30T09:00:00', 12.5, 'Old work', 1, '[\"timeout\"]', NULL, 0, 0, 0)",
            (session_id,),
        )
    connection.execute("INSERT INTO weekly_reports VALUES (NULL, '2026-03-23', '2026-03-29', '2026-03-30', '{}')")
    connection.close()


def _everything(daemon: DaemonProcess) -> list[object]:
    return [
        daemon.query(f"SELECT * FROM {table} ORDER BY 1, 2")
        for table in ("session_grades", "session_details", "session_failures", "session_files")
    ]


def test_the_end_of_its_terminal_ends_it(home: Path) -> None:
    """Unlike a hangup that somebody sends while the terminal is there."""
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, "-m", "grader_daemon", "run"], environment(home, {}))
    said = b""
    while b" new or changed" not in said:
        said += os.read(terminal, 65_536)
    os.kill(process, signal.SIGHUP)
    while said.count(b" new or changed") < 2:
        said += os.read(terminal, 65_536)

    os.close(terminal)

    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, 120)  # it ended by itself; 120: of Python, which could not flush to what is gone
