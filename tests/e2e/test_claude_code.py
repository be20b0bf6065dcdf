"""A real Claude Code at work against a scripted model, and the daemon beside it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess, run_command
from tests.needs import require, require_claude_code
from tests.waiting import PATIENCE_SECONDS, wait_until

SCRIPTED_MODEL = Path(__file__).parents[3] / "shared" / "data" / "sources" / "fake_llm.py"


class Terminal:
    """Where Claude Code is run, and what the model's server saw of it."""

    def __init__(self, program: str, home: Path, port: int) -> None:
        self._program = program
        self._home = home
        self._port = port
        self.work = home / "work"
        self.work.mkdir()
        (self.work / "data.txt").write_text("one\ntwo\nthree\n")

    def environment(self) -> dict[str, str]:
        """Return that of the server and of the agent: no key, nothing sent to anyone else."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            "FAKE_WORK": str(self.work),
            "FAKE_LOG": str(self._home / "wire.log"),
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }

    def run(self, scenario: str) -> None:
        """Have a task of a scenario done to its end."""
        subprocess.run(
            [self._program, "-p", f"Do {scenario}", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"],
            env={**self.environment(), "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self._port}/s/claude/{scenario}/one"},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=True,
        )

    def served(self, scenario: str) -> list[dict[str, Any]]:
        """Return what the server noted of each answer, without those that are no part of a conversation."""
        lines = map(json.loads, (self._home / "wire.log").read_text().splitlines())
        return [line for line in lines if line.get("scn") == scenario and line["i"] >= 0]


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    """A Claude Code whose model is a script."""
    require(SCRIPTED_MODEL.exists(), "the scripted model server of the sample data")
    program = require_claude_code()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    terminal = Terminal(program, home, port)
    server = subprocess.Popen([sys.executable, str(SCRIPTED_MODEL), str(port)], env=terminal.environment())

    def answers() -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    try:
        wait_until(answers, "the model's server")
        yield terminal
    finally:
        server.terminate()
        server.wait()


def graded(daemon: DaemonProcess, count: int) -> list[dict[str, Any]]:
    """Wait for so many grades of finished sessions, and return them."""
    wait_until(lambda: len(daemon.events("session.graded", state="complete")) >= count, f"{count} sessions")
    shown = run_command(daemon.home, "list", "--json", sources=["hermes", "claude-code"])
    return list(json.loads(shown.stdout)["grades"])


def tokens_of(grades: list[dict[str, Any]]) -> tuple[int, int]:
    """Return the tokens that were read and written in all sessions together."""
    read = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    return sum(grade[name] for grade in grades for name in read), sum(grade["output_tokens"] for grade in grades)


def test_a_session_appears_as_it_ends_with_its_failures_and_tokens(
    terminal: Terminal, start_daemon: StartDaemon
) -> None:
    daemon = start_daemon(sources=["hermes", "claude-code"])
    terminal.run("recover")
    (grade,) = graded(daemon, 1)
    served = terminal.served("recover")
    failed = sum(result["is_error"] is True for line in served for result in line["results"])
    assert (grade["agent"], grade["kind"], grade["project"]) == ("claude-code", "main", str(terminal.work))
    assert (grade["total_api_calls"], len(grade["failures"])) == (len(served), failed)
    assert tokens_of([grade]) == (sum(line["usage_in"] for line in served), 20 * len(served))


def test_sub_agents_appear_as_children_of_their_session(terminal: Terminal, start_daemon: StartDaemon) -> None:
    daemon = start_daemon(sources=["hermes", "claude-code"])
    terminal.run("delegate2")
    grades = graded(daemon, 3)
    served = terminal.served("delegate2")
    (parent,) = [grade for grade in grades if grade["kind"] == "main"]
    children = [grade for grade in grades if grade["kind"] == "sub_agent"]
    assert [child["parent"] for child in children] == [parent["session_id"]] * 2
    assert sorted(len(child["failures"]) for child in children) == [0, 1]
    assert tokens_of(grades) == (sum(line["usage_in"] for line in served), 20 * len(served))
