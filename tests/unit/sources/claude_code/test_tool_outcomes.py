from __future__ import annotations

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from tests.transcripts import Transcript, call

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected"


def reported(content: object, *, error: bool | None = None, **keys: object) -> ReportedOutcome:
    """Return what is noted of one call with this result."""
    transcript = Transcript()
    transcript.answer(call("a"), stop="tool_use")
    transcript.result("a", content, error=error, **keys)
    return transcript.session().reported[1]


@pytest.mark.parametrize(
    ("content", "exit_code"),
    [
        pytest.param("Exit code 3", 3, id="exit-code"),
        pytest.param("Exit code 127\n/bin/bash: nosuch: command not found", 127, id="exit-code-and-text"),
        pytest.param("Exit code 143\nCommand timed out after 2s", 143, id="timed-out"),
        pytest.param("cat: x: No such file or directory", None, id="text-alone-as-in-1.0"),
        pytest.param("<tool_use_error>File has not been read yet.</tool_use_error>", None, id="error-of-the-tool"),
        pytest.param([{"type": "text", "text": "MCP error -32602"}], None, id="parts"),
        pytest.param("", None, id="no-text"),
    ],
)
def test_what_is_flagged_as_an_error_is_a_failure(content: object, exit_code: int | None) -> None:
    assert reported(content, error=True) == ReportedOutcome(CallStatus.FAILURE, exit_code)


@pytest.mark.parametrize("error", [False, None])
def test_whatever_the_text_says_no_flag_is_a_success(error: bool | None) -> None:
    assert reported("Error: 0 failed; no traceback", error=error) == ReportedOutcome(CallStatus.SUCCESS)


def test_an_exit_code_that_the_agent_explains_away_is_kept() -> None:
    twin = {"stdout": "", "returnCodeInterpretation": "No matches found"}
    assert reported("", error=False, toolUseResult=twin) == ReportedOutcome(CallStatus.SUCCESS, 1)


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        pytest.param("Claude requested permissions to write to /x, but you haven't granted it yet.", {}, id="asked"),
        pytest.param("This command requires approval", {}, id="needs-approval"),
        pytest.param("rm in '/tmp/x' was blocked. For security, Claude Code may only", {}, id="blocked"),
        pytest.param("rm in '/tmp/x' needs approval. The path is", {}, id="path-needs-approval"),
        pytest.param(REJECTED, {}, id="rejected"),
        pytest.param(REJECTED, {"toolDenialKind": "user-rejected"}, id="rejected-and-nothing-more-is-noted"),
        pytest.param(REJECTED, {"toolDenialKind": "user-rejected", "toolDenialBeforeRun": True}, id="before-it-ran"),
        pytest.param(
            "No.", {"toolDenialKind": "user-rejected", "permissionDecision": {"decision": "reject"}}, id="by-settings"
        ),
    ],
)
def test_a_refusal_is_no_failure(content: str, keys: dict[str, object]) -> None:
    assert reported(content, error=True, **keys).status is CallStatus.REFUSED


def test_a_call_that_was_stopped_while_it_ran_was_interrupted() -> None:
    """2.1.330 uses the words of a refusal, but notes no decision, as it does of all other calls."""
    transcript = Transcript()
    transcript.answer(call("a"), call("b"), stop="tool_use")
    transcript.result("a", "x", error=False, permissionDecision={"decision": "accept"})
    transcript.result("b", REJECTED, error=True, toolDenialKind="user-rejected")
    assert transcript.session().reported[2].status is CallStatus.INTERRUPTED


@pytest.mark.parametrize(
    ("content", "error", "twin"),
    [
        pytest.param("[Request interrupted by user for tool use]", True, "Error", id="by-its-text"),
        pytest.param("The user doesn't want to take this action right now. STOP", True, "Error", id="cancelled"),
        pytest.param("half", False, {"stdout": "half", "interrupted": True}, id="by-its-twin"),
    ],
)
def test_an_interrupted_call_is_no_failure(content: str, error: bool, twin: object) -> None:
    assert reported(content, error=error, toolUseResult=twin).status is CallStatus.INTERRUPTED


@pytest.mark.parametrize(
    "twin",
    [
        pytest.param({"isAsync": True, "status": "async_launched"}, id="sub-agent"),
        pytest.param({"stdout": "", "backgroundTaskId": "b1"}, id="command"),
    ],
)
def test_what_goes_on_in_the_background_is_pending(twin: object) -> None:
    assert reported("started", toolUseResult=twin).status is CallStatus.PENDING


@pytest.mark.parametrize(
    ("status", "summary", "outcome"),
    [
        pytest.param("completed", 'Agent "x" finished', ReportedOutcome(CallStatus.SUCCESS), id="completed"),
        pytest.param("completed", "completed (exit code 0)", ReportedOutcome(CallStatus.SUCCESS, 0), id="with-code"),
        pytest.param("failed", "failed with exit code 2", ReportedOutcome(CallStatus.FAILURE, 2), id="failed"),
        pytest.param("killed", "was stopped", ReportedOutcome(CallStatus.INTERRUPTED), id="killed"),
        pytest.param("new-word", "?", ReportedOutcome(CallStatus.PENDING), id="unknown-status"),
    ],
)
def test_a_notification_says_what_became_of_it(status: str, summary: str, outcome: ReportedOutcome) -> None:
    transcript = Transcript()
    transcript.answer(call("call_1", "Agent"), stop="tool_use")
    transcript.result("call_1", "started", toolUseResult={"status": "async_launched"})
    transcript.prompt(
        "<task-notification>\n<task-id>t</task-id>\n<tool-use-id>call_1</tool-use-id>\n"
        f"<output-file>/x</output-file>\n<status>{status}</status>\n<summary>{summary}</summary>\n</task-notification>"
    )
    assert transcript.session().reported[1] == outcome


@pytest.mark.parametrize("twin", ["Error: x", [1, 2], 7, None, {"status": {"any": "shape"}}, {}])
def test_a_twin_of_any_shape_does_no_harm(twin: object) -> None:
    assert reported("x", toolUseResult=twin) == ReportedOutcome(CallStatus.SUCCESS)
