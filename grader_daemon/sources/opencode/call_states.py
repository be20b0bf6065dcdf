"""States of calls in OpenCode: the result, and whether the call worked.

A command that failed is ``completed`` as one that worked; only its exit code tells them apart.
"""

from __future__ import annotations

import re

from msgspec import UNSET

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.opencode.session_parts import Part, State

INVALID = "invalid"
"""The tool that stands in for one that does not exist; the input names the other."""

_UNAVAILABLE = re.compile(r"[^\n]{0,99}?\bModel tried to call unavailable tool '([\w.-]{1,99})'\.")
_OWN_TOOLS = frozenset({"bash", "edit", "glob", "grep", "read", "skill", "task", "todowrite", "webfetch", "write"})
"""OpenCode's own tools, those of 1.18; if one of them is unavailable, a policy keeps it from the model."""

_REPLACED = frozenset({"edit", "write"})
_REPLACES = "apply_patch"
"""Some models are offered it in place of the two."""

_REFUSED = ("The user rejected permission", "The user has specified a rule which prevents you")
_ABORTED = ("Tool execution aborted", "Tool execution was interrupted")
_NOTE = "<shell_metadata>"
_USER_ABORTED = "User aborted the command"
_EXAMINED_END = 1_000


def tool_of(part: Part) -> str | None:
    """Return the name of the tool that the model called."""
    state = part.state or State()
    named = (state.input or {}).get("tool") if part.tool == INVALID else None
    return named if isinstance(named, str) and named else part.tool


def read_state(part: Part) -> tuple[str, ReportedOutcome] | None:
    """Return the result of a call and how it went; None while it has none."""
    state = part.state or State()
    if state.status == "error":
        error = state.error or ""
        return error, ReportedOutcome(_status_of(error))
    if state.status != "completed":
        return None
    output = state.output or ""
    if part.tool == INVALID:
        return output, ReportedOutcome(CallStatus.REFUSED if _is_kept_away(output) else CallStatus.FAILURE)
    code = UNSET if state.metadata is None else state.metadata.exit
    if code is UNSET:
        return output, ReportedOutcome(CallStatus.SUCCESS)
    if code is None:
        aborted = _USER_ABORTED in output[-_EXAMINED_END:].partition(_NOTE)[2]
        return output, ReportedOutcome(CallStatus.INTERRUPTED if aborted else CallStatus.FAILURE)
    return output, ReportedOutcome.exited(code)


def _is_kept_away(output: str) -> bool:
    found = _UNAVAILABLE.match(output)
    if found is None or found[1] not in _OWN_TOOLS:
        return False
    return found[1] not in _REPLACED or _REPLACES not in output[found.end() :]


def _status_of(error: str) -> CallStatus:
    if error.startswith(_REFUSED):
        return CallStatus.REFUSED
    return CallStatus.INTERRUPTED if error.startswith(_ABORTED) else CallStatus.FAILURE
