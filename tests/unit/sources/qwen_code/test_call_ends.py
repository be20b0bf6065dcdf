from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.gemini_cli.chat_records import FunctionResponse, Response
from grader_daemon.sources.gemini_cli.tool_results import SHELL
from grader_daemon.sources.qwen_code.call_ends import read_end
from grader_daemon.sources.qwen_code.chat_lines import CallResult

SUCCESS, FAILURE = ReportedOutcome(CallStatus.SUCCESS), ReportedOutcome(CallStatus.FAILURE)
REFUSED, INTERRUPTED = ReportedOutcome(CallStatus.REFUSED), ReportedOutcome(CallStatus.INTERRUPTED)
FRAME = (
    "Command: ls\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: (none)\nProcess Group PGID: 7"
)


def end(
    name: str, *, output: str | None = None, error: str | None = None, display: Any = None, **noted: Any
) -> tuple[str, ReportedOutcome | None]:
    raw = msgspec.Raw(msgspec.json.encode(display))
    return read_end(FunctionResponse("c", name, Response(output, error)), CallResult("c", result_display=raw, **noted))


def shell(code: int | None, outcome: str = "completed") -> dict[str, Any]:
    return {"type": "shell_result", "version": 1, "exitCode": code, "outcome": outcome}


def test_a_command_that_failed_has_its_frame_as_the_error() -> None:
    failed = end(SHELL, error=FRAME.format("no such file", 2), status="error", display=shell(2, "failed"))
    looked = end(SHELL, output=FRAME.format("(empty)", 1), status="success", display=shell(1))

    assert failed == ("no such file", ReportedOutcome(CallStatus.FAILURE, 2))
    assert looked == ("", ReportedOutcome(CallStatus.FAILURE, 1))


def test_the_exit_code_stands_in_the_frame_or_beside_it() -> None:
    assert end(SHELL, output=FRAME.format("a.py", 0)) == ("a.py", ReportedOutcome(CallStatus.SUCCESS, 0))
    assert end(SHELL, output="a.py", display=shell(3)) == ("a.py", ReportedOutcome(CallStatus.FAILURE, 3))
    assert end(SHELL, error="No shell.", status="error", display=shell(None)) == ("No shell.", FAILURE)
    assert end(SHELL, output="a.py", display={"exitCode": True}) == ("a.py", None)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Command was cancelled by user before it could complete.", CallStatus.INTERRUPTED),
        ("Command timed out after 1000ms before it could complete.", CallStatus.FAILURE),
        ("Background command started. PID: 7", CallStatus.PENDING),
    ],
)
def test_a_command_without_an_exit_code_was_stopped_or_goes_on(text: str, status: CallStatus) -> None:
    assert end(SHELL, output=text, status="success", display="x") == (text, ReportedOutcome(status))


@pytest.mark.parametrize(
    ("name", "error", "noted", "outcome"),
    [
        pytest.param("edit", "No match.", {"status": "error", "error_type": "edit_no_occurrence_found"}, FAILURE),
        pytest.param("edit", "Declined.", {"status": "error", "error_type": "execution_denied"}, REFUSED),
        pytest.param(
            SHELL, "Blocked: standalone sleep 8.", {"status": "error", "execution_status": "not_started"}, REFUSED
        ),
        pytest.param("edit", "Blocked: by a lock", {"status": "error", "execution_status": "error"}, FAILURE),
        pytest.param(
            "edit",
            'Tool "edit" not found in registry.',
            {"error_type": "tool_not_registered"},
            REFUSED,
            id="not-offered",
        ),
        pytest.param(
            "dig", 'Tool "dig" not found in registry.', {"error_type": "tool_not_registered"}, FAILURE, id="made-up"
        ),
        pytest.param("edit", "Stop", {"status": "cancelled", "execution_status": "not_started"}, REFUSED),
        pytest.param("edit", "Stop", {"status": "cancelled", "execution_status": "cancelled"}, INTERRUPTED),
    ],
)
def test_a_call_that_did_not_work_failed_was_refused_or_stopped(
    name: str, error: str, noted: dict[str, str], outcome: ReportedOutcome
) -> None:
    assert end(name, error=error, **noted) == (error, outcome)


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("background", CallStatus.PENDING),
        ("failed", CallStatus.FAILURE),
        ("cancelled", CallStatus.INTERRUPTED),
        ("completed", CallStatus.SUCCESS),
    ],
)
def test_the_call_of_a_sub_agent_went_as_that_one_did(state: str, status: CallStatus) -> None:
    display = {"type": "task_execution", "status": state}

    assert end("agent", output="It said so.", status="success", display=display) == (
        "It said so.",
        ReportedOutcome(status),
    )


def test_a_call_of_which_nothing_is_noted_is_told_by_its_response() -> None:
    assert read_end(FunctionResponse("c", "read_file", Response("one")), None) == ("one", SUCCESS)
    assert read_end(FunctionResponse("c", "read_file", Response(error="none")), None) == ("none", FAILURE)


def test_what_a_person_sees_may_have_any_shape() -> None:
    noted = CallResult("c", result_display=msgspec.Raw(b'{"exitCode":'))

    assert read_end(FunctionResponse("c", SHELL, Response("one")), noted) == ("one", None)
