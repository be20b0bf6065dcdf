"""Secrets in tables: the cells below a heading that names them, in CSV, from databases, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.redaction.finders import Span
from grader_daemon.redaction.values import OF_PASSWORDS, OF_TOKENS, Value

_HEADINGS: Final = {"pass": ("passw",), "pw": ("pwd",), "secret": ("secret",), "token": ("token",), "key": ("api_key",)}
HEADING_SIGNS: Final = frozenset(_HEADINGS)
"""Signs of finders; where none is, there is no heading: each tells what to look for."""
_ENDS = late_pattern(r"\w{0,20}+[\\\"' ]{0,30}(?:[,;|\t\r\n]|\Z)")
_PASSWORD = late_pattern(r"(?:\w{1,30}_)?(?:password|passwd|pwd|secret)", re.IGNORECASE)
_TOKEN = late_pattern(r"(?:\w{1,30}_)?(?:token|api_?key|secret_key|access_key)", re.IGNORECASE)
_HEADING = late_pattern(r"[\w .#()/-]{0,60}")
_LONGEST_LINE: Final = 2_000
_MOST_ROWS: Final = 500
_RULE = late_pattern(r"[|+:=\s-]+")
_CELLS = {
    mark: late_pattern(rf'(?:"(?:[^"\n]|""){{0,500}}"|[^{re.escape(mark)}\n]{{0,500}}+)')
    for mark in (",", "|", ";", "\t")
}


class _Table(NamedTuple):
    """A table: the divider of its cells, the text before each line, and its columns with secrets of how many."""

    mark: str
    indent: str
    columns: Mapping[int, Value]
    width: int


def in_columns(text: str, lowered: str, signs: Collection[str]) -> Iterator[Span]:
    """Yield the secrets in tables; `lowered` is the text in small letters, `signs` of finders stand in it."""
    done = 0
    for place in sorted(_places(lowered, signs)):
        if place < done:
            continue
        start, end = text.rfind("\n", 0, place) + 1, _line_end(text, place)
        done = end
        if end - start <= _LONGEST_LINE:
            done = yield from _in_table(text, start, end)


def _places(lowered: str, signs: Collection[str]) -> Iterator[int]:
    """Yield where something of the kind ends a cell."""
    for heading in chain.from_iterable(headings for sign, headings in _HEADINGS.items() if sign in signs):
        place = lowered.find(heading)
        while place >= 0:
            if _ENDS.match(lowered, place):
                yield place
            place = lowered.find(heading, place + 1)


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return end if end >= 0 else len(text)


def _in_table(text: str, start: int, end: int) -> Generator[Span, None, int]:
    """Yield the secrets below the line of headings, if it is one, and return where its table ends."""
    first = start
    while text.startswith("\t", first):
        first += 1
    for mark in _CELLS:
        headings = [text[slice(*cell)].strip('"\\ \r') for cell in _cells(text, first, end, mark)]
        columns = {number: value for number, name in enumerate(headings) if (value := _value_below(name))}
        if len(headings) > 1 and columns and all(map(_HEADING.fullmatch, headings[1:])):
            return (yield from _below(text, end, _Table(mark, text[start:first], columns, len(headings))))
    return end


def _value_below(heading: str) -> Value | None:
    if _PASSWORD.fullmatch(heading):
        return OF_PASSWORDS.listed
    return OF_TOKENS.listed if _TOKEN.fullmatch(heading) else None


def _below(text: str, end: int, table: _Table) -> Generator[Span, None, int]:
    for _ in range(_MOST_ROWS):
        start, end = end + 1, _line_end(text, end + 1)
        if start >= len(text) or end - start > _LONGEST_LINE:
            break
        if _RULE.fullmatch(text, start, end):
            continue
        start += len(table.indent) if text.startswith(table.indent, start) else 0
        cells = list(_cells(text, start, end, table.mark))
        if not _is_row(text, cells, table.width):
            break
        for number, value in table.columns.items():
            yield from _secret_in(text, cells[number], value)
    return end


def _is_row(text: str, cells: Sequence[Span], width: int) -> bool:
    """Return whether a line has as many cells as there are headings; a quote of the table may go on behind the last."""
    return len(cells) == width or (len(cells) > width and '"' in text[slice(*cells[width - 1])])


def _secret_in(text: str, cell: Span, value: Value) -> Iterator[Span]:
    start, end = cell
    while start < end and text[start] == " ":
        start += 1
    found = value.at(text, start)
    if found is not None:
        yield found[0], min(found[1], end)


def _cells(text: str, start: int, end: int, mark: str) -> Iterator[Span]:
    """Yield the cells of a line, up to one that is too long."""
    while True:
        cell = _CELLS[mark].match(text, start, end)
        assert cell is not None  # one may be empty
        yield cell.span()
        if cell.end() == end or text[cell.end()] != mark:
            return
        start = cell.end() + 1
