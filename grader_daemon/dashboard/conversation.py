"""The messages of a session as a page shows them: taken apart, and what tools say folded to a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from grader_daemon.api.outline import Outline
from grader_daemon.api.transcript import Finding, FindingKind, TranscriptCall, TranscriptMessage
from grader_daemon.domain.session import ASSISTANT, TOOL, USER
from grader_daemon.reports.block_kinds import Block, Code
from grader_daemon.reports.blocks import blocks_of, output_blocks
from grader_daemon.reports.safe_text import LONGEST_ID, LONGEST_NAME, cut

_BRIEF_COLUMNS: Final = 100
"""Columns of the line that stands for what is folded."""
MOST_CALLS: Final = 40
"""So many calls of a message are shown; nobody reads more, and one message may hold thousands."""
_MOST_FINDINGS: Final = 12
_FAILED: Final = frozenset((FindingKind.FAILURE, FindingKind.EXPECTED_FAILURE))
_INSTRUCTIONS: Final = frozenset(("system", "developer"))
_COMMANDS: Final = ("command: ", "cmd: ")
_PATHS: Final = ("file_path: ", "path: ", "filePath: ", "absolute_path: ", "filename: ", "notebook_path: ")
_PLAIN: Final = (*_COMMANDS, *_PATHS)
"""Arguments that are understood without their names."""

_NOT_ASKED: Final = ": false"
"""End of an argument that changes nothing."""
_EXIT_CODE: Final = re.compile(r"^exit_code: (-?\d{1,9})$", re.MULTILINE)
_KINDS: Final = {USER: "user", ASSISTANT: "agent", TOOL: "tool"}


class ShownCall(NamedTuple):
    """A tool call: `brief` is its arguments on a line, `blocks` all of them, nothing where the line says them.

    `path` is the file that it names; None if it names none.
    """

    tool: str | None
    brief: str
    blocks: tuple[Block, ...]
    left_out: int
    path: str | None


class ShownMessage(NamedTuple):
    """A message: `kind` names its style, `brief` stands for a text that is folded, with so many `lines`.

    `seconds` passed since the message before; None where that is not known.
    """

    told: TranscriptMessage
    role: str
    tool: str | None
    kind: str
    seconds: float | None
    has_failed: bool
    brief: str | None
    lines: int
    blocks: tuple[Block, ...]
    calls: tuple[ShownCall, ...]
    findings: tuple[Finding, ...]


def shown_message(told: TranscriptMessage, outline: Outline | None) -> ShownMessage:
    """Return a message as it is shown; `outline` tells how long it took."""
    is_folded = told.role == TOOL or told.role in _INSTRUCTIONS
    return ShownMessage(
        told=told,
        role=cut(told.role, LONGEST_NAME),
        tool=_named(told.tool),
        kind=_KINDS.get(told.role, "other"),
        seconds=_seconds(outline, told.index),
        has_failed=any(finding.kind in _FAILED for finding in told.findings),
        brief=_brief(told.text, is_result=told.role == TOOL) if is_folded else None,
        lines=told.text.count("\n") + 1,
        blocks=output_blocks(told.text) if is_folded else blocks_of(told.text),
        calls=tuple(_shown_call(call) for call in told.calls[:MOST_CALLS]),
        findings=told.findings[:_MOST_FINDINGS],
    )


def _seconds(outline: Outline | None, index: int) -> float | None:
    """Return how long a message took; one that was written after the outline was made is not in it."""
    return outline.messages[index].seconds if outline is not None and index < len(outline.messages) else None


def _shown_call(call: TranscriptCall) -> ShownCall:
    blocks = output_blocks(call.arguments)
    first = blocks[0].lines if blocks and isinstance(blocks[0], Code) else ()  # what an edit changes stands behind it
    brief = _cut(_command(first) if call.runs_command else " · ".join(_told(first)))
    is_all = brief.removeprefix("$ ") in (call.arguments, call.arguments.partition(": ")[2]) and not call.left_out
    path = next((line[len(name) :] for line in first for name in _PATHS if line.startswith(name)), None)
    return ShownCall(_named(call.tool), brief, () if is_all else blocks, call.left_out, path)


def _command(lines: Sequence[str]) -> str:
    """Return the beginning of a command as a shell shows it; where it is among other arguments, all of them."""
    command = next((lines[0][len(name) :] for name in _COMMANDS if lines and lines[0].startswith(name)), "").strip()
    return f"$ {command}" if command else " · ".join(_told(lines))


def _told(lines: Sequence[str]) -> Iterator[str]:
    """Yield arguments that say something, without names where the values alone are understood."""
    for line in lines:
        if line.strip() and not line.endswith(_NOT_ASKED):
            yield next((line[len(name) :] for name in _PLAIN if line.startswith(name)), line)


def _named(tool: str | None) -> str | None:
    return None if tool is None else cut(tool, LONGEST_ID)


def _brief(text: str, *, is_result: bool) -> str:
    """Return the first line that says something, with a name that stands alone before it; of a command how it ended."""
    first, _, rest = text.strip().partition("\n")
    if first.rstrip().endswith(":") and rest:
        first = f"{first.rstrip()} {rest.strip().partition(chr(10))[0]}"
    code = _EXIT_CODE.search(text) if is_result else None
    if code is None:
        return _cut(first)
    said = first.removeprefix("output:").strip()
    return _cut(" · ".join((f"exit {code.group(1)}", said)) if said and code.start() else f"exit {code.group(1)}")


def _cut(text: str) -> str:
    return cut(text[: _BRIEF_COLUMNS + 1], _BRIEF_COLUMNS)
