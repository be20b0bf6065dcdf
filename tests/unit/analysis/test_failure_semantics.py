"""Results of tools as they really come, and what each of them means: a table in `tests/data/tool_results.jsonl`.

A case is a call with its result, some with what the person asked and the calls before and after it. `is` says
"success", "interrupted", or the category and the kind of the failure. Calls of the terminal are written as a command
line with its exit code and output.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.rules import load_rules
from tests.strategies import answer, session, user
from tests.tables import for_each

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "tool_results.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


def round_of(made: dict[str, Any], number: int) -> tuple[Message, Message]:
    """A call and its result."""
    if "run" in made:
        tool, arguments = "terminal", {"command": made["run"]}
        result = json.dumps({"output": made["output"], "exit_code": made["code"], "error": None})
    else:
        tool, arguments, result = made["tool"], made["arguments"], made["result"]
    call = ToolCall(id=f"call-{number}", function=FunctionCall(name=tool, arguments=json.dumps(arguments)))
    return (
        Message(role="assistant", content="", tool_calls=(call,), finish_reason="tool_calls"),
        Message(role="tool", content=result, name=tool, tool_call_id=f"call-{number}"),
    )


def analysed(case: dict[str, Any], analyzer: Analyzer) -> tuple[Analysis, int]:
    """The session of a case, and where in it the result stands."""
    before, then = case.get("before", []), case.get("then", [])
    rounds = [round_of(made, number) for number, made in enumerate([*before, case, *then])]
    messages = [message for made in rounds for message in made]
    whole = session(user(case.get("request", "Go on")), *messages, answer("That is all."))
    return analyzer.analyze(whole), 2 + 2 * len(before)


@for_each("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_a_result_means_what_its_command_makes_of_it(case: dict[str, Any], analyzer: Analyzer) -> None:
    found, index = analysed(case, analyzer)

    here = [f"{failure.category} {failure.kind}" for failure in found.failures if failure.index == index]
    said = here[0] if here else "interrupted" if found.had_user_interruption else "success"
    assert said == case["is"]


@for_each("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_only_what_is_no_probe_is_an_error(case: dict[str, Any], analyzer: Analyzer) -> None:
    found, index = analysed(case, analyzer)

    counted = {failure.index for failure in found.errors}
    assert (index in counted) == case["is"].endswith((" harmful", " recovered"))
    assert found.total_errors == sum(use.failures for use in found.tools) == len(counted)
    assert {failure.fingerprint for failure in found.errors} == {sign.fingerprint for sign in found.signs}
