"""Agents that keep sessions in ways of their own, at work against a scripted model, and the daemon beside them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.scripted_model import ITSELF, Scenarios, Terminal, graded, scripted_terminal, tokens_of
from tests.needs import require_cline, require_copilot, require_openclaw, require_pi, require_qwen_code
from tests.waiting import PATIENCE_SECONDS

Call = tuple[str, Mapping[str, Any]]


class Agent(NamedTuple):
    """An agent: its program, how it is told which model to ask, and what it calls the tools that the tasks need."""

    source: str
    required: Callable[[], list[str]]
    asks: Callable[[Terminal, str], Mapping[str, str]]
    """Keeps the address of a model in its settings, or returns it as environment."""

    options: Sequence[str]
    shell: Callable[[str], Call]
    read: Callable[[Path], Call]
    edit: Callable[[Path, str, str], Call]
    tells_ctrl_c: bool = True
    """Does it write down that a person stopped it? Else its session stands as if it had been killed."""


def _copilot_asks(_: Terminal, url: str) -> Mapping[str, str]:
    asks = {"BASE_URL": f"{url}/v1", "TYPE": "openai", "API_KEY": "none", "MAX_PROMPT_TOKENS": "128000"}
    named = {f"COPILOT_PROVIDER_{name}": value for name, value in asks.items()}
    return named | {"COPILOT_OFFLINE": "true", "COPILOT_MODEL": "fake-model", "COPILOT_AUTO_UPDATE": "false"}


def _cline_asks(terminal: Terminal, url: str) -> Mapping[str, str]:
    """Its hub, a process that stays behind at a port of all homes, is left out."""
    options = ["-p", "openai", "-k", "none", "-m", "fake-model", "-b", f"{url}/v1"]
    offline = {"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1", "CLINE_SESSION_BACKEND_MODE": "local"}
    terminal.run([*require_cline(), "auth", *options], offline)
    return offline


def _qwen_asks(_: Terminal, url: str) -> Mapping[str, str]:
    return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "fake-model"}


def _openclaw_asks(terminal: Terminal, url: str) -> Mapping[str, str]:
    model = {"id": "fake-model", "name": "fake", "input": ["text"], "contextWindow": 128_000, "maxTokens": 8_000}
    provider = {"baseUrl": f"{url}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
    defaults = {"model": {"primary": "scripted/fake-model"}, "workspace": str(terminal.work), "skipBootstrap": True}
    settings = terminal.home / ".openclaw" / "openclaw.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(
        json.dumps(
            {
                "agents": {"defaults": defaults},
                "tools": {"exec": {"security": "full", "ask": "off", "host": "gateway"}},
                "update": {"checkOnStart": False},
                "models": {"mode": "replace", "providers": {"scripted": provider}},
            }
        )
    )
    return {}


def _pi_asks(terminal: Terminal, url: str) -> Mapping[str, str]:
    model = {"id": "fake-model", "contextWindow": 128_000, "maxTokens": 8_000}
    provider = {"baseUrl": f"{url}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
    models = terminal.home / ".pi" / "agent" / "models.json"
    models.parent.mkdir(parents=True)
    models.write_text(json.dumps({"providers": {"scripted": provider}}))
    return {"PI_OFFLINE": "1"}


COPILOT = Agent(
    "copilot",
    require_copilot,
    _copilot_asks,
    ("--allow-all-tools", "-p"),
    lambda line: ("bash", {"command": line, "description": "Run it", "mode": "sync"}),
    lambda path: ("view", {"path": str(path)}),
    lambda path, old, new: ("edit", {"path": str(path), "old_str": old, "new_str": new}),
)
CLINE = Agent(
    "cline",
    require_cline,
    _cline_asks,
    (),
    lambda line: ("run_commands", {"commands": [line]}),
    lambda path: ("read_files", {"files": [{"path": str(path)}]}),
    lambda path, old, new: ("editor", {"path": str(path), "old_text": old, "new_text": new}),
)
QWEN_CODE = Agent(
    "qwen-code",
    require_qwen_code,
    _qwen_asks,
    ("--auth-type", "openai", "--yolo", "-p"),
    lambda line: ("run_shell_command", {"command": line, "is_background": False, "description": "Run it"}),
    lambda path: ("read_file", {"file_path": str(path)}),
    lambda path, old, new: ("edit", {"file_path": str(path), "old_string": old, "new_string": new}),
)
OPENCLAW = Agent(
    "openclaw",
    require_openclaw,
    _openclaw_asks,
    ("agent", "--local", "--session-id", "one", "--message"),
    lambda line: ("exec", {"command": line}),
    lambda path: ("read", {"path": str(path)}),
    lambda path, old, new: ("edit", {"path": str(path), "edits": [{"oldText": old, "newText": new}]}),
    tells_ctrl_c=False,
)
PI = Agent(
    "pi",
    require_pi,
    _pi_asks,
    ("--provider", "scripted", "--model", "fake-model", "-p"),
    lambda line: ("bash", {"command": line}),
    lambda path: ("read", {"path": str(path)}),
    lambda path, old, new: ("edit", {"path": str(path), "edits": [{"oldText": old, "newText": new}]}),
    tells_ctrl_c=False,
)

_EACH = [
    pytest.param(COPILOT, id="copilot"),
    pytest.param(CLINE, id="cline", marks=pytest.mark.thorough),
    pytest.param(QWEN_CODE, id="qwen-code", marks=pytest.mark.releases),
    pytest.param(OPENCLAW, id="openclaw", marks=pytest.mark.releases),
    pytest.param(PI, id="pi", marks=pytest.mark.releases),
]


def _scenarios(agent: Agent, work: Path) -> Scenarios:
    data = work / "data.txt"
    mended: Sequence[Call] = [
        agent.shell("exit 3"),
        agent.read(data),
        agent.edit(data, "three", "four"),
        agent.shell("grep four data.txt"),
    ]
    stopped: Sequence[Call] = [agent.shell("exit 3"), agent.shell("python3 -c 'import time; time.sleep(100)'")]
    return {
        "mended": [*({"calls": [call]} for call in mended), {"text": "The last line says four."}],
        "stopped": [{"calls": [call]} for call in stopped],
    }


@pytest.fixture
def terminal(home: Path, agent: Agent) -> Iterator[Terminal]:
    """Where the agent works."""
    agent.required()
    with scripted_terminal(home, _scenarios(agent, home / "work")) as terminal:
        yield terminal


@pytest.mark.parametrize("agent", _EACH)
def test_a_session_appears_as_it_ends_with_its_calls_failures_and_tokens(
    agent: Agent, terminal: Terminal, start_daemon: StartDaemon
) -> None:
    daemon = start_daemon(sources=["hermes", agent.source])
    asks = agent.asks(terminal, terminal.model(ITSELF, "mended"))
    terminal.run([*agent.required(), *agent.options, "Mend it"], asks)

    (grade,) = graded(daemon, 1, source=agent.source)
    served = terminal.served("mended")

    assert (terminal.work / "data.txt").read_text() == "one\ntwo\nfour\n"
    assert (grade["agent"], grade["kind"], grade["project"]) == (agent.source, "main", str(terminal.work))
    assert (grade["total_api_calls"], grade["tool_calls"]) == (len(served), 4)
    assert [failure["index"] for failure in grade["failures"]] == [2]
    assert tokens_of([grade]) == (sum(line["usage_in"] for line in served), 20 * len(served))


@pytest.mark.releases
@pytest.mark.parametrize("agent", [COPILOT, CLINE, QWEN_CODE, OPENCLAW, PI], ids=lambda agent: agent.source)
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill-9"])
def test_a_session_whose_agent_is_stopped_in_a_call_shows_that_call_without_its_end(
    agent: Agent, terminal: Terminal, start_daemon: StartDaemon, by: signal.Signals
) -> None:
    state = "interrupted" if by is signal.SIGINT and agent.tells_ctrl_c else "open"
    daemon = start_daemon(sources=["hermes", agent.source])
    asks = agent.asks(terminal, terminal.model(ITSELF, "stopped"))
    standing = "SELECT * FROM session_details WHERE tool_calls = 2 AND state = ?"
    with terminal.begun([*agent.required(), *agent.options, "Stop it"], asks) as process:
        daemon.wait_for_rows(standing, "open")
        os.killpg(process.pid, by)
        process.wait(PATIENCE_SECONDS)
        daemon.wait_for_rows(standing, state)

    (grade,) = graded(daemon, 1, source=agent.source, state=state)
    served = terminal.served("stopped")

    assert [failure["index"] for failure in grade["failures"]] == [2]
    assert tokens_of([grade]) == (sum(line["usage_in"] for line in served), 20 * len(served))
