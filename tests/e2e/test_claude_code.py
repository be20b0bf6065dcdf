"""A real Claude Code at work against a scripted model, and the daemon beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.scripted_model import Terminal, graded, scripted_terminal, tokens_of
from tests.needs import require_claude_code
from tests.waiting import wait_until

SOURCE = "claude-code"
Run = Callable[[str], None]


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    """Where it works."""
    with scripted_terminal(home) as terminal:
        yield terminal


@pytest.fixture
def run(terminal: Terminal) -> Run:
    """Have a task of a scenario done to its end."""
    program = require_claude_code()

    def run(scenario: str) -> None:
        terminal.run(
            [program, "-p", f"Do {scenario}", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"],
            {
                "ANTHROPIC_API_KEY": "none",
                "ANTHROPIC_BASE_URL": terminal.model("claude", scenario),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "IS_SANDBOX": "1",
            },
        )

    return run


def test_a_session_appears_as_it_ends_with_its_failures_and_tokens(
    terminal: Terminal, run: Run, start_daemon: StartDaemon
) -> None:
    daemon = start_daemon(sources=["hermes", SOURCE])
    run("recover")
    (grade,) = graded(daemon, 1, source=SOURCE)
    served = terminal.served("recover")
    failed = sum(result["is_error"] is True for line in served for result in line["results"])
    assert (grade["agent"], grade["kind"], grade["project"]) == (SOURCE, "main", str(terminal.work))
    assert (grade["total_api_calls"], len(grade["failures"])) == (len(served), failed)
    assert tokens_of([grade]) == (sum(line["usage_in"] for line in served), 20 * len(served))


def test_sub_agents_appear_as_children_of_their_session(
    terminal: Terminal, run: Run, start_daemon: StartDaemon
) -> None:
    daemon = start_daemon(sources=["hermes", SOURCE])
    run("delegate2")
    grades = graded(daemon, 3, source=SOURCE)
    served = terminal.served("delegate2")
    (parent,) = [grade for grade in grades if grade["kind"] == "main"]
    children = [grade for grade in grades if grade["kind"] == "sub_agent"]
    assert [child["parent"] for child in children] == [parent["session_id"]] * 2
    assert sorted(len(child["failures"]) for child in children) == [0, 1]
    used = (sum(line["usage_in"] for line in served), 20 * len(served))
    wait_until(lambda: tokens_of(graded(daemon, 3, source=SOURCE)) == used, "the grade of the whole session", within=60)
