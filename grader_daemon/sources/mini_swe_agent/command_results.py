"""Outcomes of commands in mini-SWE-agent: what it notes of them, or the frame that its templates put around them."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome

_FRAME: Final = re.compile(r"\s{0,9}<returncode>(-?\d{1,10})</returncode>\s{0,9}")
_OUTPUT: Final = "<output>"
_TIMED_OUT: Final = "The last command <command>"
_NOT_EXECUTED: Final = "action was not executed"


class ResultNotes(msgspec.Struct, frozen=True):
    """Notes of a result.

    returncode: of the command; -1 where none was run to its end.
    raw_output: the output, whole; that in the message may be shortened.
    exception_info: why it was not run to its end.
    """

    returncode: object = None
    raw_output: object = None
    exception_info: object = None


def outcome_of(notes: ResultNotes, text: str) -> tuple[str, ReportedOutcome | None]:
    """Return the output of a command and its outcome; of a message without an output its text."""
    output = notes.raw_output if isinstance(notes.raw_output, str) else plain_result(text)[0]
    why = notes.exception_info
    if isinstance(why, str) and why:
        status = CallStatus.NOT_EXECUTED if why == _NOT_EXECUTED else CallStatus.FAILURE
        return f"{why}\n{output}".rstrip("\n"), ReportedOutcome(status)
    code = notes.returncode
    return output, ReportedOutcome.exited(code) if isinstance(code, int) and not isinstance(code, bool) else None


def plain_result(text: str) -> tuple[str, ReportedOutcome | None]:
    """Return the output of a command and its outcome, by the frame of a message that has no notes."""
    head = _FRAME.match(text)
    if head is None:
        return text, ReportedOutcome(CallStatus.FAILURE) if text.startswith(_TIMED_OUT) else None
    rest = text[head.end() :]
    if rest.startswith(_OUTPUT):
        rest = rest[len(_OUTPUT) :].removeprefix("\n").rstrip().removesuffix("</output>")
    return rest, ReportedOutcome.exited(int(head[1]))
