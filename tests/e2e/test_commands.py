"""The command line as programs and people use it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, environment, query, run_command
from tests.e2e.session_files import ANSWER, PERMISSION_DENIED, TASK, content, path_of, turns, write
from tests.strategies import json_answer, json_round, json_user
from tests.waiting import PATIENCE_SECONDS, wait_until

COMMANDS = {
    "Every day": ("list", "show", "why", "report", "alerts", "status", "dashboard", "search"),
    "Set up": ("run", "service", "sources", "grade", "config", "hook"),
    "Learn": (*("label", "calibration", "changes", "skills", "route"),),
    "For programs": ("mcp", "fleet", "export"),
    "Operate": ("doctor", "backup"),
}
GRADE_COLUMNS = {
    "session_id": str,
    "session_file": str,
    "graded_at": str,
    "task_completed": bool,
    "tool_calls_efficient": int,
    "response_quality": int,
    "errors_recovered": bool,
    "total_api_calls": int,
    "model": str,
    "platform": str,
    "session_start": str,
    "duration_seconds": float,
    "task_summary": str,
    "total_errors": int,
    "error_types": list,
    "tools_with_errors": list,
    "had_repeated_errors": bool,
    "had_infinite_loop_risk": bool,
    "had_user_clarification": bool,
}
MORE_FIELDS = {
    "state": str,
    "task_type": str,
    "format": str,
    "tool_calls": int,
    "failures": list,
    "reasons": list,
    "p_completed": float,
    "rules_version": str,
}


def _document(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    assert document["schema_version"] == 1
    return document


def _as_stored(name: str, value: object) -> object:
    """Lists are JSON texts in the database; a time may be spelled in several ways."""
    if name in ("graded_at", "session_start"):
        return datetime.fromisoformat(str(value))
    return json.dumps(value) if isinstance(value, list) else value


# -- grade -------------------------------------------------------------------------------------------------------------


def test_grade_gives_the_document_that_is_promised(home: Path, sessions: Path) -> None:
    messages = [json_user(TASK), *json_round(PERMISSION_DENIED), *json_round(call_id="call_2"), json_answer(ANSWER)]
    file = write(sessions, "documented", messages, last_updated="2026-11-21T22:00:00.000001")
    dump = sessions / "request_dump_documented_20261121_220000_000001.json"
    dump.write_text("{}")
    broken = path_of(sessions, "broken")
    broken.write_bytes(b"")

    ended = run_command(home, "grade", "--json", sessions)

    document = _document(ended)
    assert ended.returncode == 1
    assert list(document) == ["schema_version", "grades", "skipped", "errors"]
    [grade] = document["grades"]
    for name, kind in {**GRADE_COLUMNS, **MORE_FIELDS}.items():
        assert type(grade[name]) is kind, name
    stored = query(home / DATABASE, "SELECT * FROM session_grades")[0]
    assert stored.keys() == {"id", *GRADE_COLUMNS}
    for name, value in stored.items():
        assert _as_stored(name, grade[name]) == _as_stored(name, value), name
    assert grade["session_file"] == str(file)
    assert grade["error_types"] == ["permission_denied"]
    [failure] = grade["failures"]
    assert (failure["index"], failure["tool"], failure["kind"]) == (2, "terminal", "recovered")
    assert (failure["category"], failure["subcategory"]) == ("permission_denied", None)
    assert {"score", "rule", "effect", "messages"} == grade["reasons"][0].keys()
    assert [entry["file"] for entry in document["skipped"]] == [str(dump)]
    assert [entry["file"] for entry in document["errors"]] == [str(broken)]


def test_a_dry_run_stores_nothing(home: Path, sessions: Path) -> None:
    write(sessions, "tried")

    ended = run_command(home, "grade", "--dry-run", "--json", sessions)

    [grade] = _document(ended)["grades"]
    assert grade["session_id"] == "tried"
    assert "id" not in grade
    assert not (home / DATABASE).exists()
    assert not (home / DATABASE).parent.exists()


def test_a_dry_run_changes_nothing_in_a_database(graded_home: Path, sessions: Path) -> None:
    write(sessions, "20261121_100000_aaaaaa", turns(5))
    before = query(graded_home / DATABASE, "SELECT * FROM session_grades ORDER BY id")

    ended = run_command(graded_home, "grade", "--dry-run", sessions)

    assert ended.returncode == 0
    assert query(graded_home / DATABASE, "SELECT * FROM session_grades ORDER BY id") == before


def test_files_and_folders_are_graded_together(home: Path, tmp_path: Path) -> None:
    write(tmp_path / "one" / "deep" / "sessions", "in_a_folder")
    single = write(tmp_path / "two", "single")

    document = _document(run_command(home, "grade", "--json", tmp_path / "one", single))

    assert [grade["session_id"] for grade in document["grades"]] == ["in_a_folder", "single"]


def test_a_session_under_another_name_is_graded(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "from a friend.json"
    file.write_bytes(content("renamed"))

    document = _document(run_command(home, "grade", "--json", "--dry-run", file))

    assert [grade["session_id"] for grade in document["grades"]] == ["renamed"]


@pytest.mark.parametrize("arguments", [["--json"], ["--json", "--dry-run"]], ids=["stored", "dry-run"])
def test_an_empty_folder_is_told(home: Path, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "empty").mkdir()

    ended = run_command(home, "grade", *arguments, tmp_path / "empty")

    assert ended.returncode == 1
    error = {"file": str(tmp_path / "empty"), "error": "no session files are below it"}
    assert _document(ended) == {"schema_version": 1, "grades": [], "skipped": [], "errors": [error]}


def test_grading_twice_gives_the_same_document(home: Path, sessions: Path) -> None:
    write(sessions, "twice", turns(3))

    first = run_command(home, "grade", "--json", sessions)
    second = run_command(home, "grade", "--json", sessions)

    assert _document(first) == _document(second)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["grade", "/nowhere/session_x.json"], id="no-such-file"),
        pytest.param(["show", "no_such_session"], id="no-such-session"),
        pytest.param(["why", "no_such_session"], id="no-reasons-of-no-session"),
        pytest.param(["show", "20261121_1"], id="prefix-of-two"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(asked_home: Path, arguments: list[str]) -> None:
    ended = run_command(asked_home, *arguments)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert arguments[1] in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["no-such-command"], id="no-such-command"),
        pytest.param(["list", "--no-such-option"], id="no-such-option"),
        pytest.param(["grade"], id="no-path"),
        pytest.param(["list", "-n", "many"], id="not-a-number"),
        pytest.param(["grade", "--since", "yesteryear"], id="not-a-date"),
    ],
)
def test_wrong_usage_ends_with_2_and_no_traceback(home: Path, arguments: list[str]) -> None:
    ended = run_command(home, *arguments)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr


# -- status ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_status_ends_with_3_when_no_daemon_runs(home: Path, as_json: bool) -> None:
    ended = run_command(home, "status", *(["--json"] if as_json else []))

    assert ended.returncode == 3
    assert not (home / DATABASE).exists()
    if as_json:
        assert _document(ended)["running"] is False
    else:
        assert "not running" in ended.stdout


def test_status_shows_the_running_daemon_and_its_roots(
    start_daemon: StartDaemon, home: Path, sessions: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    root = home / ".timmy"
    roots = [root, missing]
    path_of(sessions, "dead").write_bytes(b"no JSON")
    daemon = start_daemon(root, missing)
    daemon.wait_for_event("reconcile.finished")
    write(sessions, "seen")
    daemon.wait_for_grade("seen")
    daemon.wait_for_ledger(path_of(sessions, "dead"), "dead")
    wait_until(
        lambda: daemon.query("SELECT 1 FROM daemon_status WHERE watching LIKE '%\"watched\"%'"),
        "a status in the database",
    )

    ended = run_command(home, "status", "--json", watch_roots=roots)
    text = run_command(home, "status", watch_roots=roots)

    document = _document(ended)
    assert ended.returncode == text.returncode == 0
    assert document["running"] is True
    assert document["pid"] == daemon.pid
    assert document["daemon"]["watching"][str(root)] == "watched"
    assert document["daemon"]["watching"][str(missing)] != "watched"
    assert document["files"] == {"dead": 1, "graded": 1}
    assert document["last_session_id"] == "seen"
    assert document["lag_seconds"] > 0
    assert str(root) in text.stdout
    assert str(missing) in text.stdout
    assert str(path_of(sessions, "dead")) in text.stdout


def test_status_after_a_crash_says_that_no_daemon_runs(start_daemon: StartDaemon, home: Path, sessions: Path) -> None:
    write(sessions, "seen")
    daemon = start_daemon()
    daemon.wait_for_grade("seen")
    daemon.kill()

    assert run_command(home, "status").returncode == 3


# -- asking ------------------------------------------------------------------------------------------------------------


def test_every_json_answer_has_a_schema_version(asked_home: Path) -> None:
    for arguments in (
        ["list", "--json"],
        ["show", "20261122", "--json"],
        ["why", "20261122", "--json"],
        ["--json"],
        ["status", "--json"],
    ):
        _document(run_command(asked_home, *arguments))


def test_list_shows_every_grade_newest_first(asked_home: Path) -> None:
    text = run_command(asked_home, "list")
    document = _document(run_command(asked_home, "list", "--json"))

    ids = [grade["session_id"] for grade in document["grades"]]
    assert text.returncode == 0
    assert ids == ["20261122_110000_cccccc", "20261121_100000_bbbbbb", "20261121_100000_aaaaaa"]
    heads, *rows = text.stdout.splitlines()
    assert heads.startswith("session ")
    assert [row.split()[0] for row in rows] == ids


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["--state", "open"], ["20261122_110000_cccccc"], id="by-state"),
        pytest.param(["--task-type", "deployment"], ["20261121_100000_bbbbbb"], id="by-task-type"),
        pytest.param(["--completed", "--state", "complete"], ["20261121_100000_aaaaaa"], id="completed-ones"),
        pytest.param(["-n", "1"], ["20261122_110000_cccccc"], id="by-number"),
    ],
)
def test_list_can_be_narrowed(asked_home: Path, arguments: list[str], expected: list[str]) -> None:
    document = _document(run_command(asked_home, "list", "--json", *arguments))

    assert [grade["session_id"] for grade in document["grades"]] == expected


def test_the_claims_of_a_session_are_shown_with_their_verdicts(home: Path, sessions: Path) -> None:
    write(sessions, "claiming", [json_user(), *json_round(), json_answer("I saved it to out/report.md.")])
    run_command(home, "grade", str(sessions))

    claim = {
        "kind": "file_written",
        "support": "contradicted",
        "subject": "out/report.md",
        "index": 3,
        "evidence": [],
        "reason": "no_call",
        "words": "I saved it to out/report.md",
    }
    assert _document(run_command(home, "why", "claiming", "--json"))["claims"] == [claim]
    assert _document(run_command(home, "show", "claiming", "--json"))["grade"]["claims"] == [claim]
    for command in ("show", "why"):
        assert "file written: out/report.md  contradicted" in run_command(home, command, "claiming").stdout
    assert "1 contradicted" in run_command(home, "list").stdout


def test_a_unique_prefix_is_enough(asked_home: Path) -> None:
    text = run_command(asked_home, "show", "20261121_100000_b")
    document = _document(run_command(asked_home, "show", "--json", "20261121_100000_b"))

    assert text.returncode == 0
    assert "20261121_100000_bbbbbb" in text.stdout
    assert "permission_denied  no\n" in text.stdout
    assert document["grade"]["session_id"] == "20261121_100000_bbbbbb"


def test_why_shows_the_messages_that_prove_the_reasons(asked_home: Path) -> None:
    text = run_command(asked_home, "why", "20261121_100000_b")
    document = _document(run_command(asked_home, "why", "--json", "20261121_100000_b"))

    assert text.returncode == 0
    assert "could not" in text.stdout
    assert "permission_denied  no\n" in text.stdout
    assert document["messages"]["3"].startswith("assistant: I could not deploy")
    assert [failure["kind"] for failure in document["failures"]] == ["harmful"]
    assert {reason["score"] for reason in document["reasons"]} >= {"task_completed", "response_quality"}


def test_why_works_when_the_session_file_is_gone(graded_home: Path, sessions: Path) -> None:
    path_of(sessions, "20261121_100000_bbbbbb").unlink()

    ended = run_command(graded_home, "why", "20261121_100000_b")

    assert ended.returncode == 0
    assert "cannot be shown" in ended.stdout


def test_summary_counts_finished_sessions_only(asked_home: Path) -> None:
    text = run_command(asked_home, "-d", "1")
    document = _document(run_command(asked_home, "--json", "-d", "1"))

    assert text.returncode == 0
    assert document["summary"]["sessions"] == 2
    assert document["summary"]["open_sessions"] == 1
    assert document["patterns"]["error_types"] == {"permission_denied": 1}
    assert "2 sessions counted; not counted: 1 still open" in text.stdout


def test_the_first_look_at_a_home_without_any_sessions_is_no_error(home: Path) -> None:
    ended = run_command(home)

    assert ended.returncode == 0
    assert "none is graded yet" in ended.stdout
    assert ended.stderr == ""


def test_a_list_without_a_database_is_one_line(home: Path) -> None:
    ended = run_command(home, "list")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"grader-daemon: no database at {home / DATABASE}: nothing was graded yet; start: grader-daemon run\n"
    )


# -- help --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "list", "fleet"])
def test_a_command_has_help(home: Path, command: str) -> None:
    """One that stays, one that asks and one of a wing; all of them: see the unit tests of usage."""
    ended = run_command(home, command, "--help")

    assert ended.returncode == 0
    assert ended.stdout.startswith(f"Usage: grader-daemon {command}")
    assert ended.stderr == ""


def test_the_help_names_every_command_below_what_it_is_for(home: Path) -> None:
    ended = run_command(home, "--help")

    assert ended.returncode == 0
    assert run_command(home, "-h").stdout == ended.stdout
    *sections, examples = ended.stdout.split("\n\n")[-len(COMMANDS) - 1 :]
    named = {section.partition(":")[0]: tuple(re.findall(r"^  (\w+)", section, re.MULTILINE)) for section in sections}
    assert named == COMMANDS
    assert examples.lstrip().startswith("Examples:\n    grader-daemon ")


def test_the_module_is_the_command(home: Path) -> None:
    ended = [
        subprocess.run(
            [sys.executable, "-m", module, *arguments],
            env=environment(home, {}),
            capture_output=True,
            check=False,
            text=True,
        )
        for module, arguments in (("grader_daemon", ["--version"]), ("grader_daemon", ["list", "--help"]))
    ]

    assert [process.returncode for process in ended] == [0, 0]
    assert ended[0].stdout.startswith("grader-daemon, version ")


def test_self_grader_without_options_shows_its_help(home: Path) -> None:
    ended = run_command(home, program="self-grader")

    assert ended.returncode == 0
    assert ended.stdout.startswith("Usage: self-grader")


def test_a_wrong_setting_is_told_by_every_command_in_one_line(home: Path) -> None:
    for command in (["list"], ["status"], ["grade", "."], ["grade"], ["why", "x"]):
        ended = run_command(home, *command, quiet_seconds="soon")
        assert ended.returncode == 2
        assert ended.stderr.count("\n") == 1
        assert "quiet_seconds" in ended.stderr


def test_the_demo_shows_its_samples_and_leaves_nothing_behind(home: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    ended = subprocess.run(
        [sys.executable, "-m", "grader_daemon", "grade", "--demo"],
        env={**environment(home, {}), "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )

    assert ended.returncode == 0
    assert ended.stderr == ""
    assert ended.stdout.count("graded") >= 4
    assert "None" not in ended.stdout
    assert list(temporary.iterdir()) == []
    assert list(home.iterdir()) == []


def test_the_demo_uses_none_of_the_settings_and_reads_none_of_the_sessions(home: Path, tmp_path: Path) -> None:
    """A home with another agent enabled, whose sessions it must not grade, and with settings that cannot be used."""
    project = home / ".claude" / "projects" / "x"
    project.mkdir(parents=True)
    ident = "11111111-2222-4333-8444-555555555556"
    line = {"type": "user", "uuid": "a", "sessionId": ident, "message": {"role": "user", "content": "Mine alone."}}
    (project / f"{ident}.jsonl").write_text(json.dumps(line) + "\n")
    folder = home / ".config" / "grader-daemon"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('sources = ["hermes", "claude-code"]\nalert_webhook_url = "no address"\n')

    ended = subprocess.run(
        [sys.executable, "-m", "grader_daemon", "grade", "--demo"],
        env={**environment(home, {}), "TMPDIR": str(tmp_path), "GRADER_QUIET_SECONDS": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("graded") == 4
    assert "claude-code" not in ended.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["list", "--json"], id="what-is-there"),
        pytest.param(["show", "nothing"], id="what-is-not-there"),
        pytest.param(["list", "--nonsense"], id="wrong-usage"),
        pytest.param(["status"], id="no-daemon"),
        pytest.param(["config", "completion", "fish"], id="much"),
    ],
)
def test_a_command_that_is_forked_says_what_one_does_that_is_started(
    home: Path, sessions: Path, arguments: list[str]
) -> None:
    write(sessions, "one", turns(2))
    run_command(home, "grade", sessions)

    forked, started = run_command(home, *arguments), run_command(home, *arguments, under=["env"])

    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)
    assert forked.stdout + forked.stderr
