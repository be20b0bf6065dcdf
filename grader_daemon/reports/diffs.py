"""Diffs in texts: where one begins and ends, and what each of its lines is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from grader_daemon.reports.block_kinds import Diff, DiffLine, LineKind

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PATCH: Final = ("*** Begin Patch", "*** End Patch")
_HEADS: Final = (
    *("diff --git ", "index ", "--- ", "+++ ", "@@", "old mode ", "new mode ", "new file mode ", "deleted file mode "),
    *("similarity index ", "rename from ", "rename to ", "Binary files ", "*** "),
)


def diff_end(lines: Sequence[str], place: int) -> int:
    """Return where a diff ends that begins with a line; the line itself where none does."""
    if lines and lines[place] == _PATCH[0]:
        return next((at + 1 for at in range(place, len(lines)) if lines[at] == _PATCH[1]), len(lines))
    if not _beginsdiff(lines, place):
        return place
    while place < len(lines) and lines[place].startswith(_HEADS):
        hunk = _HUNK.match(lines[place])
        place += 1
        if hunk is not None:
            place = _hunk_end(lines, place, removed=int(hunk[1] or 1), added=int(hunk[2] or 1))
    return place


def _beginsdiff(lines: Sequence[str], place: int) -> bool:
    first = lines[place] if place < len(lines) else ""
    if first.startswith("--- "):
        return place + 1 < len(lines) and lines[place + 1].startswith("+++ ")
    return first.startswith("diff --git ") or _HUNK.match(first) is not None


def _hunk_end(lines: Sequence[str], place: int, *, removed: int, added: int) -> int:
    """Return where a hunk ends: as many lines as its head says, fewer where other lines come before."""
    while place < len(lines) and (removed > 0 or added > 0):
        sign = lines[place][:1]
        if sign not in ("", " ", "+", "-", "\\"):
            break
        removed -= sign in ("", " ", "-")
        added -= sign in ("", " ", "+")
        place += 1
    return place + (place < len(lines) and lines[place].startswith("\\ "))


def diff(lines: Sequence[str]) -> Diff:
    """Return lines as a diff."""
    return Diff(tuple(DiffLine(_line_kind(line), line) for line in lines))


def _line_kind(line: str) -> LineKind:
    if line.startswith(_HEADS):
        return LineKind.HEAD
    return {"+": LineKind.ADDED, "-": LineKind.REMOVED}.get(line[:1], LineKind.SAME)
