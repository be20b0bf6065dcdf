"""A report as plain text, for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.domain.text import clean
from grader_daemon.reports.document_parts import Block, Column, Entries, Entry, Prose, Row, Section, Table, lay_out
from grader_daemon.reports.safe_text import columns, cut, plain, wrap

WIDEST: Final = 100
"""Longest line, however wide the terminal."""
NARROWEST: Final = 40
"""Narrower terminals get lines of this width."""

_PROSE = 80
_INDENT = "  "
_GAP = "  "
_SHORTEST_NAME = 12
"""Columns that the name of a row keeps in any table."""


def render_text(report: WeeklyReport, *, width: int = WIDEST) -> str:
    """Return a report as plain text in lines of at most `width` columns, without escapes.

    Tables that do not fit become lists. `width` counts as no less than `NARROWEST` and no more than `WIDEST`.
    """
    width = min(WIDEST, max(NARROWEST, width))
    whole = lay_out(report)
    lines = [*wrap(whole.title, width), *wrap(whole.subtitle, width)]
    lines.append("=" * max(map(columns, lines)))
    lines += [line for words in whole.notes for line in wrap(plain(words), min(width, _PROSE))]
    for section in whole.sections:
        lines += ["", *_section(section, width)]
    return "".join(f"{clean(line).rstrip()}\n" for line in lines)


def _section(section: Section, width: int) -> list[str]:
    blocks = [_block(block, width) for block in section.blocks]
    return [section.title, "-" * len(section.title), *_spaced(blocks)]


def _block(block: Block, width: int) -> list[str]:
    match block:
        case Prose(words):
            return wrap(plain(words), min(width, _PROSE))
        case Table():
            return [block.caption, "", *_table(block, width)]
        case Entries(items):
            return _spaced([_entry(entry, min(width, _PROSE)) for entry in items])
        case _:
            assert_never(block)


def _spaced(parts: Sequence[list[str]]) -> list[str]:
    """Return parts below each other, with an empty line between them."""
    first, *others = parts
    return [*first, *(line for part in others for line in ("", *part))]


def _table(table: Table, width: int) -> list[str]:
    rows = [[column.title for column in table.columns]]
    rows += [[plain(cell) for cell in row.cells] for row in table.rows]
    widths = [max(map(columns, cells)) for cells in zip(*rows, strict=True)]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    if widths[0] - max(0, excess) < min(widths[0], _SHORTEST_NAME):
        return [line for row in table.rows for line in _listed(row, table, width)]
    widths[0] -= max(0, excess)
    return [_GAP.join(map(_aligned, row, table.columns, widths)) for row in rows]


def _aligned(cell: str, column: Column, width: int) -> str:
    shown = cut(cell, width)
    padding = " " * (width - columns(shown))
    return padding + shown if column.is_number else shown + padding


def _listed(row: Row, table: Table, width: int) -> list[str]:
    """Return a row of a table that is too wide as a few lines of its own."""
    first, *others = map(plain, row.cells)
    said = ", ".join(f"{column.title.lower()} {cell}" for column, cell in zip(table.columns[1:], others, strict=True))
    return [*wrap(first, width), *_indented(said, width)]


def _entry(entry: Entry, width: int) -> list[str]:
    first, *others = _indented(plain(entry.title), width)
    lines = [line for words in entry.lines for line in _indented(plain(words), width)]
    return [f"* {first.removeprefix(_INDENT)}", *others, *lines]


def _indented(text: str, width: int) -> list[str]:
    return [_INDENT + line for line in wrap(text, width - len(_INDENT))]
