"""Results of tool calls in Codex: the output, and whether the call worked.

Codex hands results to the model as text, whose first lines tell the exit code; before 0.110 as JSON in a text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.decoding import decoded_or

_NOTE = r"[^\n]{0,99}\n"
_HEAD = re.compile(
    rf"(?:Chunk ID: {_NOTE})?(?:Exit code: (?P<patched>-?\d{{1,10}})\n)?Wall time: {_NOTE}"
    r"(?:Process exited with code (?P<exited>-?\d{1,10})\n|Process running with session ID (?P<process>\d{1,20})\n)?"
    rf"(?:Original token count: {_NOTE})?(?:Total output lines: {_NOTE})?Output:(?:\n|$)"
)
_ABORTED = re.compile(rf"(?:Wall time: {_NOTE})?aborted by user\b")
_REFUSED = re.compile(
    r"(?:exec command|patch) rejected\b|rejected by user\b"
    r"|exec_command failed[^:]{0,999}: CreateProcess \{ message: \"Rejected\("
)
"""A person, or a policy that a person has set, said no; the words of 0.45, and those of 0.110 and later."""

_FAILED = (
    "unsupported call: ",
    "unsupported custom tool call: ",
    "apply_patch verification failed: ",
    "failed in sandbox: ",
    "failed to parse function arguments: ",
    "exec_command failed",
    "write_stdin failed",
    "execution error: ",
)
"""Beginnings of results that tell why a call could not be carried out."""


class _Metadata(msgspec.Struct, frozen=True):
    exit_code: int | None = None


class _Wrapped(msgspec.Struct, frozen=True):
    output: str
    metadata: _Metadata


_WRAPPED = msgspec.json.Decoder(_Wrapped).decode
_WRAPPED_BEGINS = '{"output":'


class Result(NamedTuple):
    """A result that was read.

    text: the output alone where its frame is known, else all of it.
    outcome: None where nothing but the output tells it.
    process: the number of the process that goes on after this result.
    """

    text: str
    outcome: ReportedOutcome | None = None
    process: str | None = None


def read_result(text: str) -> Result:
    """Read what Codex handed to the model."""
    head = _HEAD.match(text)
    if head is not None:
        rest, code = text[head.end() :], head["exited"] or head["patched"]
        if head["process"] is not None:
            return Result(rest, ReportedOutcome(CallStatus.PENDING), head["process"])
        return Result(rest, None if code is None else ReportedOutcome.exited(int(code)))
    if _ABORTED.match(text):
        return Result(text, ReportedOutcome(CallStatus.INTERRUPTED))
    if _REFUSED.match(text):
        return Result(text, ReportedOutcome(CallStatus.REFUSED))
    if text.startswith(_FAILED):
        return Result(text, ReportedOutcome(CallStatus.FAILURE))
    return _unwrapped(text) or Result(text)


def _unwrapped(text: str) -> Result | None:
    wrapped = decoded_or(_WRAPPED, text, None) if text.startswith(_WRAPPED_BEGINS) else None
    if wrapped is None:
        return None
    code = wrapped.metadata.exit_code
    return Result(wrapped.output, None if code is None else ReportedOutcome.exited(code))
