"""Outcomes of tool calls in ATIF: it has no field for them, only notes that each converter makes."""

from __future__ import annotations

import msgspec

from grader_daemon.domain.session import Part, ReportedOutcome
from grader_daemon.sources.claude_code.entries import ApiMessage, Block, Entry
from grader_daemon.sources.claude_code.tool_outcomes import outcome_of
from grader_daemon.sources.codex.call_results import exited, read_result

_FLAGGED = "\n\n[error] tool reported failure"
"""End of the text of a failure; newer converters note it nowhere else."""

_STREAMS = "\n\n[stdout]\n"
_NOTES = "\n[metadata] {"
_CLAUDE = "claude-code"
"""Agent whose unflagged results are successes."""

_CODEX = "codex"
_NO_LINE = Entry("user", ApiMessage())
"""Frame of a result in Claude Code's own files, which is not kept."""


class _ResultNotes(msgspec.Struct, frozen=True):
    tool_result_is_error: bool | None = None


class Result(msgspec.Struct, frozen=True):
    """One result of a step."""

    source_call_id: str | None = None
    content: str | tuple[Part, ...] | None = None
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
    if is_error is not None or agent == _CLAUDE:
        is_flagged = text.endswith(_FLAGGED) if is_error is None else is_error
        bare = _without_twin(text.removesuffix(_FLAGGED))
        return bare, outcome_of(Block(is_error=is_flagged), bare, _NO_LINE, decisions=False)
    code = _exit_code(details, result.source_call_id)
    if code is not None:
        return text, exited(code)
    if agent == _CODEX:
        read = read_result(text)
        return read.text, read.outcome
    return text, None


def _without_twin(text: str) -> str:
    """Leave out what the converter repeats behind the output of a shell: its streams, and notes of it as JSON."""
    output, mark, rest = text.rpartition(_STREAMS)
    return output if mark and _NOTES in rest and text.endswith("}") else text


def _exit_code(details: object, call_id: str | None) -> int | None:
    value = details
    for key in (call_id, "metadata", "exit_code"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
