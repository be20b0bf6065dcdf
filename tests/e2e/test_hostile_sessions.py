"""The daemon among sessions as an enemy would write them: nothing in them is run, followed or kept as it stands."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, DaemonProcess, run_command
from tests.e2e.session_files import content, path_of, write
from tests.hostile import EVIL, Planted, leaky_conversation, write_evil_sessions
from tests.strategies import json_answer, json_round, json_user
from tests.waiting import wait_until

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# -- secrets -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted() -> Planted:
    """Where secrets are."""
    return Planted()


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory, planted: Planted) -> Iterator[DaemonProcess]:
    """A daemon that has graded sessions with secrets everywhere."""
    home = tmp_path_factory.mktemp("leaky")
    sessions = home / ".timmy" / "hermes" / "sessions"
    talk = leaky_conversation(planted)
    place = f"User home directory: /home/me\nCurrent working directory: /home/me/{planted.at('working folder')}\n"
    write(sessions, "leaky", talk, model=planted.at("model"), platform=planted.at("platform"), system_prompt=place)
    cut_short = {**json_answer("No"), "finish_reason": planted.at("finish reason")}
    write(sessions, "strange_end", [*talk[:-1], cut_short], base_url=f"https://u:{planted.at('base url')}@host")
    path_of(sessions, "wrong").write_bytes(
        content("wrong", [{planted.at("key"): 1, "role": {planted.at("inner key"): 1}}])
    )
    path_of(sessions, "cut").write_bytes(content("cut", talk)[:-40])
    daemon = DaemonProcess(home)
    try:
        daemon.wait_for_count(2)
        daemon.wait_for_ledger(path_of(sessions, "wrong"), "dead")
        daemon.wait_for_ledger(path_of(sessions, "cut"), "retry", "dead")
        for told in ("session.quarantined", "session.retry_scheduled"):
            daemon.wait_for_event(told)
        wait_until(lambda: len(daemon.events("session.graded")) == 2, "a line for each grade")
        yield daemon
    finally:
        daemon.end()


def test_secrets_are_not_in_the_bytes_of_the_database(leaky: DaemonProcess, planted: Planted) -> None:
    files = [file for file in leaky.database.parent.rglob("*") if file.is_file()]

    assert any(file.name.endswith("-wal") for file in files)
    assert planted.in_("\n".join(file.read_bytes().decode("latin-1") for file in files)) == set()


def test_secrets_are_not_in_the_log(leaky: DaemonProcess, planted: Planted) -> None:
    names = ("session.graded", "session.quarantined", "session.retry_scheduled", "session.skipped")
    log = json.dumps([leaky.events(name) for name in names])

    assert "strange_end" in log
    assert planted.in_(log + "\n".join(leaky.strange_lines())) == set()


# -- nothing is run ----------------------------------------------------------------------------------------------------

TRAPS = (
    "$(touch {})",
    "`touch {}`",
    "; touch {} ;",
    "| touch {}",
    "'; touch {}; '",
    "\ntouch {}\n",
    "${{IFS}}touch {}",
)


def test_nothing_in_a_session_is_run(start_daemon: StartDaemon, home: Path, sessions: Path) -> None:
    trap = home / "sprung"
    for number, pattern in enumerate(TRAPS):
        text = pattern.format(trap)[:200]
        failed = json_round(json.dumps({"error": text}), tool=text, call_id=text)
        failed[0]["tool_calls"][0]["function"]["arguments"] = json.dumps({"command": text})
        talk = [json_user(text), *failed, json_answer(f"I could not do it: {text}")]
        write(sessions, f"trap_{number}", talk, model=text, platform=text, session_id=f"{number}{text}")
    (sessions / "$(touch ran)").mkdir()
    write(sessions / "$(touch ran)", "`touch ran`;touch ran")
    daemon = start_daemon()
    daemon.wait_for_count(len(TRAPS) + 1)

    for arguments in (["why", "0"], ["report", "--week", "2026-W47"], ["doctor"]):
        assert "Traceback" not in run_command(home, *arguments).stderr

    assert not trap.exists()
    assert list(home.rglob("ran")) == []


# -- what is no file ---------------------------------------------------------------------------------------------------


def _make_socket(path: Path) -> None:
    previous = Path.cwd()
    os.chdir(path.parent)  # the address of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(previous)


def _make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 30)


def _make_folder(path: Path) -> None:
    path.mkdir()
    write(path, "inside")


NO_FILES: dict[str, Any] = {
    "link-to-the-passwords": lambda path: path.symlink_to("/etc/passwd"),
    "link-to-endless-zeros": lambda path: path.symlink_to("/dev/zero"),
    "link-to-a-folder": lambda path: path.symlink_to("/etc"),
    "socket": _make_socket,
    "ten-gigabytes-of-nothing": _make_huge,
    "folder": _make_folder,
}


def test_what_is_no_file_is_neither_followed_nor_read(start_daemon: StartDaemon, sessions: Path) -> None:
    for name, make in NO_FILES.items():
        make(path_of(sessions, name))
    daemon = start_daemon()

    for name in ("link-to-the-passwords", "link-to-endless-zeros", "link-to-a-folder"):
        daemon.wait_for_ledger(path_of(sessions, name), "skipped")
    for name in ("socket", "ten-gigabytes-of-nothing"):
        daemon.wait_for_ledger(path_of(sessions, name), "dead")
    daemon.wait_for_grade("inside")
    write(sessions, "after")
    daemon.wait_for_grade("after")


def test_a_folder_that_is_swapped_for_a_link_is_not_followed(
    start_daemon: StartDaemon, sessions: Path, tmp_path: Path
) -> None:
    write(tmp_path / "outside", "outside").rename(path_of(tmp_path / "outside", "swapped"))
    daemon = start_daemon(quiet_seconds=1)
    daemon.wait_for_event("reconcile.finished")
    write(sessions / "sub", "swapped")
    (sessions / "sub").rename(tmp_path / "was_sub")
    (sessions / "sub").symlink_to(tmp_path / "outside")

    write(sessions, "after")
    daemon.wait_for_grade("after")

    graded = {row["session_id"] for row in daemon.query("SELECT session_id FROM session_grades")}
    assert graded <= {"after", "swapped"}


# -- terminals ---------------------------------------------------------------------------------------------------------


def test_the_daemon_and_the_original_program_show_no_control_characters(home: Path) -> None:
    write_evil_sessions(home / ".timmy" / EVIL / "sessions")

    for arguments in (["--log-format", "console"], ["--log-format", "json"]):
        ended = run_command(home, "run", "--once", *arguments)
        assert "session" in ended.stderr
        assert set(_CONTROL.findall(ended.stdout + ended.stderr)) == set()
    for argument in ("-s", "-r"):
        ended = run_command(home, argument, program="self-grader")
        assert set(_CONTROL.findall(ended.stdout + ended.stderr)) == set()
    assert (home / DATABASE).exists()
