"""Outcomes of tool calls in pi and its kin: a flag, an exit code beside the text or at its end, and fixed words."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.decoding import decoded_or
from grader_daemon.sources.pi.tree_entries import Spoken

_EXIT_CODE: Final = re.compile(r"[(\[]?Command exited with code (-?\d{1,10})[)\].]?\s{0,9}\Z")
_TIMED_OUT: Final = re.compile(r"Command timed out(?: after [\d.]{1,12} ?s(?:econds)?)?\b[^\n]{0,300}\s{0,9}\Z")
_ABORTED: Final = re.compile(r"(?:\A|\n)\[?(?:Command|Operation|Request was) aborted\]?\.?\s{0,9}\Z")
_NOT_RUN: Final = ("Skipped due to queued user message", "[openclaw] missing tool result in session history")
_REFUSED: Final = (
    "Tool execution was blocked",
    "Blocked by user",
    "Dangerous command blocked",
    "Tool call denied by user",
    "Tool call rejected by user",
)
"""What pi, its own example of a permission gate, and oh-my-pi say of a call that a person or a policy did not allow."""

_BY_POLICY: Final = re.compile(r'Tool "[^"\n]{1,200}" is blocked by (?:tool|user) policy\.')
_EXAMINED_END: Final = 400
_STILL_RUNS: Final = ("running", "backgrounded")
_MOST_CODE: Final = 2**31


class _Details(msgspec.Struct, frozen=True):
    """Notes of a tool that runs commands, in the words of OpenClaw and oh-my-pi; pi's own has none."""

    status: object = None
    exit_code: object = msgspec.field(name="exitCode", default=None)
    timed_out: object = msgspec.field(name="timedOut", default=None)


_DETAILS: Final = msgspec.json.Decoder(_Details).decode
_NO_DETAILS: Final = _Details()
_OBJECT: Final = ord("{")
_WORKED: Final = ReportedOutcome(CallStatus.SUCCESS)
_SHELLS: Final = frozenset({"bash", "exec"})


def outcome_of(result: Spoken, text: str) -> ReportedOutcome:
    """Return what is noted of the result of a call; what is not flagged as an error is a success.

    Only of a tool that runs commands does a code, or a timeout, say otherwise: others may quote one.
    """
    details, end = _details_of(result), text[-_EXAMINED_END:]
    if result.is_error is True:
        return ReportedOutcome(_why_not(text, end), _code_in(details, end))
    if result.tool_name not in _SHELLS:
        return _WORKED
    if details.status in _STILL_RUNS:
        return ReportedOutcome(CallStatus.PENDING)
    code = _code_in(details, end)
    if code is None and details is _NO_DETAILS and "timed out" not in end:
        return _WORKED
    failed = code or details.timed_out is True or _TIMED_OUT.search(end) is not None
    return ReportedOutcome(CallStatus.FAILURE if failed else CallStatus.SUCCESS, code)


def _why_not(text: str, end: str) -> CallStatus:
    if _ABORTED.search(end) is not None or text.startswith(_NOT_RUN):
        return CallStatus.INTERRUPTED
    refused = text.startswith(_REFUSED) or _BY_POLICY.match(text) is not None
    return CallStatus.REFUSED if refused else CallStatus.FAILURE


def _code_in(details: _Details, end: str) -> int | None:
    noted = details.exit_code
    if isinstance(noted, int) and not isinstance(noted, bool) and abs(noted) < _MOST_CODE:
        return noted
    found = _EXIT_CODE.search(end) if "exited with code" in end else None
    return int(found[1]) if found is not None else None


def _details_of(result: Spoken) -> _Details:
    raw = memoryview(result.details)
    is_object = len(raw) > len(b"{}") and raw[0] == _OBJECT
    return decoded_or(_DETAILS, raw, _NO_DETAILS) if is_object else _NO_DETAILS
