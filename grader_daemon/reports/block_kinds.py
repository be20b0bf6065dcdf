"""Blocks that a text of a session is taken apart into: paragraphs, headings, lists, quotes, code, diffs and tables."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, NamedTuple, TypeAlias

import msgspec


class LineKind(StrEnum):
    """Kind of a line of a diff."""

    ADDED = "added"
    REMOVED = "removed"
    HEAD = "head"
    SAME = "same"


class DiffLine(NamedTuple):
    """A line of a diff, with its sign."""

    kind: LineKind
    text: str


class Span(NamedTuple):
    """A part of a line and how it is set, without the marks around it."""

    text: str
    is_code: bool = False
    is_strong: bool = False
    is_emphasis: bool = False
    is_struck: bool = False


Line: TypeAlias = tuple[Span, ...]


class Paragraph(msgspec.Struct, frozen=True):
    """Lines of text; the breaks between them are the writer's."""

    kind: ClassVar = "paragraph"
    lines: tuple[Line, ...]


class Heading(msgspec.Struct, frozen=True):
    """A line above what follows."""

    kind: ClassVar = "heading"
    line: Line


class Rule(msgspec.Struct, frozen=True):
    """A line across, between two parts of a text."""

    kind: ClassVar = "rule"


class Listing(msgspec.Struct, frozen=True):
    """Items under each other, each of blocks; `start` is the number of the first, None where they have none."""

    kind: ClassVar = "list"
    items: tuple[tuple[Block, ...], ...]
    start: int | None = None


class Quote(msgspec.Struct, frozen=True):
    """Text that somebody else wrote."""

    kind: ClassVar = "quote"
    blocks: tuple[Block, ...]


class Code(msgspec.Struct, frozen=True):
    """Lines in letters of one width; `language` is what the writer called it."""

    kind: ClassVar = "code"
    lines: tuple[str, ...]
    language: str | None = None


class Diff(msgspec.Struct, frozen=True):
    """A change, line by line."""

    kind: ClassVar = "diff"
    lines: tuple[DiffLine, ...]


class Table(msgspec.Struct, frozen=True):
    """Rows with as many cells as there are headings."""

    kind: ClassVar = "table"
    headings: tuple[Line, ...]
    rows: tuple[tuple[Line, ...], ...]


Block: TypeAlias = Paragraph | Heading | Rule | Listing | Quote | Code | Diff | Table
