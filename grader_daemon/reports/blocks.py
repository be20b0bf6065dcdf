"""Texts of people, agents and tools, taken apart: what is Markdown in them, diffs, and lines as they are.

It loses nothing: what is not known is a paragraph with the lines as they are. Nothing becomes a link or an image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from grader_daemon.reports.block_kinds import Block, Code, Line, Table
from grader_daemon.reports.diffs import diff, diff_end
from grader_daemon.reports.read_markdown import line_of, markdown_blocks

_FENCE: Final = re.compile(r"[ \t]{0,12}(`{3,}|~{3,})([^`]*)")
_RULE: Final = re.compile(r":?-+:?")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_DIFF_LANGUAGES: Final = frozenset(("diff", "patch", "udiff"))


def blocks_of(text: str) -> tuple[Block, ...]:
    """Return the blocks of what a person or an agent wrote."""
    return tuple(_blocks(text.replace("\r\n", "\n").split("\n")))


def output_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of what a tool is given or gives back: diffs, and lines as they are."""
    lines, found = text.split("\n"), list[Block]()
    begin = place = 0
    while place < len(lines):
        end = diff_end(lines, place)
        if end == place:
            place += 1
            continue
        found += _code(lines[begin:place])
        found.append(diff(lines[place:end]))
        begin = place = end
    return (*found, *_code(lines[begin:]))


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yield diffs and tables, and between them what Markdown makes of the lines."""
    begin = place = 0
    while place < len(lines):
        block, end = _block_at(lines, place)
        if block is not None:
            yield from _marked(lines[begin:place])
            yield block
            begin = end
        place = end
    yield from _marked(lines[begin:])


def _marked(lines: Sequence[str]) -> tuple[Block, ...]:
    return markdown_blocks("\n".join(lines), _code_or_diff)


def _block_at(lines: Sequence[str], place: int) -> tuple[Block | None, int]:
    """Return the table or diff that begins with a line, and where it ends; nothing within a fence begins one."""
    fence = _FENCE.fullmatch(lines[place])
    if fence is not None:
        return None, _fence_end(lines, place, fence[1])
    if _begins_table(lines, place):
        return _table(lines, place)
    end = diff_end(lines, place)
    return (None, place + 1) if end == place else (diff(lines[place:end]), end)


def _fence_end(lines: Sequence[str], place: int, mark: str) -> int:
    """Return where a fence ends; one that is never closed, as in a text that was cut, goes on to the end."""
    return next((at + 1 for at in range(place + 1, len(lines)) if _closes(lines[at].strip(), mark)), len(lines))


def _closes(line: str, mark: str) -> bool:
    return line.startswith(mark) and not line.strip(mark[0])


def _code_or_diff(inside: Sequence[str], language: str | None) -> Block:
    if language in _DIFF_LANGUAGES or (language is None and diff_end(inside, 0)):
        return diff(inside)
    return Code(tuple(inside), language)


def _begins_table(lines: Sequence[str], place: int) -> bool:
    if "|" not in lines[place] or place + 1 == len(lines):
        return False
    rules = _cells(lines[place + 1])
    return all(_RULE.fullmatch(rule) for rule in rules) and len(rules) == len(_cells(lines[place]))


def _table(lines: Sequence[str], place: int) -> tuple[Table, int]:
    headings = tuple(map(line_of, _cells(lines[place])))
    end = next((at for at in range(place + 2, len(lines)) if "|" not in lines[at]), len(lines))
    rows = tuple(_row(_cells(line), len(headings)) for line in lines[place + 2 : end])
    return Table(headings, rows), end


def _cells(line: str) -> tuple[str, ...]:
    inside = line.strip().removeprefix("|")
    if inside.endswith("|") and not inside.endswith("\\|"):
        inside = inside[:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inside))


def _row(cells: tuple[str, ...], width: int) -> tuple[Line, ...]:
    """Return as many cells as there are headings; what is too much stands in the last one."""
    if len(cells) > width:
        cells = (*cells[: width - 1], " | ".join(cells[width - 1 :]))
    return (*map(line_of, cells), *[()] * (width - len(cells)))


def _code(lines: Sequence[str]) -> Iterator[Code]:
    if any(lines):
        yield Code(tuple(lines))
