"""What people, agents and tools write, taken apart: paragraphs, headings, code, diffs and tables.

Agents write Markdown, mostly. This knows as much of it as helps to read, and loses nothing: what it does not know is a
paragraph with the lines as they are. Nothing becomes a link or an image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

import msgspec


class LineKind(StrEnum):
    """What a line of a diff is."""

    ADDED = "added"
    REMOVED = "removed"
    HEAD = "head"
    SAME = "same"


class DiffLine(NamedTuple):
    """A line of a diff, with its sign."""

    kind: LineKind
    text: str


class SpanKind(StrEnum):
    """How a part of a line is set."""

    TEXT = "text"
    CODE = "code"
    STRONG = "strong"


class Span(NamedTuple):
    """A part of a line, without the marks around it."""

    kind: SpanKind
    text: str


class Paragraph(msgspec.Struct, frozen=True):
    """Lines of text; the breaks between them are the writer's."""

    kind: ClassVar = "paragraph"
    lines: tuple[str, ...]


class Heading(msgspec.Struct, frozen=True):
    """A line above what follows."""

    kind: ClassVar = "heading"
    text: str


class Code(msgspec.Struct, frozen=True):
    """Lines in letters of one width; `language` is what the writer called it."""

    kind: ClassVar = "code"
    lines: tuple[str, ...]
    language: str | None = None


class Diff(msgspec.Struct, frozen=True):
    """What was changed, line by line."""

    kind: ClassVar = "diff"
    lines: tuple[DiffLine, ...]


class Table(msgspec.Struct, frozen=True):
    """Rows with as many cells as there are headings."""

    kind: ClassVar = "table"
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Paragraph | Heading | Code | Diff | Table

_FENCE: Final = re.compile(r"[ \t]{0,12}(`{3,}|~{3,})([^`]*)")
_HEADING: Final = re.compile(r"#{1,6}\s+(\S.*)")
_RULE: Final = re.compile(r":?-+:?")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_SPANS: Final = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_PATCH: Final = ("*** Begin Patch", "*** End Patch")
_HEADS: Final = (
    *("diff --git ", "index ", "--- ", "+++ ", "@@", "old mode ", "new mode ", "new file mode ", "deleted file mode "),
    *("similarity index ", "rename from ", "rename to ", "Binary files ", "*** "),
)
_DIFF_LANGUAGES: Final = frozenset(("diff", "patch", "udiff"))


def blocks_of(text: str) -> tuple[Block, ...]:
    """Return the blocks of what a person or an agent wrote."""
    return tuple(_blocks(text.split("\n")))


def output_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of what a tool is given or gives back: diffs, and lines as they are."""
    lines, found = text.split("\n"), list[Block]()
    begin = place = 0
    while place < len(lines):
        end = _diff_end(lines, place)
        if end == place:
            place += 1
            continue
        found += _code(lines[begin:place])
        found.append(_diff(lines[place:end]))
        begin = place = end
    return (*found, *_code(lines[begin:]))


def spans(line: str) -> Iterator[Span]:
    """Yield the parts of a line of a paragraph, a heading or a cell."""
    place = 0
    for found in _SPANS.finditer(line):
        if found.start() > place:
            yield Span(SpanKind.TEXT, line[place : found.start()])
        yield Span(SpanKind.CODE, found[1]) if found[1] else Span(SpanKind.STRONG, found[2])
        place = found.end()
    if place < len(line):
        yield Span(SpanKind.TEXT, line[place:])


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    begin = place = 0
    while place < len(lines):
        block, end = _block_at(lines, place)
        if block is None and lines[place].strip():
            place += 1
            continue
        yield from _paragraph(lines[begin:place])
        if block is not None:
            yield block
        begin = place = end
    yield from _paragraph(lines[begin:])


def _block_at(lines: Sequence[str], place: int) -> tuple[Block | None, int]:
    """Return the block that begins with a line, and where it ends; of a line of text or an empty one, none."""
    line = lines[place]
    fence = _FENCE.fullmatch(line)
    if fence is not None:
        return _fenced(lines, place, fence)
    heading = _HEADING.fullmatch(line)
    if heading is not None:
        return Heading(heading[1].rstrip("# ")), place + 1
    if _begins_table(lines, place):
        return _table(lines, place)
    end = _diff_end(lines, place)
    return (None, place + 1) if end == place else (_diff(lines[place:end]), end)


def _fenced(lines: Sequence[str], place: int, fence: re.Match[str]) -> tuple[Block, int]:
    """Return the code behind a fence; what is never closed, as in a text that was cut, goes on to the end."""
    end = next((at for at in range(place + 1, len(lines)) if _closes(lines[at].strip(), fence[1])), len(lines))
    inside, language = lines[place + 1 : end], next(iter(fence[2].split()), None)
    if language in _DIFF_LANGUAGES or (language is None and _diff_end(inside, 0)):
        return _diff(inside), end + 1
    return Code(tuple(inside), language), end + 1


def _closes(line: str, mark: str) -> bool:
    return line.startswith(mark) and not line.strip(mark[0])


def _begins_table(lines: Sequence[str], place: int) -> bool:
    if "|" not in lines[place] or place + 1 == len(lines):
        return False
    rules = _cells(lines[place + 1])
    return all(_RULE.fullmatch(rule) for rule in rules) and len(rules) == len(_cells(lines[place]))


def _table(lines: Sequence[str], place: int) -> tuple[Table, int]:
    headings = _cells(lines[place])
    end = next((at for at in range(place + 2, len(lines)) if "|" not in lines[at]), len(lines))
    rows = tuple(_fitted(_cells(line), len(headings)) for line in lines[place + 2 : end])
    return Table(headings, rows), end


def _cells(line: str) -> tuple[str, ...]:
    inside = line.strip().removeprefix("|")
    if inside.endswith("|") and not inside.endswith("\\|"):
        inside = inside[:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inside))


def _fitted(cells: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Return as many cells as there are headings; what is too much stands in the last one."""
    if len(cells) > width:
        return (*cells[: width - 1], " | ".join(cells[width - 1 :]))
    return cells + ("",) * (width - len(cells))


def _diff_end(lines: Sequence[str], place: int) -> int:
    """Return where a diff ends that begins with a line; the line itself where none does."""
    if lines and lines[place] == _PATCH[0]:
        return next((at + 1 for at in range(place, len(lines)) if lines[at] == _PATCH[1]), len(lines))
    if not _begins_diff(lines, place):
        return place
    while place < len(lines) and lines[place].startswith(_HEADS):
        hunk = _HUNK.match(lines[place])
        place += 1
        if hunk is not None:
            place = _hunk_end(lines, place, removed=int(hunk[1] or 1), added=int(hunk[2] or 1))
    return place


def _begins_diff(lines: Sequence[str], place: int) -> bool:
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


def _diff(lines: Sequence[str]) -> Diff:
    return Diff(tuple(DiffLine(_line_kind(line), line) for line in lines))


def _line_kind(line: str) -> LineKind:
    if line.startswith(_HEADS):
        return LineKind.HEAD
    return {"+": LineKind.ADDED, "-": LineKind.REMOVED}.get(line[:1], LineKind.SAME)


def _paragraph(lines: Sequence[str]) -> Iterator[Paragraph]:
    if lines:
        yield Paragraph(tuple(lines))


def _code(lines: Sequence[str]) -> Iterator[Code]:
    if any(lines):
        yield Code(tuple(lines))
