from __future__ import annotations

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.cline.task_results import outcome_of

IN_FOLDER = "Command executed in terminal within working directory '/p'. "


@pytest.mark.parametrize(
    ("tool", "text", "status", "code"),
    [
        ("execute_command", f"{IN_FOLDER}Exit code: 0\nOutput:\na.py", CallStatus.SUCCESS, 0),
        (
            "execute_command",
            f"{IN_FOLDER}Command execution was not successful, inspect the cause.\nExit code: 2\nOutput:",
            CallStatus.FAILURE,
            2,
        ),
        ("execute_command", "Command failed with exit code 1.\nOutput:\nx", CallStatus.FAILURE, 1),
        ("execute_command", "Command is still running in the user's terminal.", CallStatus.PENDING, None),
        ("execute_command", "The command was cancelled by the user.", CallStatus.INTERRUPTED, None),
        ("execute_command", "The command was terminated after exceeding a 5s timeout.", CallStatus.FAILURE, None),
        ("execute_command", "The user denied this operation.", CallStatus.REFUSED, None),
        ("read_file", '{"status":"denied","message":"The user denied this operation."}', CallStatus.REFUSED, None),
        ("read_file", '{"status":"error","type":"access_denied","path":"/a"}', CallStatus.REFUSED, None),
        ("read_file", '{"status":"error","message":"The tool execution failed"}', CallStatus.FAILURE, None),
        ("read_file", "Access to .env is blocked by the .clineignore file settings.", CallStatus.REFUSED, None),
        ("replace_in_file", "This tool cannot be used in PLAN MODE.", CallStatus.REFUSED, None),
        ("replace_in_file", "The tool execution failed with the following error:\n<error>", CallStatus.FAILURE, None),
        ("read_file", "Error reading file: none", CallStatus.FAILURE, None),
        ("read_file", "Tool [read_file] was not executed because a tool has", CallStatus.NOT_EXECUTED, None),
    ],
)
def test_fixed_words_say_how_a_call_went(tool: str, text: str, status: CallStatus, code: int | None) -> None:
    assert outcome_of(text, tool=tool, is_error=False) == ReportedOutcome(status, code)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("execute_command", "Command executed.\nOutput:\nexit code 3 is what it printed" + "x" * 600),
        ("execute_command", "exit code: 3"),
        ("read_file", "Access to the roof is given by a ladder."),
        ("read_file", '{"status":"fine"}'),
        ("read_file", '{"status":'),
    ],
)
def test_what_has_none_of_them_says_nothing(tool: str, text: str) -> None:
    assert outcome_of(text, tool=tool, is_error=False) is None


@pytest.mark.parametrize("tool", ["execute_command", "read_file"])
def test_a_block_may_say_that_it_is_an_error(tool: str) -> None:
    assert outcome_of("Hm.", tool=tool, is_error=True) == ReportedOutcome(CallStatus.FAILURE)
