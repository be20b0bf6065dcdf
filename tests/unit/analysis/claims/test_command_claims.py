from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.rules import load_rules
from tests.strategies import answer, session, user

OK = '{"output": "", "exit_code": 0, "error": null}'
FAILED = '{"output": "boom", "exit_code": 1, "error": null}'


def supports(said: str, *calls: tuple[str, dict[str, object], str]) -> list[str]:
    """Standing of each claim, in a session with these calls."""
    messages = []
    for tool, given, result in calls:
        function = FunctionCall(name=tool, arguments=json.dumps(given))
        messages.append(Message(role="assistant", tool_calls=(ToolCall(id="c", function=function),)))
        messages.append(Message(role="tool", content=result, tool_call_id="c", name=tool))
    found = Analyzer(load_rules()).analyze(session(user("Do it"), *messages, answer(said)))
    return [claim.support.value for claim in found.claims]


def shell(command: str, result: str = OK, **more: object) -> tuple[str, dict[str, object], str]:
    return "terminal", {"command": command, **more}, result


@pytest.mark.parametrize(
    ("said", "call"),
    [
        pytest.param("The script ran successfully.", shell("./a.sh"), id="script"),
        pytest.param("The program executed without errors.", shell("cd /app && python3 a.py"), id="interpreter"),
        pytest.param("The pipeline completed successfully.", shell("bash run_pipeline.sh"), id="pipeline"),
        pytest.param("The code ran successfully.", ("python", {"code": "print(1)"}, "1"), id="code"),
        pytest.param("The script ran successfully.", ("execute", {"content": "!python a.py"}, "1"), id="cell"),
        pytest.param("The training process has completed.", shell("python3 train.py"), id="process-of-a-name"),
    ],
)
def test_a_program_without_a_name_is_the_last_one_that_ran(said: str, call: tuple[str, dict[str, object], str]) -> None:
    assert supports(said, call, shell("ls")) == ["verified"]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(shell("bash a.sh", FAILED), id="failed"),
        pytest.param(shell("bash a.sh | tail -1; true"), id="hidden"),
        pytest.param(shell("bash a.sh", run_in_background=True), id="in-the-background"),
        pytest.param(shell("tmux send-keys a"), id="no-script"),
        pytest.param(shell("ls"), id="only-looked"),
        pytest.param(shell("bash a.sh", '{"output": "It is still running.", "exit_code": 0}'), id="still-running"),
    ],
)
def test_what_is_not_seen_to_run_well_has_no_standing(call: tuple[str, dict[str, object], str]) -> None:
    assert supports("The script ran successfully.", call) == []


def test_a_pipeline_is_a_program_of_that_name() -> None:
    assert supports("The pipeline ran successfully.", shell("bash a.sh")) == []


PUSHED = "To git.example:app.git\n   91fe0aa..3c1e9d0  main -> main"


@pytest.mark.parametrize(
    ("said", "command", "output", "expected"),
    [
        pytest.param(
            "I pushed it to the branch `feature/x`.", "git push origin main", PUSHED, "contradicted", id="other-branch"
        ),
        pytest.param("I pushed it to `main`.", "git push origin main", PUSHED, "verified", id="that-branch"),
        pytest.param("I pushed it to `origin`.", "git push origin main", PUSHED, "verified", id="the-remote"),
        pytest.param("I pushed it to `feature/x`.", "git push", "Everything up-to-date", "verified", id="unknown"),
        pytest.param("I pushed the fix.", "git push", PUSHED, "verified", id="no-branch-is-named"),
    ],
)
def test_a_push_is_held_against_the_branch_that_it_went_to(said: str, command: str, output: str, expected: str) -> None:
    assert supports(said, shell(command, json.dumps({"output": output, "exit_code": 0}))) == [expected]


def test_a_commit_that_a_hook_refused_is_none_though_the_line_ends_well() -> None:
    refused = "ruff....Failed\n- hook id: ruff\na.py:3:2: F821 Undefined name\n5510cce docs: typo"
    call = shell("git commit -qam 'perf'; git log --oneline -1", json.dumps({"output": refused, "exit_code": 0}))
    assert supports("I committed the change.", call) == ["contradicted"]
    done = refused.replace("5510cce docs: typo", "[main 3f90c1e] perf")
    again = shell("git commit -am 'perf'", json.dumps({"output": done, "exit_code": 0}))
    assert supports("I committed the change.", again) == ["verified"]
