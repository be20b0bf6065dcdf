"""A real Codex at work against a scripted model, and the daemon beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.scripted_model import Terminal, graded, scripted_terminal, tokens_of
from tests.needs import require_codex

SOURCE = "codex"
SETTINGS = """\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[analytics]
enabled = false
"""


class Run(Protocol):
    def __call__(self, scenario: str, *, fails: bool = False) -> None:
        """Have a task of a scenario done to its end."""


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    """Where it works."""
    with scripted_terminal(home) as terminal:
        yield terminal


@pytest.fixture
def run(terminal: Terminal) -> Run:
    """See `Run`."""
    program = require_codex()
    settings = terminal.home / ".codex" / "config.toml"
    settings.parent.mkdir()

    def run(scenario: str, *, fails: bool = False) -> None:
        settings.write_text(SETTINGS.format(url=terminal.model("codex", scenario)))
        options = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
        terminal.run([program, "exec", *options, f"Do {scenario}"], {"SCRIPTED_KEY": "none"}, fails=fails)

    return run


def test_a_session_appears_as_it_ends_with_its_failures_and_tokens(
    terminal: Terminal, run: Run, start_daemon: StartDaemon
) -> None:
    daemon = start_daemon(sources=["hermes", SOURCE])
    run("recover")
    (grade,) = graded(daemon, 1, source=SOURCE)
    served = terminal.served("recover")
    results = [result for line in served for result in line["results"]]
    failed = {result["id"] for result in results if "exited with code 1" in result["text"]}
    assert (grade["agent"], grade["kind"], grade["project"]) == (SOURCE, "main", str(terminal.work))
    assert (grade["total_api_calls"], len(grade["failures"])) == (len(served), len(failed))
    assert tokens_of([grade]) == (sum(line["usage_in"] for line in served), 20 * len(served))


def test_a_session_whose_model_cannot_be_asked_any_more_appears_as_interrupted(
    terminal: Terminal, run: Run, start_daemon: StartDaemon
) -> None:
    daemon = start_daemon(sources=["hermes", SOURCE])
    run("api_400", fails=True)
    (grade,) = graded(daemon, 1, source=SOURCE, state="interrupted")
    answered = [line for line in terminal.served("api_400") if line["serve"]["status"] == 200]
    assert grade["task_completed"] is False
    assert tokens_of([grade]) == (sum(line["usage_in"] for line in answered), 20 * len(answered))
