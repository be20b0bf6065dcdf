"""Real agents that ask before they stop, against a scripted model that says what is not so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess, run_command
from tests.e2e.scripted_model import Scenarios, Terminal, scripted_terminal
from tests.e2e.test_codex import SETTINGS as CODEX_SETTINGS
from tests.needs import require_claude_code, require_codex, require_hermes
from tests.waiting import wait_until

_RED = "pytest() { echo '1 failed, 2 passed in 0.10s'; return 1; }; pytest -q"
SAID = "All tests pass."
CORRECTED = "One test fails still."
SCENARIOS: Scenarios = {
    "false_done": [
        {"calls": [["sh", {"cmd": _RED}]]},
        {"text": SAID, "sleep": 1},  # as models do: Claude Code writes its file a tenth of a second later
        {"text": CORRECTED},
    ],
    "false_edit": [
        {"calls": [["write_file", {"path": "a.py", "content": "def a():\n    return 1\n"}]]},
        {"calls": [["terminal", {"command": _RED}]]},
        {"text": SAID},
        {"text": CORRECTED},
    ],
}
HERMES_SETTINGS = """\
model:
  default: fake-model
  provider: custom
  base_url: {url}
  api_key: none
hooks_auto_accept: true
"""


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    """Where an agent works."""
    with scripted_terminal(home, SCENARIOS) as terminal:
        yield terminal


@pytest.fixture
def claude_code(terminal: Terminal) -> Callable[[], str]:
    """Have Claude Code do the task, and return what it printed."""
    program = require_claude_code()
    (terminal.home / ".claude").mkdir()
    command = [program, "-p", "Do false_done", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"]
    environment = {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": terminal.model("claude", "false_done"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    return lambda: terminal.run([*command, "--output-format", "stream-json", "--verbose"], environment)


@pytest.fixture
def codex(terminal: Terminal) -> Callable[[], str]:
    """Have Codex do the task, and return what it printed. That our program may run, a person says there once."""
    program = require_codex()
    settings = terminal.home / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(CODEX_SETTINGS.format(url=terminal.model("codex", "false_done")))
    options = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
    return lambda: terminal.run([program, "exec", *options, "Do false_done"], {"SCRIPTED_KEY": "none"})


def installed(terminal: Terminal, agent: str, mode: str, *more: str | Path) -> None:
    """Put the hook into the settings of an agent."""
    options = ("--mode", mode, "--yes", *more)
    done = run_command(terminal.home, "hook", "install", agent, *options, hook_milliseconds=20_000)
    assert done.returncode == 0, done.stderr


def listening(start_daemon: StartDaemon, agent: str) -> DaemonProcess:
    """Start a daemon that grades an agent, and wait until it can be asked."""
    daemon = start_daemon(sources=["hermes", agent])
    place = daemon.database.with_name(f"{daemon.database.name}.hook")
    wait_until(place.exists, "the socket of hooks")
    return daemon


def test_claude_code_is_asked_to_check_what_the_record_contradicts(
    terminal: Terminal, claude_code: Callable[[], str], start_daemon: StartDaemon
) -> None:
    installed(terminal, "claude-code", "block")
    daemon = listening(start_daemon, "claude-code")
    said = claude_code()
    assert CORRECTED in said
    wait_until(lambda: daemon.events("hook.found"), "the finding in the log")
    (found,) = daemon.events("hook.found")
    assert (found["agent"], found["mode"], found["is_told"]) == ("claude-code", "block", True)


def test_codex_is_asked_to_check_what_the_record_contradicts(
    terminal: Terminal, codex: Callable[[], str], start_daemon: StartDaemon
) -> None:
    installed(terminal, "codex", "block")
    daemon = listening(start_daemon, "codex")
    assert CORRECTED in codex()
    wait_until(lambda: daemon.events("hook.found", agent="codex", is_told=True), "the finding in the log")


def test_hermes_is_asked_to_check_what_the_record_contradicts(terminal: Terminal, start_daemon: StartDaemon) -> None:
    program, agent_home = require_hermes(), terminal.home / ".timmy"
    agent_home.mkdir()
    url = f"{terminal.model('opencode', 'false_edit')}/v1"
    (agent_home / "config.yaml").write_text(HERMES_SETTINGS.format(url=url))
    installed(terminal, "hermes", "block", "--file", agent_home / "config.yaml")
    daemon = listening(start_daemon, "hermes")
    said = terminal.run([program, "chat", "-q", "Do false_edit"], {"HERMES_HOME": str(agent_home)})
    assert CORRECTED in said
    wait_until(lambda: daemon.events("hook.found", agent="hermes", is_told=True), "the finding in the log")
