from __future__ import annotations

import json

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.codex.call_results import Result, read_result

EXITED = (
    "Chunk ID: 7c4831\nWall time: 0.0000 seconds\nProcess exited with code {}\nOriginal token count: 14\nOutput:\n{}"
)
SUCCESS = ReportedOutcome(CallStatus.SUCCESS, 0)
FAILED = ReportedOutcome(CallStatus.FAILURE)
REFUSED = ReportedOutcome(CallStatus.REFUSED)
INTERRUPTED = ReportedOutcome(CallStatus.INTERRUPTED)


def failure(code: int) -> ReportedOutcome:
    return ReportedOutcome(CallStatus.FAILURE, code)


def wrapped(text: str, code: int | None) -> str:
    return json.dumps({"output": text, "metadata": {"exit_code": code}}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        pytest.param(EXITED.format(0, "Error: 0 failed"), Result("Error: 0 failed", SUCCESS), id="exit-0"),
        pytest.param(EXITED.format(127, "not found"), Result("not found", failure(127)), id="exit-127"),
        pytest.param(
            "Exit code: 1\nWall time: 0 seconds\nOutput:\nno folder\n", Result("no folder\n", failure(1)), id="patch"
        ),
        pytest.param(
            "Exit code: 0\nWall time: 1 seconds\nTotal output lines: 9\nOutput:\nx",
            Result("x", SUCCESS),
            id="cut-output",
        ),
        pytest.param("Wall time: 0.1 seconds\nOutput:\nx", Result("x"), id="frame-without-a-code"),
        pytest.param(
            "Wall time: 2 seconds\nProcess running with session ID 7\nOutput:\n",
            Result("", ReportedOutcome(CallStatus.PENDING), "7"),
            id="running",
        ),
        pytest.param(wrapped("a\n", 0), Result("a\n", SUCCESS), id="0.45"),
        pytest.param(
            wrapped("command timed out after 10 milliseconds", 124),
            Result("command timed out after 10 milliseconds", failure(124)),
            id="0.45-timeout",
        ),
        pytest.param(wrapped("x", None), Result("x"), id="0.45-without-a-code"),
        pytest.param('{"output": 3}', Result('{"output": 3}'), id="json-of-a-command"),
        pytest.param("Plan updated", Result("Plan updated"), id="nothing"),
    ],
)
def test_exit_codes_are_read_from_the_frame_of_an_output(text: str, result: Result) -> None:
    assert read_result(text) == result


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        pytest.param("unsupported call: frobnicate", FAILED, id="unknown-tool"),
        pytest.param("apply_patch verification failed: no such lines", FAILED, id="patch"),
        pytest.param('exec_command failed for `x`: CreateProcess { message: "No such file" }', FAILED, id="no-program"),
        pytest.param("aborted by user after 5.5s", INTERRUPTED, id="0.110-abort"),
        pytest.param("Wall time: 5.9 seconds\naborted by user", INTERRUPTED, id="0.169-abort"),
        pytest.param(
            "exec command rejected: dangerous command detected; rejected by user approval settings", REFUSED, id="0.45"
        ),
        pytest.param(
            'exec_command failed: CreateProcess { message: "Rejected(\\"blocked by policy\\")" }', REFUSED, id="0.110"
        ),
        pytest.param("exec command rejected by user", REFUSED, id="person"),
    ],
)
def test_what_could_not_be_carried_out_says_why(text: str, outcome: ReportedOutcome) -> None:
    assert read_result(text) == Result(text, outcome)


def test_words_of_codex_in_the_output_of_a_command_are_only_words() -> None:
    assert read_result(EXITED.format(0, "exec command rejected by user")).outcome == SUCCESS
    assert read_result(wrapped("unsupported call: x", 0)).outcome == SUCCESS
    assert read_result("grep: aborted by user").outcome is None
