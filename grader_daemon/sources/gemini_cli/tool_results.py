"""Results of tool calls in Gemini CLI: the output, and whether the call worked.

A shell command always has the status ``success``; its exit code stands in the frame around its output. How one without
the frame went is not noted.
"""

from __future__ import annotations

import re

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.gemini_cli.chat_records import Call, FunctionResponse, Part, Parts, Response

SHELL = "run_shell_command"
_OWN_TOOLS = frozenset(
    {
        *(SHELL, "write_file", "replace", "read_file", "read_many_files", "list_directory", "glob", "web_fetch"),
        *("search_file_content", "grep_search", "google_web_search", "save_memory", "write_todos", "invoke_agent"),
    }
)
"""Gemini CLI's own tools; if one of them is not found, a policy keeps it from the model."""

_NOT_FOUND = re.compile(r'Tool "([\w.-]{1,200})" not found')
_REFUSED = ("Command rejected because ", "User did not allow", "[Operation Cancelled] Reason: User did not allow")
_BLOCKED = "Command injection detected: "
"""Beginning of the output of a command that was not run for a substitution in it; its status is ``success``."""

_TIMED_OUT = "exceeded the timeout"
_OPENING = "<untrusted_context>\n"
_CLOSING = "\n</untrusted_context>"
_OUTPUT = "Output: "
_FRAME_END = re.compile(
    r"\n(?:Error: [^\n]{0,999}\n)?(?:Exit Code: (-?\d{1,10}|\(none\))\n)?(?:Signal: [^\n]{0,99}\n)?"
    r"(?:Background PIDs: [^\n]{0,999}\n)?(?:Process Group PGID: [^\n]{0,99}\n)?\Z"
)
"""Of a text with a line feed behind it; begins with one, so that searching is quick."""

_LONGEST_FRAME_END = 3_000


def read_result(call: Call) -> tuple[str, ReportedOutcome | None]:
    """Return the text of a result and how the call went; None where that is not noted, or it has not ended."""
    response = _response(call.result)
    error = _text(response.error)
    if call.status == "cancelled":
        return error or _text(response.output), ReportedOutcome(_cancelled(error))
    if call.status == "error" or error:
        return error, ReportedOutcome(CallStatus.REFUSED if is_refusal(error) else CallStatus.FAILURE)
    output = _text(response.output)
    if call.name == SHELL:
        if output.startswith(_BLOCKED):
            return output, ReportedOutcome(CallStatus.REFUSED)
        output, code = unframed(output)
        if code is None:
            return output, None
        return output, ReportedOutcome.exited(code)
    return output, ReportedOutcome(CallStatus.SUCCESS) if call.status == "success" else None


def is_refusal(error: str) -> bool:
    """Return whether a person, or a policy that a person has set, said no."""
    missing = _NOT_FOUND.match(error)
    return error.startswith(_REFUSED) or (missing is not None and missing[1] in _OWN_TOOLS)


def text_of(content: Parts) -> str:
    """Return what was said, without thoughts."""
    return "\n".join(
        text
        for part in parts_of(content)
        if (text := part if isinstance(part, str) else (part.text if part.thought is None else None))
    )


def parts_of(content: Parts) -> tuple[str | Part, ...]:
    """Return the pieces of what was said."""
    if content is None:
        return ()
    return content if isinstance(content, tuple) else (content,)


def answer_in(part: str | Part) -> FunctionResponse | None:
    """Return the result of a tool that a piece holds."""
    return part.answer if isinstance(part, Part) else None


def _response(result: Parts) -> Response:
    answers = [answer for part in parts_of(result) if (answer := answer_in(part)) is not None]
    return answers[0].response or Response() if answers else Response()


def _cancelled(error: str) -> CallStatus:
    if _TIMED_OUT in error:
        return CallStatus.FAILURE
    return CallStatus.REFUSED if is_refusal(error) else CallStatus.INTERRUPTED


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def unframed(text: str) -> tuple[str, int | None]:
    """Return the output of a command and its exit code; Gemini CLI names none but those that are not 0."""
    start, frame = text.find(_OPENING), text.removesuffix(_CLOSING)
    if start >= 0:
        frame = text[:start] + frame[start + len(_OPENING) :]
    head, sign, body = frame.partition(_OUTPUT)
    if not sign:
        return text, None
    end = body[-_LONGEST_FRAME_END:]
    tail = _FRAME_END.search(end + "\n")
    assert tail is not None  # it matches the line feed at the end
    code = tail[1]
    output = body[: len(body) - len(end) + tail.start()]
    note = head if start > 0 else ""  # of an output that was too large to stand here
    return note + ("" if output == "(empty)" else output), int(code) if code and code[-1].isdigit() else 0
