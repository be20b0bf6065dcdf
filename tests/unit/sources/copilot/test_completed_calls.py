from __future__ import annotations

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.copilot.completed_calls import Outcome, read_result
from grader_daemon.sources.copilot.event_lines import Content, Failure, Result, Shell

SUCCESS, PENDING = ReportedOutcome(CallStatus.SUCCESS), ReportedOutcome(CallStatus.PENDING)
FAILURE = ReportedOutcome(CallStatus.FAILURE)


def said(text: str, *, tool: str = "bash", code: int | None = None) -> Outcome:
    shell = None if code is None else Shell(code)
    return read_result(Result("c", True, Content(text), shell_execution=shell), tool=tool, is_denied=False)


def failed(error: Failure | None, *, is_denied: bool = False) -> Outcome:
    return read_result(Result("c", False, error=error), tool="bash", is_denied=is_denied)


@pytest.mark.parametrize(
    ("text", "code", "output", "exit_code"),
    [
        pytest.param("one\n<shellId: 0 completed with exit code 3>", 3, "one", 3, id="noted"),
        pytest.param("one\n<exited with exit code 0>", None, "one", 0, id="in-a-frame-of-0.0.3"),
        pytest.param("\n<command with id: a-1 exited with exit code -1>\n", None, "", -1, id="of-a-named-shell"),
        pytest.param("<exited with exit code 1> is what it printed", 0, None, 0, id="printed-by-the-command"),
    ],
)
def test_the_exit_code_of_a_command_says_how_it_went(
    text: str, code: int | None, output: str | None, exit_code: int
) -> None:
    read = said(text, code=code)

    assert read.text == (text if output is None else output)
    assert read.outcome == ReportedOutcome(CallStatus.FAILURE if exit_code else CallStatus.SUCCESS, exit_code)


def test_a_tool_that_runs_no_command_has_no_exit_code_whatever_it_shows() -> None:
    text = "log of yesterday\n<exited with exit code 1>"

    assert said(text, tool="view") == Outcome(text, SUCCESS)


def test_a_command_goes_on_where_its_shell_is_named_as_running() -> None:
    text = "begun\n<command with shellId: build is still running after 30 seconds>"

    assert said(text) == Outcome(text, PENDING, "build")
    assert said("begun\n<shellId: 3 was looked at>") == Outcome("begun\n<shellId: 3 was looked at>", SUCCESS)


def test_whoever_looks_at_a_shell_worked_and_tells_how_its_command_ended() -> None:
    ended = said("two\n<shellId: build completed with exit code 2>", tool="read_bash")

    assert ended == Outcome("two", SUCCESS, "build", ReportedOutcome(CallStatus.FAILURE, 2))
    assert said("<shellId: build is still running>", tool="read_bash").outcome == SUCCESS


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(Failure("No match found", "failure"), CallStatus.FAILURE, id="failure"),
        pytest.param(Failure("Timed out", "timeout"), CallStatus.FAILURE, id="timeout"),
        pytest.param(Failure("Permission denied because nobody was there", "denied"), CallStatus.REFUSED, id="denied"),
        pytest.param(Failure("No.", "rejected"), CallStatus.REFUSED, id="rejected"),
        pytest.param(Failure("The user rejected this tool call. User feedback: no"), CallStatus.REFUSED, id="by-words"),
        pytest.param(Failure("Stopped", "aborted"), CallStatus.INTERRUPTED, id="aborted"),
        pytest.param(
            Failure("The execution of this tool, or a previous tool was interrupted."),
            CallStatus.INTERRUPTED,
            id="interrupted-by-words",
        ),
    ],
)
def test_a_call_that_did_not_work_failed_was_refused_or_stopped(error: Failure, status: CallStatus) -> None:
    assert failed(error) == Outcome(error.message or "", ReportedOutcome(status))


def test_a_call_whose_permission_was_denied_is_refused_whatever_the_tool_says() -> None:
    assert failed(Failure("No."), is_denied=True).outcome == ReportedOutcome(CallStatus.REFUSED)


def test_what_is_not_said_is_told_by_the_error() -> None:
    assert failed(None) == Outcome("", FAILURE)
    assert read_result(Result("c"), tool="view", is_denied=False) == Outcome("", SUCCESS)
    assert read_result(Result("c", error=Failure("No file")), tool="view", is_denied=False) == Outcome(
        "No file", FAILURE
    )
