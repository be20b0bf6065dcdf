"""A real agent at work against a scripted model: its terminal, and the server that comes with the sample data."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.e2e.daemon_process import DaemonProcess, run_command
from tests.needs import require
from tests.waiting import PATIENCE_SECONDS, wait_until

_SERVER = Path(__file__).parents[3] / "shared" / "data" / "sources" / "fake_llm.py"

_SERVE = """
import json, runpy, sys
server, port, scenarios = sys.argv[1:]
sys.argv = [server, port]
names = runpy.run_path(server)
names["S"].update(json.loads(scenarios))
names["MAP"]["itself"] = {}
names["ThreadingHTTPServer"].daemon_threads = True
names["ThreadingHTTPServer"](("127.0.0.1", int(port)), names["H"]).serve_forever()
"""

Scenarios = Mapping[str, Sequence[Mapping[str, Any]]]
"""Steps of a scenario by its name: ``{"calls": [["sh", {"cmd": "ls"}]]}`` or ``{"text": "Done."}``.

For the agent `ITSELF` calls are served as they stand there, by the names of its own tools.
"""

ITSELF = "itself"


class Terminal:
    """Where an agent is run, and what the model's server saw of it; no key, and nothing sent to anyone else."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir()
        (self.work / "data.txt").write_text("one\ntwo\nthree\n")
        self._port = port

    def model(self, agent: str, scenario: str) -> str:
        """Return the address of the model that plays a scenario."""
        return f"http://127.0.0.1:{self._port}/s/{agent}/{scenario}/one"

    def environment(self) -> dict[str, str]:
        """Return that of the server and of the agent."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "FAKE_WORK": str(self.work),
            "FAKE_LOG": str(self.home / "wire.log"),
        }

    def run(self, command: Sequence[str], environment: Mapping[str, str], *, fails: bool = False) -> str:
        """Have a task done to its end, and return what was printed."""
        done = subprocess.run(
            command,
            env={**self.environment(), **environment},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert (done.returncode != 0) is fails, done.stderr.decode()
        return done.stdout.decode()

    @contextmanager
    def begun(self, command: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
        """Have a task begun, in a group of processes of its own; none of them is left at the end of the block."""
        agent = subprocess.Popen(
            command,
            env={**self.environment(), **environment},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield agent
        finally:
            with suppress(ProcessLookupError):
                os.killpg(agent.pid, signal.SIGKILL)
            agent.wait()

    def served(self, scenario: str) -> list[dict[str, Any]]:
        """Return what the server noted of each answer, without those that are no part of a conversation."""
        lines = map(json.loads, (self.home / "wire.log").read_text().splitlines())
        return [line for line in lines if line.get("scn") == scenario and line["i"] >= 0]


@contextmanager
def scripted_terminal(home: Path, scenarios: Scenarios | None = None) -> Iterator[Terminal]:
    """Serve the model while a terminal is used; `scenarios` are played beside those that the server knows."""
    require(_SERVER.exists(), "the scripted model server of the sample data")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    terminal = Terminal(home, port)
    command = [sys.executable, "-c", _SERVE, str(_SERVER), str(port), json.dumps(scenarios or {})]
    server = subprocess.Popen(command, env=terminal.environment())

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


def graded(daemon: DaemonProcess, count: int, *, source: str, state: str = "complete") -> list[dict[str, Any]]:
    """Wait for so many grades of finished sessions, and return them."""
    wait_until(lambda: len(daemon.events("session.graded", state=state)) >= count, f"{count} sessions")
    shown = run_command(daemon.home, "list", "--json", sources=["hermes", source])
    return list(json.loads(shown.stdout)["grades"])


def tokens_of(grades: list[dict[str, Any]]) -> tuple[int, int]:
    """Return the tokens that were read and written in all sessions together, as far as they are known."""
    read = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    return sum(grade[name] or 0 for grade in grades for name in read), sum(grade["output_tokens"] for grade in grades)
