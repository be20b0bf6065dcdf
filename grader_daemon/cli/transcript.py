"""A session as text on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Iterator

from grader_daemon.api.transcript import FindingKind, Transcript, TranscriptMessage
from grader_daemon.cli import output
from grader_daemon.domain.text import clean

_INDENT = 4
_FOLDED_ROLES = frozenset(("system", "developer"))
_COLOURS = {
    FindingKind.FAILURE: "bright_red",
    FindingKind.EXPECTED_FAILURE: "yellow",
    FindingKind.REFUSED: "yellow",
    FindingKind.CLAIM: "cyan",
    FindingKind.EVIDENCE: "cyan",
    FindingKind.PERSON: "yellow",
    FindingKind.CHECK: "cyan",
}


def transcript_lines(told: Transcript, *, unfolded: int | None) -> Iterator[str]:
    """Return a transcript line by line; instructions of the system stand folded, but in message `unfolded`."""
    grade = told.stored.grade
    yield f"{output.cell(grade.session_id)}: {output.cell(grade.task_summary)}"
    if told.note is not None:
        yield f"Note: {clean(told.note)}."
    for message in told.messages:
        yield ""
        yield from _message_lines(message, is_folded=message.role in _FOLDED_ROLES and message.index != unfolded)
    if told.messages and len(told.messages) < told.total:
        yield ""
        yield f"{len(told.messages)} of {told.total} messages."


def _message_lines(message: TranscriptMessage, *, is_folded: bool) -> Iterator[str]:
    yield output.styled(f"Message {message.index}: {' '.join(filter(None, (message.role, message.tool)))}", bold=True)
    for finding in message.findings:
        yield output.styled(f"    \u25b8 {finding.kind.replace('_', ' ')}: {finding.text}", fg=_COLOURS[finding.kind])
    if is_folded:
        yield f"    ({len(message.text):,} more characters: --around {message.index})"
    else:
        yield from _indented(message.text)
    for call in message.calls:
        yield output.styled(f"    \u2192 {call.tool or 'a tool without a name'}", bold=True)
        yield from (f"  {line}" for line in _indented(call.arguments))


def _indented(text: str) -> Iterator[str]:
    return (" " * _INDENT + line for line in text.split("\n") if line) if text else iter(())
