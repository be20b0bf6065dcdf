from __future__ import annotations

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.gemini_cli.chat_records import Call, FunctionResponse, Part, Response
from grader_daemon.sources.gemini_cli.tool_results import SHELL, read_result

SUCCESS, FAILURE = ReportedOutcome(CallStatus.SUCCESS), ReportedOutcome(CallStatus.FAILURE)
REFUSED, INTERRUPTED = ReportedOutcome(CallStatus.REFUSED), ReportedOutcome(CallStatus.INTERRUPTED)


def result(
    name: str, status: str, *, output: object = None, error: object = None
) -> tuple[str, ReportedOutcome | None]:
    answer = FunctionResponse("c", name, Response(output, error))
    return read_result(Call("c", name, {}, status, (Part(answer=answer), Part(text=None))))


@pytest.mark.parametrize(
    ("output", "text", "code"),
    [
        ("Output: one\ntwo\nProcess Group PGID: 12", "one\ntwo", 0),
        ("<untrusted_context>\nOutput: one\nExit Code: 3\nProcess Group PGID: 12\n</untrusted_context>", "one", 3),
        ("<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 12\n</untrusted_context>", "", 0),
        (
            "Command: ls\nDirectory: /t\nOutput: one\nError: (none)\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)",
            "one",
            0,
        ),
        ("Output: Exit Code: 7 is what it printed\nall fine", "Exit Code: 7 is what it printed\nall fine", 0),
        ("Too large.\n<untrusted_context>\nOutput: one\nExit Code: 2\n</untrusted_context>", "Too large.\none", 2),
    ],
)
def test_the_output_of_a_command_stands_in_a_frame_with_its_exit_code(output: str, text: str, code: int) -> None:
    status = CallStatus.FAILURE if code else CallStatus.SUCCESS

    assert result(SHELL, "success", output=output) == (text, ReportedOutcome(status, code))


def test_how_a_command_went_is_not_noted_without_a_frame() -> None:
    assert result(SHELL, "success", output="Background process.") == ("Background process.", None)


def test_a_command_that_was_blocked_for_a_substitution_in_it_did_not_run() -> None:
    said = "Command injection detected: command substitution syntax using $() is not allowed; the command was blocked."

    assert result(SHELL, "success", output=said) == (said, REFUSED)


@pytest.mark.parametrize(
    ("name", "status", "error", "outcome"),
    [
        ("read_file", "error", "File not found: /a", FAILURE),
        ("mend", "error", 'Tool "mend" not found. Did you mean one of: "replace"?', FAILURE),
        (SHELL, "error", 'Tool "run_shell_command" not found. Did you mean one of: "update_topic"?', REFUSED),
        (SHELL, "error", "Command rejected because it could not be parsed safely", REFUSED),
        (SHELL, "cancelled", "[Operation Cancelled] Reason: User did not allow tool call", REFUSED),
        (SHELL, "cancelled", "Command was cancelled by user before it could complete.", INTERRUPTED),
        (
            SHELL,
            "cancelled",
            "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes.",
            FAILURE,
        ),
    ],
)
def test_an_error_is_a_failure_unless_somebody_said_no(
    name: str, status: str, error: str, outcome: ReportedOutcome
) -> None:
    assert result(name, status, error=error) == (error, outcome)


def test_what_is_no_text_is_shown_as_json() -> None:
    assert result("look", "success", output={"rows": [1, 2]}) == ('{"rows":[1,2]}', SUCCESS)


def test_a_call_that_has_not_ended_says_nothing() -> None:
    assert read_result(Call("c", "look", {}, "executing")) == ("", None)
