from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.pi.flagged_results import outcome_of
from grader_daemon.sources.pi.tree_entries import Spoken

SUCCESS, FAILURE = CallStatus.SUCCESS, CallStatus.FAILURE


def outcome(text: str, tool: str = "bash", *, error: object = True, **keys: Any) -> ReportedOutcome:
    told = {"role": "toolResult", "toolName": tool, "isError": error, **keys}
    return outcome_of(msgspec.json.decode(msgspec.json.encode(told), type=Spoken), text)


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("(no output)\n\nCommand exited with code 3", FAILURE, 3),
        ("sh: x: not found\n\n\nCommand exited with code 127", FAILURE, 127),
        ("[Command exited with code -1]", FAILURE, -1),
        ("a\n\nCommand timed out after 2 seconds", FAILURE, None),
        ("ENOENT: no such file or directory", FAILURE, None),
        ("Tool frobnicate not found", FAILURE, None),
        ("part of it\n\nCommand aborted", CallStatus.INTERRUPTED, None),
        ("Operation aborted", CallStatus.INTERRUPTED, None),
        ("it was said: Command aborted by hand", FAILURE, None),
        ("Skipped due to queued user message.", CallStatus.INTERRUPTED, None),
        ("[openclaw] missing tool result in session history; inserted.", CallStatus.INTERRUPTED, None),
        ("Tool execution was blocked", CallStatus.REFUSED, None),
        ("Blocked by user", CallStatus.REFUSED, None),
        ("Tool call denied by user: bash", CallStatus.REFUSED, None),
        ('Tool "bash" is blocked by user policy.\nTo allow: …', CallStatus.REFUSED, None),
        ('Tool "bash" is blocked', FAILURE, None),
    ],
)
def test_an_error_says_what_kind_it_is(text: str, status: CallStatus, code: int | None) -> None:
    assert outcome(text) == ReportedOutcome(status, code)


def test_what_is_not_flagged_worked() -> None:
    assert outcome("Command exited with code 3", tool="read", error=False) == ReportedOutcome(SUCCESS)
    assert outcome("all is well", error=None) == ReportedOutcome(SUCCESS)
    assert outcome("he said: Command exited with code 3, then left", error=False) == ReportedOutcome(SUCCESS)


@pytest.mark.parametrize(
    ("text", "details", "expected"),
    [
        ("(no output)\n\n(Command exited with code 3)", {"status": "completed", "exitCode": 3}, (FAILURE, 3)),
        ("(no output)\n\n(Command exited with code 3)", None, (FAILURE, 3)),
        ("5", {"status": "completed", "exitCode": 0}, (SUCCESS, 0)),
        ("5", {"exitCode": True}, (SUCCESS, None)),
        ("5", {"exitCode": 2**40}, (SUCCESS, None)),
        ("5", {}, (SUCCESS, None)),
        ("5", ["exitCode", 3], (SUCCESS, None)),
        ("5", {"status": ["x"], "exitCode": "3"}, (SUCCESS, None)),
        ("a\n\n[Command timed out after 10 seconds]", {"timedOut": True}, (FAILURE, None)),
        ("a\n\nCommand timed out after 10 seconds.", None, (FAILURE, None)),
        ("Command still running (session amber, pid 5)", {"status": "running"}, (CallStatus.PENDING, None)),
    ],
)
def test_of_a_command_the_notes_or_the_end_of_the_text_say_how_it_went(
    text: str, details: object, expected: tuple[CallStatus, int | None]
) -> None:
    assert outcome(text, tool="exec", error=False, details=details) == ReportedOutcome(*expected)


def test_notes_that_cannot_be_read_say_nothing() -> None:
    deep = Spoken(role="toolResult", tool_name="exec", is_error=False, details=msgspec.Raw(b'{"a":' * 100_000))

    assert outcome_of(deep, "5") == ReportedOutcome(SUCCESS)
