"""Outcomes of tool calls in Copilot CLI: a flag for the tool, an exit code for the command that it ran."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.copilot.event_lines import Failure, Result

_RUNS_COMMANDS: Final = frozenset({"bash", "powershell", "local_shell"})
"""Tools whose result is that of the command; others only look at one that runs."""

_SHELLS: Final = re.compile(r"(?:(?:read|write|stop|list)_)?(?:bash|powershell)|local_shell")
_ENDED = re.compile(
    r"<(?:(?:shellId|command with (?:id|sessionId|shellId)): ([\w.-]{1,100}) (?:completed|exited)|"
    r"(?:command )?(?:completed|exited)) with exit code (-?\d{1,10})>\s{0,9}\Z"
)
_GOES_ON = re.compile(
    r"<(?=[^<>]{0,300}\b(?:running|started|background)\b)[^<>]{0,300}?"
    r"\b(?:shellId|sessionId|id): ([\w.-]{1,100})[^<>]{0,300}>\s{0,9}\Z"
)
_LONGEST_FRAME = 500
_DENIED: Final = frozenset({"denied", "rejected"})
_STOPPED: Final = frozenset({"aborted", "cancelled", "canceled", "interrupted"})
_REFUSED: Final = (
    "Permission denied because ",
    "Permission denied and could not request permission from user",
    "The user rejected this tool call",
    "Denied by ",
)
_INTERRUPTED: Final = "The execution of this tool, or a previous tool was interrupted"
"""Beginnings of messages of versions that give no code."""


class Outcome(NamedTuple):
    """The end of a call.

    text: what the tool said, without the frame that tells how a command ended.
    outcome: how it went.
    shell: the shell whose command goes on, or of which another call tells the end.
    command: how the command of that shell ended; None while it goes on.
    """

    text: str
    outcome: ReportedOutcome
    shell: str | None = None
    command: ReportedOutcome | None = None


def read_result(result: Result, *, tool: str | None, is_denied: bool) -> Outcome:
    """Return the end of a call of `tool`; `is_denied` where a permission was asked for it and not given."""
    said = (result.result.content if result.result is not None else None) or ""
    code = result.shell_execution.exit_code if result.shell_execution is not None else None
    works = result.error is None if result.success is None else result.success
    if not works:
        error = result.error or Failure()
        return Outcome(error.message or said, ReportedOutcome(_why_not(error, is_denied=is_denied), code))
    if code is None and (tool is None or _SHELLS.fullmatch(tool) is None):
        return Outcome(said, ReportedOutcome(CallStatus.SUCCESS))
    return _of_command(said, code, runs=tool in _RUNS_COMMANDS or code is not None)


def _of_command(said: str, code: int | None, *, runs: bool) -> Outcome:
    frame = _ENDED.search(said, max(0, len(said) - _LONGEST_FRAME))
    shell = None
    if frame is not None:
        shell, code = frame[1], int(frame[2]) if code is None else code
        before, between = said[: frame.start()][:-2], said[: frame.start()][-2:]
        said = before + between.rstrip()
    if code is not None:
        outcome = ReportedOutcome.exited(code)
        return Outcome(said, outcome if runs else ReportedOutcome(CallStatus.SUCCESS), shell, outcome)
    on = _GOES_ON.search(said, max(0, len(said) - _LONGEST_FRAME))
    if on is None or not runs:
        return Outcome(said, ReportedOutcome(CallStatus.SUCCESS))
    return Outcome(said, ReportedOutcome(CallStatus.PENDING), on[1])


def _why_not(error: Failure, *, is_denied: bool) -> CallStatus:
    message = error.message or ""
    if error.code in _STOPPED or message.startswith(_INTERRUPTED):
        return CallStatus.INTERRUPTED
    refused = is_denied or error.code in _DENIED or message.startswith(_REFUSED)
    return CallStatus.REFUSED if refused else CallStatus.FAILURE
