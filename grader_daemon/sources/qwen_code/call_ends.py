"""Ends of tool calls in Qwen Code: Gemini's results, and beside them what the person sees."""

from __future__ import annotations

from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.decoding import decoded_or
from grader_daemon.sources.gemini_cli.chat_records import Call, FunctionResponse, Part
from grader_daemon.sources.gemini_cli.tool_results import SHELL, read_result, unframed
from grader_daemon.sources.qwen_code.chat_lines import CallResult

_NOT_STARTED: Final = "not_started"
_BLOCKED: Final = "Blocked: "
"""Beginning of what is said of a command that the program does not run, whoever asks for it."""

_OWN_TOOLS: Final = frozenset({"agent", "ask_user_question", "edit", "exit_plan_mode", "skill", "todo_write"})
"""Tools of Qwen Code that Gemini CLI has not; if one of its own is not registered, a policy keeps it from the model."""

_STOPPED: Final = "Command was cancelled"
_TIMED_OUT: Final = "Command timed out"
_BACKGROUND: Final = "Background "
_TASKS: Final = {
    "background": CallStatus.PENDING,
    "running": CallStatus.PENDING,
    "paused": CallStatus.PENDING,
    "failed": CallStatus.FAILURE,
    "cancelled": CallStatus.INTERRUPTED,
}
"""Outcome of the call of a sub-agent by how that one stands."""


class _Display(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: object = None
    exit_code: object = None
    status: object = None


_DISPLAY = msgspec.json.Decoder(_Display).decode
_NO_DISPLAY: Final = _Display()


def read_end(answer: FunctionResponse, result: CallResult | None) -> tuple[str, ReportedOutcome | None]:
    """Return what the model is told of a call that has ended, and how it went; None where that is not noted."""
    result = result or CallResult()
    call = Call(answer.id, answer.name, status=result.status or "success", result=Part(answer=answer))
    text, outcome = read_result(call)
    if result.status == "cancelled":
        refused = result.execution_status == _NOT_STARTED
        return text, ReportedOutcome(CallStatus.REFUSED) if refused else outcome
    if outcome is not None and outcome.status is CallStatus.FAILURE and _is_refusal(answer, result, text):
        return text, ReportedOutcome(CallStatus.REFUSED)
    display = _display(result)
    if answer.name == SHELL:
        return _of_command(text, outcome, display)
    if display.type == "task_execution" and isinstance(display.status, str) and display.status in _TASKS:
        return text, ReportedOutcome(_TASKS[display.status])
    return text, outcome


def _of_command(text: str, outcome: ReportedOutcome | None, display: _Display) -> tuple[str, ReportedOutcome | None]:
    """A command that failed has its whole frame as the error; which exit codes are none, Qwen Code decides itself."""
    if text.startswith(_STOPPED):
        return text, ReportedOutcome(CallStatus.INTERRUPTED)
    if text.startswith(_TIMED_OUT):
        return text, ReportedOutcome(CallStatus.FAILURE)
    code = outcome.exit_code if outcome is not None else None
    if code is None:
        text, code = unframed(text)
    if isinstance(display.exit_code, int) and not isinstance(display.exit_code, bool):
        code = display.exit_code
    if code is not None:
        return text, ReportedOutcome.exited(code)
    return text, ReportedOutcome(CallStatus.PENDING) if text.startswith(_BACKGROUND) else outcome


def _is_refusal(answer: FunctionResponse, result: CallResult, text: str) -> bool:
    if result.error_type == "tool_not_registered":
        return answer.name in _OWN_TOOLS
    return result.error_type == "execution_denied" or (
        text.startswith(_BLOCKED) and result.execution_status == _NOT_STARTED
    )


def _display(result: CallResult) -> _Display:
    raw = result.result_display
    return decoded_or(_DISPLAY, raw, _NO_DISPLAY) if bytes(memoryview(raw)[:1]) == b"{" else _NO_DISPLAY
