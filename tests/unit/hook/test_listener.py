"""The program that an agent runs, and the thread that it asks, over a real socket."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest
from structlog.testing import capture_logs

from grader_daemon.hook import ask, listener
from grader_daemon.hook.hooked_agents import AGENTS, Mode
from grader_daemon.hook.installation import Hooks, socket_of
from grader_daemon.hook.listener import HookListener, listeners
from tests.unit.hook.conftest import Home, wait_until_asked
from tests.waiting import wait_until

PATIENT = 20_000


@pytest.fixture
def listening(home: Home) -> Iterator[HookListener]:
    """What listens; it is asked within the test."""
    (made,) = listeners(home.settings)
    made.start(lambda _: None)
    wait_until_asked(home.settings)
    yield made
    made.stop(PATIENT / 1000)


def asked(home: Home, payload: bytes, *, mode: str = "tell", milliseconds: int = PATIENT) -> tuple[int, bytes, bytes]:
    """Run our program as an agent does."""
    place = str(socket_of(home.settings.db_path))
    command = [sys.executable, "-I", "-S", ask.__file__, place, "claude-code", mode, str(milliseconds)]
    done = subprocess.run(command, input=payload, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.usefixtures("listening")
def test_an_agent_is_answered_and_only_what_it_printed_counts_as_told(home: Home) -> None:
    code, printed, complained = asked(home, home.stop())
    assert "All tests pass" in json.loads(printed)["systemMessage"]
    assert (code, complained) == (0, b"")
    assert asked(home, home.stop()) == (0, b"", b"")


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("mode", ["tell", "log"])
def test_a_stop_that_was_answered_too_late_is_logged_and_kept(
    home: Home, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_over, gone = listener._hand_over, threading.Event()
    monkeypatch.setattr(listener, "_hand_over", lambda *given: gone.wait(PATIENT / 1000) and hand_over(*given))
    with capture_logs() as logged:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
            agent.connect(str(socket_of(home.settings.db_path)))
            agent.sendall(home.request(mode))
        gone.set()
        wait_until(lambda: any(each["event"] == "hook.found" for each in logged), "the word of it")
    assert [each["is_told"] for each in logged if each["event"] == "hook.found"] == [False]


@pytest.mark.usefixtures("listening")
def test_only_the_user_may_ask(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    mode = socket_of(home.settings.db_path).stat().st_mode
    assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode)) == (True, 0o600)
    monkeypatch.setattr("os.getuid", lambda: os.geteuid() + 1)
    assert asked(home, home.stop()) == (0, b"", b"")


def test_without_a_daemon_an_agent_stops_at_once(home: Home) -> None:
    assert asked(home, home.stop()) == (0, b"", b"")
    ask.main([])


def test_a_daemon_that_hangs_is_not_waited_for(home: Home) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as hanging:
        hanging.bind(str(socket_of(home.settings.db_path)))
        hanging.listen()
        began = monotonic()
        assert asked(home, home.stop(), milliseconds=100) == (0, b"", b"")
        assert monotonic() - began < PATIENT / 1000


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("request_", [b"", b"claude-code tell 9\n{", b"nobody", b"claude-code tell 2\n[]"])
def test_what_no_agent_sends_is_told_and_the_next_is_answered(home: Home, request_: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger, capture_logs() as logged:
        stranger.connect(str(socket_of(home.settings.db_path)))
        stranger.sendall(request_)
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.recv(1) == b""
        wait_until(lambda: any(each["event"] == "hook.unanswered" for each in logged), "the word of it")
    assert asked(home, home.stop())[1] != b""


@pytest.mark.usefixtures("listening")
def test_a_bug_is_told_and_the_next_is_answered(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken, capture_logs() as logged:
        broken.setattr(listener, "_read", lambda _: 1 / 0)
        assert asked(home, home.stop()) == (0, b"", b"")
        wait_until(lambda: any(each["event"] == "hook.crashed" for each in logged), "the word of it")
    assert asked(home, home.stop())[1] != b""


def test_it_takes_the_place_of_one_that_was_killed_and_a_long_path_is_none_too_long(home: Home) -> None:
    folder = home.settings.db_path.parent / ("long" * 30)
    folder.mkdir()
    settings = home.settings.model_copy(update={"db_path": folder / "grades.db"})
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as left:
        here = Path.cwd()
        os.chdir(folder)
        left.bind(socket_of(settings.db_path).name)
        os.chdir(here)
    (made,) = listeners(settings)
    made.start(lambda _: None)
    moved = Home(settings, home.transcript)
    wait_until(lambda: asked(moved, home.stop())[1] != b"", "the answer")
    made.stop(PATIENT / 1000)


def test_where_nobody_can_listen_it_is_told(home: Home) -> None:
    socket_of(home.settings.db_path).mkdir()
    (made,) = listeners(home.settings)
    with capture_logs() as logged:
        made.start(lambda _: None)
        wait_until(lambda: any(each["event"] == "hook.silent" for each in logged), "the word of it")
    made.stop(PATIENT / 1000)


def test_what_answers_is_made_at_the_start_where_an_agent_has_a_hook(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home.transcript.parent))
    hooks = Hooks(home.settings)
    hooks.install(*hooks.planned(AGENTS["codex"], Mode.LOG))
    (made,) = listeners(home.settings)
    made.start(lambda _: None)
    wait_until(home.settings.db_path.exists, "the database, which it opens")
    made.stop(PATIENT / 1000)


def test_a_database_that_cannot_be_opened_at_the_start_is_told_and_opened_when_it_can(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home.transcript.parent))
    hooks = Hooks(home.settings)
    hooks.install(*hooks.planned(AGENTS["codex"], Mode.LOG))
    home.settings.db_path.mkdir()
    (made,) = listeners(home.settings)
    with capture_logs() as logged:
        made.start(lambda _: None)
        wait_until(lambda: any(each["event"] == "hook.unanswered" for each in logged), "the word of it")
    home.settings.db_path.rmdir()
    assert asked(home, home.stop())[1] != b""
    made.stop(PATIENT / 1000)


def test_one_that_never_began_ends(home: Home) -> None:
    (made,) = listeners(home.settings)
    made.stop(0.1)
    assert not socket_of(home.settings.db_path).exists()
