"""What agents report of their calls, and the frames that they put around what a call said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.analysis.tool_calls.frames import without_frame
from grader_daemon.analysis.tool_calls.outcomes import OutcomeReader
from grader_daemon.domain.analysis import CallStatus, Category
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import ReportedOutcome
from tests.calls import call
from tests.tables import for_each

FAILED = CallStatus.FAILURE
WORKED = CallStatus.SUCCESS
INTERRUPTED = 130
NOTHING_SAID = "(no output)"
COMMANDS = [
    case
    for line in (Path(__file__).parents[3] / "data" / "tool_results.jsonl").read_text("utf-8").splitlines()
    if "run" in (case := json.loads(line)) and case["code"] != INTERRUPTED and case["output"] != NOTHING_SAID
]


@pytest.fixture
def reader(rules: Rules) -> OutcomeReader:
    return OutcomeReader(rules.failures)


def claude(output: str, code: int) -> str:
    return f"Exit code {code}\n{output}" if code else output


def codex(output: str, code: int) -> str:
    return (
        f"Chunk ID: 9f3e01\nWall time: 0.0515 seconds\nProcess exited with code {code}\nOriginal token count: 5\n"
        f"Output:\n{output}"
    )


def old_codex(output: str, code: int) -> str:
    return json.dumps({"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.1}})


def opencode(output: str, _: int) -> str:
    return output or "(no output)"


def gemini(output: str, code: int) -> str:
    failed = f"Exit Code: {code}\n" if code else ""
    return (
        f"<untrusted_context>\nOutput: {output or '(empty)'}\n{failed}Process Group PGID: 19631\n</untrusted_context>"
    )


FRAMES = [pytest.param(frame, id=frame.__name__) for frame in (claude, codex, old_codex, opencode, gemini)]


@pytest.mark.parametrize("frame", FRAMES)
@for_each("case", [pytest.param(case, id=case["id"]) for case in COMMANDS])
def test_the_same_result_means_the_same_by_whatever_agent(
    case: dict[str, Any], frame: Callable[[str, int], str], reader: OutcomeReader
) -> None:
    output, code = case["output"], case["code"]
    ran = call("terminal", command=case["run"])
    by_hermes = reader.read("terminal", json.dumps({"output": output, "exit_code": code, "error": None}), ran)

    reported = ReportedOutcome(FAILED if code else WORKED, code)
    found = reader.read("Bash", frame(output, code), ran, reported=reported)

    assert found._replace(output=found.output.strip()) == by_hermes._replace(output=by_hermes.output.strip())


@pytest.mark.parametrize("status", [each for each in CallStatus if each not in (FAILED, WORKED)])
def test_what_did_not_run_to_its_end_is_what_the_agent_says(status: CallStatus, reader: OutcomeReader) -> None:
    found = reader.read("Bash", "Error: Traceback", call("Bash", command="make"), reported=ReportedOutcome(status, 1))
    assert (found.status, found.category) == (status, None)


def test_an_exit_code_that_the_agent_calls_a_success_is_one(reader: OutcomeReader) -> None:
    ran = call("Bash", command="python check.py")
    assert reader.read("Bash", "", ran, reported=ReportedOutcome(WORKED, 1)).status is WORKED


def test_a_success_whose_text_looks_like_a_failure_is_one(reader: OutcomeReader) -> None:
    read = call("Read", file_path="log.txt")
    assert reader.read("Read", "Error: no such file", read, reported=ReportedOutcome(WORKED)).status is WORKED


def test_a_failure_that_speaks_of_a_person_stays_a_failure(reader: OutcomeReader) -> None:
    said = "test_denied: expected 'denied by user'"
    found = reader.read("Bash", said, call("Bash", command="make"), reported=ReportedOutcome(FAILED, 2))
    assert (found.status, found.category) == (FAILED, Category.COMMAND_FAILED)


@pytest.mark.parametrize(
    ("text", "category"),
    [
        pytest.param(
            "<tool_use_error>Error: No such tool available: dig</tool_use_error>", "tool_not_found", id="tool"
        ),
        pytest.param("unsupported call: dig", "tool_not_found", id="codex-has-no-such-tool"),
        pytest.param('Tool "dig" not found. Did you mean one of: "grep"?', "tool_not_found", id="nor-has-gemini"),
        pytest.param(
            "The arguments provided to the tool are invalid: Model tried to call unavailable tool 'dig'.",
            "tool_not_found",
            id="nor-has-opencode",
        ),
        pytest.param("File does not exist.", "file_not_found", id="file"),
        pytest.param("ERROR: File conf/app.toml does not exist.", "file_not_found", id="named-file"),
        pytest.param(
            "Invalid `path` parameter: /w/a.py. The path /w/a.py does not exist. Please provide a valid path.",
            "file_not_found",
            id="openhands-names-the-path",
        ),
        pytest.param("error TS2339: Property 'path' does not exist on type 'Car'.", "unknown", id="no-file"),
        pytest.param("Exit code 143\nCommand timed out after 2s", "timeout", id="timeout"),
        pytest.param("Exit code 3", "command_failed", id="silent"),
        pytest.param("Could not find oldString in the file.", "unknown", id="edit"),
    ],
)
def test_the_text_of_a_failure_names_its_category(text: str, category: str, reader: OutcomeReader) -> None:
    found = reader.read("Bash", text, call("Bash"), reported=ReportedOutcome(FAILED))
    assert (found.status, found.category) == (FAILED, category)


def test_the_exit_code_stands_for_a_failure_that_says_nothing(reader: OutcomeReader) -> None:
    found = reader.read("bash", "(no output)", call("bash", command="make"), reported=ReportedOutcome(FAILED, 3))
    assert found.output == "exit code 3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed\n", "Failed\n", id="patch"),
        pytest.param("Exit code 12 is what I saw", "Exit code 12 is what I saw", id="a-sentence"),
        pytest.param("Output: 5", "Output: 5", id="no-frame"),
        pytest.param("<tool_use_error>Not read yet.</tool_use_error>", "Not read yet.", id="tool-error"),
        pytest.param("", "", id="nothing"),
        pytest.param(
            "Output too large. Showing first 8 characters. For full output see: /tmp/x.txt\n<untrusted_context>\n"
            "Output: 1\n2\nProcess Group PGID: 7\n</untrusted_context>",
            "1\n2",
            id="cut",
        ),
    ],
)
def test_a_frame_is_taken_off(text: str, said: str) -> None:
    assert without_frame(text) == said
