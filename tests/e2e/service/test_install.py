"""``service install | status | logs | uninstall`` with a real systemd."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from grader_daemon.service.daemon_unit import DAEMON
from grader_daemon.service.unit_file import shipped
from tests.e2e.service.box import CONFIG, DATABASE, HOME, PROGRAM, SESSIONS, UNIT, UNIT_FILE, Box
from tests.e2e.service.conftest import Installed
from tests.e2e.session_files import content, path_of, turns
from tests.transcripts import SESSION as TRANSCRIPT
from tests.transcripts import Transcript, call
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)


def test_installing_gets_the_daemon_ready_and_says_what_was_done(installed: Installed) -> None:
    box, said = installed
    shown = box.show("ActiveState", "SubState", "UnitFileState", "Type", "MainPID")
    pid = shown.pop("MainPID")
    assert said.splitlines() == [
        f"Wrote {UNIT_FILE}.",
        f"It can write only to {DATABASE.parent}; it has no network.",
        "Enabled: it starts with your session.",
        f"Started: it is ready, pid {pid}.",
    ]
    assert shown == {"ActiveState": "active", "SubState": "running", "UnitFileState": "enabled", "Type": "notify"}
    assert box.sh(f"stat --format %a {UNIT_FILE} {DATABASE.parent} {DATABASE}").split() == ["600", "700", "600"]


def test_a_session_is_graded_in_the_sandbox(installed: Installed) -> None:
    box, _ = installed
    box.put(path_of(SESSIONS, "worked"), content("worked"))
    box.wait_for_graded("worked")
    assert "worked" in box.grader("list")


def test_installing_again_changes_nothing(installed: Installed) -> None:
    box, _ = installed
    before = box.show("MainPID"), box.sh(f"stat --format %y {UNIT_FILE}")
    assert box.grader("service install") == (
        f"Nothing to do: the service matches your settings, and runs, pid {before[0]['MainPID']}.\n"
    )
    assert (box.show("MainPID"), box.sh(f"stat --format %y {UNIT_FILE}")) == before


def test_status_tells_how_it_is(installed: Installed) -> None:
    installed.box.wait_for(StatusText="1 of 1 folders watched, 0 waiting")
    told = json.loads(installed.box.grader("service status --json"))
    assert told["schema_version"] == 1
    assert [told[name] for name in ("installed", "running", "enabled", "lingers")] == [True] * 4
    assert told["says"] == "1 of 1 folders watched, 0 waiting"
    assert (told["restarts"], told["ended"], told["outdated"]) == (0, None, False)


@pytest.mark.thorough
def test_of_the_home_it_sees_no_more_than_it_needs(installed: Installed) -> None:
    """And is told to be renewed when another agent is to be graded."""
    box, _ = installed
    box.put(HOME / ".claude/projects/p/notes", b"")
    box.put(HOME / "diary", b"")
    pid = box.show("MainPID")["MainPID"]
    seen = box.root(f"ls -A /proc/{pid}/root{HOME}").split()
    assert sorted(seen) == [".config", ".timmy", "venv"]
    assert box.root(f"ls -A /proc/{pid}/root{HOME}/.config").split() == ["grader-daemon"]

    said = box.grader("sources enable claude-code")

    assert "settings or version changed since" in box.run_grader("service status").said
    assert "grader-daemon service install" in said
    box.grader("service install")
    pid = box.show("MainPID")["MainPID"]
    assert box.root(f"ls -A /proc/{pid}/root{HOME}/.claude").split() == ["projects"]


def test_a_reload_reads_the_settings_anew(installed: Installed) -> None:
    box, _ = installed
    before = box.show("MainPID")
    box.sh(f"systemctl --user reload {UNIT}")
    box.wait_for_line('"settings.read"')
    assert box.show("MainPID", "ActiveState") == {**before, "ActiveState": "active"}


@pytest.mark.thorough
def test_logs_are_readable_and_can_be_followed(installed: Installed) -> None:
    box, _ = installed
    box.put(path_of(SESSIONS, "first"), content("first"))
    box.wait_for_graded("first")
    assert re.search(r"  info     .* debugging  first$", box.grader("service logs -n 5"), re.MULTILINE)
    box.put(path_of(SESSIONS, "second"), content("second"))
    followed = box.sh(f"grep --max-count 1 '  second$' < <(timeout 60 {PROGRAM} service logs -f 2>/dev/null)")
    assert "  info     " in followed


def test_a_large_session_is_graded_by_a_process_of_the_sandbox(installed: Installed) -> None:
    box, _ = installed
    box.put(path_of(SESSIONS, "large"), content("large", turns(3, output="line\n" * 200_000)))
    box.wait_for_graded("large")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param({"quiet_seconds": "soon"}, "setting quiet_seconds (environment", id="a-setting"),
        pytest.param({"rules_file": "/nowhere/rules.toml"}, "/nowhere/rules.toml", id="rules"),
        pytest.param({"watch_roots": "/proc/1"}, "/proc", id="a-folder-that-no-service-has"),
        pytest.param(
            {"alert_webhook_secret": "s" * 20}, "ALERT_WEBHOOK_SECRET cannot be passed to the service", id="a-secret"
        ),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_written(
    installed: Installed, settings: dict[str, str], said: str
) -> None:
    box, _ = installed
    before = box.read(UNIT_FILE)
    ended = box.run_grader("service install", **settings)
    assert (ended.code, ended.said) == (2, "")
    assert said in ended.errors
    assert ended.errors.count("\n") == 1
    assert box.read(UNIT_FILE) == before


@pytest.mark.thorough
def test_linger_is_told_with_the_command_that_turns_it_on(installed: Installed) -> None:
    """The manager lives on by a session of its user, whose end would be its own."""
    box, _ = installed
    box.root("systemd-run --quiet --unit=login -p PAMName=login -p User=timmy sleep 600")
    box.root("loginctl disable-linger timmy")
    try:
        said = box.grader("service install"), box.run_grader("service status").said
    finally:
        box.root("loginctl enable-linger timmy && systemctl stop login")
    assert said[0].endswith("\nIt ends when you log out. To keep it running: loginctl enable-linger timmy\n")
    assert "no: loginctl enable-linger timmy\n" in said[1]


def test_what_changed_is_put_in_force(box: Box) -> None:
    """The unit of an older version stands behind a link here, which is not followed."""
    box.grader("service install")
    first = box.show("MainPID")["MainPID"]
    box.sh(f"sed 's/version [0-9.]*/version 0.0.1./' {UNIT_FILE} > old && ln -sf ~/old {UNIT_FILE}")
    assert "settings or version changed since" in box.run_grader("service status").said
    assert f"Wrote {UNIT_FILE}." in box.grader("service install")
    second = box.show("MainPID")["MainPID"]
    assert second != first
    assert box.run(f"test -L {UNIT_FILE}").code == 1
    assert "version 0.0.1." in box.read(HOME / "old")

    box.sh(f"touch --date 'next minute' {UNIT_FILE}")  # as if the installation had ended after it was written
    assert "Started" in box.grader("service install")
    assert box.show("MainPID")["MainPID"] != second


@pytest.mark.thorough
def test_what_is_given_is_passed_on(box: Box) -> None:
    sessions, database = HOME / r"it's 100% of $HOME\n;", HOME / r'''it's 50% of \the "rest"''' / "grades.db"
    box.put(HOME / "settings.toml", b"quiet_seconds = 0.1")
    said = box.grader(
        f"service install --watch-root {shlex.quote(str(sessions))} --watch-root /tmp/more"
        f" --db-path {shlex.quote(str(database))}",
        config="settings.toml",
        timezone="Asia/Tokyo",
    )
    assert f"It can write only to {database.parent};" in said
    for name, folder in (("here", sessions), ("there", Path("/tmp/more"))):
        box.put(path_of(folder, name), content(name))
        box.wait_for_graded(name)
    box.sh(f"test -e {shlex.quote(str(database))}")
    assert box.run(f"ls -A {DATABASE.parent}").said == ""
    environment = box.show("Environment")["Environment"]
    assert f"GRADER_CONFIG={HOME}/settings.toml" in environment
    assert "GRADER_TIMEZONE=Asia/Tokyo" in environment


@pytest.mark.thorough
def test_a_daemon_in_the_foreground_is_not_disturbed(box: Box) -> None:
    box.sh(f"systemd-run --user --quiet --unit=foreground {PROGRAM} run")
    wait_until(lambda: "service.started" in box.run("journalctl --user --unit=foreground").said, "the other daemon")
    ended = box.run_grader("service install")
    box.sh("systemctl --user stop foreground")
    assert ended.code == 2
    assert "another grader-daemon (pid " in ended.errors
    assert box.run(f"test -e {UNIT_FILE}").code == 1


@pytest.mark.thorough
def test_a_receiver_of_alerts_gets_what_it_needs_and_that_is_said(box: Box) -> None:
    box.put(CONFIG, b'alert_webhook_url = "https://example.invalid/"')
    assert "for alert_webhook_url it may use the network" in box.grader("service install")
    assert box.show("PrivateNetwork", "ActiveState") == {"PrivateNetwork": "no", "ActiveState": "active"}
    box.put(CONFIG, b'alert_command = ["notify-send", "graded"]')
    assert "settings or version changed" in box.run_grader("service status").said
    assert "for alert_command it may use" in box.grader("service install")
    assert box.show("MemoryDenyWriteExecute", "ActiveState") == {
        "MemoryDenyWriteExecute": "no",
        "ActiveState": "active",
    }


def test_uninstalling_leaves_the_grades(box: Box) -> None:
    box.put(path_of(SESSIONS, "kept"), content("kept"))
    box.grader("service install", quiet_seconds="0")
    box.wait_for_graded("kept")
    assert box.grader("service uninstall") == f"Stopped and removed. Your grades stay in {DATABASE.parent}.\n"
    assert box.show("LoadState", "ActiveState") == {"LoadState": "not-found", "ActiveState": "inactive"}
    assert box.sh("find .config/systemd -type f -o -type l") == ""
    assert "kept" in box.grader("list")
    assert box.grader("service uninstall") == "Nothing to do: no service is installed.\n"
    nothing = box.run_grader("service status")
    assert nothing.code == 3
    assert "no: grader-daemon service install" in nothing.said


@pytest.mark.thorough
def test_the_unit_of_the_repository_can_be_used_by_hand(box: Box) -> None:
    """The program lies elsewhere than pipx puts it: a drop-in shows that place."""
    box.put(UNIT_FILE, shipped(DAEMON.service).encode())
    box.put(UNIT_FILE.parent / f"{UNIT}.d" / "place.conf", b"[Service]\nBindReadOnlyPaths=%h/venv\n")
    box.sh(f"mkdir -p -m 700 {DATABASE.parent} && mkdir -p .local/bin && ln -s {PROGRAM} .local/bin/")
    box.sh(f"systemctl --user daemon-reload && systemctl --user enable --now {UNIT}")
    assert box.show("ActiveState", "StatusText") == {
        "ActiveState": "active",
        "StatusText": "1 of 1 folders watched, 0 waiting",
    }


@pytest.mark.thorough
def test_an_agent_that_asks_is_answered_from_the_sandbox(box: Box) -> None:
    box.put(CONFIG, b'sources = ["hermes", "claude-code"]\nhook_milliseconds = 20000\n')
    session = HOME / ".claude/projects/-work" / f"{TRANSCRIPT}.jsonl"
    box.put(session, _red_tests().content)
    box.grader("hook install claude-code --yes")
    box.grader("service install")
    settings = json.loads(box.read(HOME / ".claude/settings.json"))
    command = settings["hooks"]["Stop"][0]["hooks"][0]["command"]
    stop = {"session_id": TRANSCRIPT, "transcript_path": str(session), "last_assistant_message": "All tests pass."}
    asked = json.dumps(stop).encode()
    wait_until(lambda: "All tests pass" in box.run(command, content=asked).said, "the answer", within=60)
    assert box.sh(f"stat --format %a {DATABASE}.hook") == "600\n"


def _red_tests() -> Transcript:
    made = Transcript()
    made.prompt("Fix the parser")
    made.answer(call("c1", command="pytest -q"), stop="tool_use")
    made.result("c1", "Exit code 1\n\n1 failed, 2 passed in 0.10s", error=True)
    return made
