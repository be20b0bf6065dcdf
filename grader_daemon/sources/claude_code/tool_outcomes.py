"""Outcomes of tool calls in Claude Code: a flag, a typed twin of the result, and fixed words in it."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.claude_code.entries import Block, Entry
from grader_daemon.sources.decoding import decoded_or

INTERRUPTED: Final = "[Request interrupted by user"
"""Beginnings of texts that stand for an interruption by a person."""

_REJECTED = "The user doesn't want to proceed with this tool use"
_CANCELLED = ("The user doesn't want to take this action right now", INTERRUPTED)
_REFUSED = (_REJECTED, "Claude requested permissions to ", "This command requires approval", "Permission to use ")
_BLOCKED = re.compile(r"[\w.-]{1,40} in '[^']{0,1000}' (?:was blocked\. For security|needs approval)")
_EXIT_CODE = re.compile(r"Exit code (\d{1,3})\b")
_NO_HARM = 1
"""The exit code that ``returnCodeInterpretation`` explains: grep and diff that found nothing, a test that is false."""


class _Twin(msgspec.Struct, frozen=True, rename="camel"):
    status: object = None
    interrupted: object = None
    background_task_id: object = None
    return_code_interpretation: object = None


_TWIN = msgspec.json.Decoder(_Twin).decode
_NO_TWIN = _Twin()


def outcome_of(result: Block, text: str, entry: Entry, *, decisions: bool) -> ReportedOutcome:
    """Return what is noted of the result of a call; what is not flagged as an error is a success.

    Args:
        result: the block that holds it.
        text: what stands in it.
        entry: its line.
        decisions: the version notes of each call that ran how that was decided.
    """
    if result.is_error:
        found = _EXIT_CODE.match(text)
        return ReportedOutcome(_why_not(text, entry, decisions=decisions), int(found[1]) if found is not None else None)
    twin = _twin_of(entry)
    if twin.interrupted is True:
        return ReportedOutcome(CallStatus.INTERRUPTED)
    if twin.status == "async_launched" or twin.background_task_id:
        return ReportedOutcome(CallStatus.PENDING)
    return ReportedOutcome(CallStatus.SUCCESS, _NO_HARM if twin.return_code_interpretation else None)


def is_decided(entry: Entry) -> bool:
    """Return whether a result notes the decision on whether the call may run, as 2.1.330 does."""
    return entry.tool_denial_before_run or entry.permission_decision is not None


def _why_not(text: str, entry: Entry, *, decisions: bool) -> CallStatus:
    if text.startswith(_CANCELLED):
        return CallStatus.INTERRUPTED
    if entry.tool_denial_kind is not None:
        # the same words stand for a call that was stopped while it ran; then no decision is noted with them
        stopped = decisions and not is_decided(entry)
        return CallStatus.INTERRUPTED if stopped else CallStatus.REFUSED
    refused = text.startswith(_REFUSED) or _BLOCKED.match(text) is not None
    return CallStatus.REFUSED if refused else CallStatus.FAILURE


def _twin_of(entry: Entry) -> _Twin:
    raw = entry.tool_use_result
    return decoded_or(_TWIN, raw, _NO_TWIN) if bytes(memoryview(raw)[:1]) == b"{" else _NO_TWIN
