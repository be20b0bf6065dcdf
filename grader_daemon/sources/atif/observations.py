"""Outcomes of tool calls in ATIF: it has no field for them, only notes that each converter makes.

Those that say it plainly are read of any agent: `is_error` and `exit_code`, in the `extra` of a result or beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Part, ReportedOutcome
from grader_daemon.sources.claude_code.entries import ApiMessage, Block, Entry
from grader_daemon.sources.claude_code.tool_outcomes import outcome_of
from grader_daemon.sources.codex.call_results import read_result

_FLAGGED = "\n\n[error] tool reported failure"
"""End of the text of a failure; newer converters note it nowhere else."""

_STREAMS = "\n\n[stdout]\n"
_NOTES = "\n[metadata] {"
_CLAUDE = "claude-code"
"""Agent whose unflagged results are successes."""

_NO_LINE = Entry("user", ApiMessage())
"""Frame of a result in Claude Code's own files, which is not kept."""


_EXIT_CODES = range(-(2**31), 2**32)
_NOT_DONE: Final[Mapping[object, CallStatus]] = {
    **dict.fromkeys(("refused", "denied", "rejected"), CallStatus.REFUSED),
    **dict.fromkeys(("interrupted", "cancelled", "canceled", "aborted"), CallStatus.INTERRUPTED),
    **dict.fromkeys(("pending", "running"), CallStatus.PENDING),
}
"""Words for a call that did not come to its end: whatever else is noted of it, it neither worked nor failed."""

_DONE: Final[Mapping[object, CallStatus]] = {
    **dict.fromkeys(("success", "ok", "completed"), CallStatus.SUCCESS),
    **dict.fromkeys(("failure", "failed", "error"), CallStatus.FAILURE),
}


class _ResultNotes(msgspec.Struct, frozen=True):
    tool_result_is_error: bool | None = None
    is_error: object = None
    exit_code: object = None
    status: object = None


_NO_NOTES = _ResultNotes()


class Result(msgspec.Struct, frozen=True):
    """One result of a step."""

    source_call_id: str | None = None
    content: str | tuple[Part, ...] | None = None
    is_error: object = None
    exit_code: object = None
    status: object = None
    extra: _ResultNotes | None = None


def read_observation(
    result: Result, text: str, details: object, *, agent: str | None
) -> tuple[str, ReportedOutcome | None]:
    """Return the output of a call, and its outcome where that is noted.

    Args:
        result: the result.
        text: what stands in it.
        details: what the converter for Codex notes of the calls of the step, by their ids.
        agent: whose run it is; the results of Codex tell their outcome in words.
    """
    is_error = result.extra.tool_result_is_error if result.extra is not None else None
    plain = _plain_outcome(result) if is_error is None else None
    if plain is not None:
        return text.removesuffix(_FLAGGED), plain
    if is_error is not None or agent == _CLAUDE:
        is_flagged = text.endswith(_FLAGGED) if is_error is None else is_error
        bare = _without_twin(text.removesuffix(_FLAGGED))
        return bare, outcome_of(Block(is_error=is_flagged), bare, _NO_LINE, decisions=False)
    if text.endswith(_FLAGGED):
        return text.removesuffix(_FLAGGED), ReportedOutcome(CallStatus.FAILURE)
    code = _exit_code(details, result.source_call_id)
    if code is not None:
        return text, ReportedOutcome.exited(code)
    if agent == "codex":
        read = read_result(text)
        return read.text, read.outcome
    return text, None


def _plain_outcome(result: Result) -> ReportedOutcome | None:
    """Return what is noted of a call in plain words, by whatever agent."""
    notes = result.extra or _NO_NOTES
    is_error = result.is_error if isinstance(result.is_error, bool) else notes.is_error
    status = result.status if isinstance(result.status, str) else notes.status
    code = _whole(result.exit_code)
    code = _whole(notes.exit_code) if code is None else code
    word = status if isinstance(status, str) else None
    if word in _NOT_DONE:
        return ReportedOutcome(_NOT_DONE[word], code)
    if isinstance(is_error, bool):
        return ReportedOutcome(CallStatus.FAILURE if is_error else CallStatus.SUCCESS, code)
    if code is not None:
        return ReportedOutcome.exited(code)
    return ReportedOutcome(_DONE[word]) if word in _DONE else None


def _whole(code: object) -> int | None:
    """Return an exit code; None for what is none."""
    return code if isinstance(code, int) and not isinstance(code, bool) and code in _EXIT_CODES else None


def _without_twin(text: str) -> str:
    """Leave out what the converter repeats behind the output of a shell: its streams, and notes of it as JSON."""
    output, mark, rest = text.rpartition(_STREAMS)
    return output if mark and _NOTES in rest and text.endswith("}") else text


def _exit_code(details: object, call_id: str | None) -> int | None:
    value = details
    for key in (call_id, "metadata", "exit_code"):
        value = value.get(key) if isinstance(value, dict) else None
    return _whole(value)
