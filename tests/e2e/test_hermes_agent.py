"""A real Hermes Agent that leaves no session files, at work against a scripted model, and the daemon beside it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.needs import require, require_hermes
from tests.waiting import PATIENCE_SECONDS, wait_until

SCRIPTED_MODEL = Path(__file__).parents[3] / "shared" / "tools" / "fake_openai.py"

CONFIGURATION = """\
model:
  default: fake-model
  provider: custom
  base_url: http://127.0.0.1:{port}/s/{scenario}/v1
  api_key: none
"""


class Terminal:
    """Where Hermes is run."""

    def __init__(self, program: str, home: Path, port: int) -> None:
        self._program = program
        self._home = home
        self._port = port
        self.agent_home = home / ".timmy"
        self.work = home / "work"
        self.agent_home.mkdir()
        self.work.mkdir()
        (self.work / "data.txt").write_text("one\ntwo\nthree\n")

    def environment(self) -> dict[str, str]:
        """Return that of the server and of the agent."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            "HERMES_HOME": str(self.agent_home),
            "FAKE_WORK": str(self.work),
        }

    def run(self, scenario: str) -> None:
        """Have a task of a scenario done to its end."""
        configuration = CONFIGURATION.format(port=self._port, scenario=scenario)
        (self.agent_home / "config.yaml").write_text(configuration)
        subprocess.run(
            [self._program, "chat", "-q", f"Do {scenario}"],
            env=self.environment(),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=3 * PATIENCE_SECONDS,
            check=True,
        )


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    """A Hermes whose model is a script."""
    require(SCRIPTED_MODEL.exists(), "the scripted model server of the sample data")
    program = require_hermes()
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


@pytest.mark.releases
def test_sessions_appear_as_they_end_with_failures_and_tokens(terminal: Terminal, start_daemon: StartDaemon) -> None:
    daemon = start_daemon()
    terminal.run("success")
    terminal.run("recover")
    wait_until(lambda: len(daemon.events("session.graded", state="complete")) >= 2, "two sessions")
    rows = daemon.query(
        "SELECT d.*, g.session_file, g.total_errors FROM session_details AS d JOIN session_grades AS g"
        " USING (session_id) ORDER BY g.session_start"
    )
    assert [row["tool_calls"] for row in rows] == [6, 4]
    assert [(row["agent"], row["project"], row["session_file"]) for row in rows] == [
        ("hermes", str(terminal.work), str(terminal.agent_home / "state.db"))
    ] * 2
    assert all(row["input_tokens"] > 10_000 and row["output_tokens"] >= 100 for row in rows)
    assert rows[0]["total_errors"] == 0 < rows[1]["total_errors"]
    assert list((terminal.agent_home / "sessions").glob("session_*")) == []
    beside = {path.name for path in terminal.agent_home.glob("state.db*")}
    assert beside == {"state.db", "state.db-wal", "state.db-shm"}
