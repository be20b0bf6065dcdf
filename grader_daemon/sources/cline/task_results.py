"""Results of tools in Cline's extension and in those made from it: texts, later also JSON, with fixed words in them."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.decoding import decoded_or

_REFUSED: Final = ("The user denied this operation", "Access to ", "This tool cannot be used in PLAN MODE")
_BLOCKED: Final = " is blocked by the ."
_FAILED: Final = (
    "The tool execution failed",
    "Missing value for required parameter",
    "Invalid JSON argument used with ",
    "Error ",
    "The command was terminated after exceeding",
    "Command failed to execute",
)
_NOT_RUN: Final = re.compile(r"Tool \[[^\]]{1,200}\] was not executed because ")
_CANCELLED: Final = "The command was cancelled by the user"
_GOES_ON: Final = "Command is still running"
_EXIT_CODE = re.compile(r"\b[Ee]xit code:? (-?\d{1,10})\b")
_HEAD: Final = 500


class _Told(msgspec.Struct, frozen=True, gc=False):
    status: object = None
    type: object = None


_TOLD = msgspec.json.Decoder(_Told).decode


def outcome_of(text: str, *, tool: str | None, is_error: bool) -> ReportedOutcome | None:
    """Return how a call went by the words of its result; None where only what the tool itself says tells it."""
    if _NOT_RUN.match(text) is not None:
        return ReportedOutcome(CallStatus.NOT_EXECUTED)
    if text.startswith(_REFUSED) and (_BLOCKED in text[:_HEAD] or not text.startswith(_REFUSED[1])):
        return ReportedOutcome(CallStatus.REFUSED)
    told = _told(text)
    if told is not None:
        return told
    if tool == "execute_command":
        return _of_command(text, is_error=is_error)
    return ReportedOutcome(CallStatus.FAILURE) if is_error or text.startswith(_FAILED) else None


def _of_command(text: str, *, is_error: bool) -> ReportedOutcome | None:
    if text.startswith(_CANCELLED):
        return ReportedOutcome(CallStatus.INTERRUPTED)
    if text.startswith(_GOES_ON):
        return ReportedOutcome(CallStatus.PENDING)
    head = text[:_HEAD].partition("\nOutput:")[0]
    code = _EXIT_CODE.search(head) if head.startswith("Command ") else None
    if code is not None:
        return ReportedOutcome.exited(int(code[1]))
    return ReportedOutcome(CallStatus.FAILURE) if is_error or text.startswith(_FAILED) else None


def _told(text: str) -> ReportedOutcome | None:
    """Return what a result in JSON says of itself."""
    told = decoded_or(_TOLD, text, _Told()) if text.startswith('{"status":') else _Told()
    if told.status == "denied" or told.type == "access_denied":
        return ReportedOutcome(CallStatus.REFUSED)
    return ReportedOutcome(CallStatus.FAILURE) if told.status == "error" else None
