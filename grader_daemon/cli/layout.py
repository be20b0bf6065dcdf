"""Layout of texts on a screen: tables in columns, paragraphs in lines, no wider than the terminal is.

Widths are columns of a terminal, of which wide characters take two; `room` None means that nothing is too wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from grader_daemon.reports.safe_text import columns as columns_of
from grader_daemon.reports.safe_text import cut, wrap

_GAP = "  "
_INDENT = 4
_NEVER_CUT = 20
"""A column of at most so many characters is shown whole, as a figure with its range; wider ones make room, but for the
first."""
_LAST_LEAST = 16
"""The last column, often a sentence, is cut to no less."""
_NARROWEST = 20
"""A paragraph is not wrapped into less."""

Row = Sequence[str]


def left_out(headings: Row, rows: Sequence[Row], *, room: int | None, may_drop: Sequence[str]) -> list[str]:
    """Return the columns that a table must do without to fit; those of `may_drop`, from its front on."""
    dropped: list[str] = []
    for heading in may_drop:
        kept = without(headings, rows, dropped)
        if room is None or _least(_widths(*kept)) <= room:
            break
        dropped.append(heading)
    return dropped


def without(headings: Row, rows: Sequence[Row], dropped: Sequence[str]) -> tuple[Row, Sequence[Row]]:
    """Return a table without some of its columns."""
    if not dropped:
        return headings, rows
    kept = [place for place, heading in enumerate(headings) if heading not in dropped]
    return [headings[place] for place in kept], [[row[place] for place in kept] for row in rows]


def table_lines(headings: Row, rows: Sequence[Row], *, room: int | None) -> tuple[list[str], list[str]]:
    """Return the lines of a table: of its headings, of its rows. What does not fit stands below each."""
    right = [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(headings))]
    widths = _widths(headings, rows)
    if room is not None and _least(widths) > room:
        places = list(_places(widths, room))
    else:
        places = [(False, width) for width in (widths if room is None else _fitted(widths, room))]
    return list(_row_lines(headings, right, places)), [line for row in rows for line in _row_lines(row, right, places)]


def paragraph_lines(head: str, text: str, *, room: int | None) -> Iterator[str]:
    """Return a text behind a head; its further lines stand below its first."""
    indent = columns_of(click.unstyle(head))
    if room is None or indent + columns_of(text) <= room or room - indent < _NARROWEST:
        yield f"{head}{text}".rstrip()
        return
    first, *others = wrap(text, room - indent) or [""]
    yield f"{head}{first}"
    yield from (f"{' ' * indent}{line}" for line in others)


def _row_lines(row: Row, right: Sequence[bool], places: Sequence[tuple[bool, int]]) -> Iterator[str]:
    shown = ""
    for text, is_right, (begins_line, most) in zip(row, right, places, strict=True):
        if begins_line:
            yield shown.rstrip()
            shown = " " * _INDENT
        fitted = cut(text, most)
        gap = " " * (most - columns_of(fitted))
        shown += (gap + fitted if is_right else fitted + gap) + _GAP
    yield shown.rstrip()


def _widths(headings: Row, rows: Sequence[Row]) -> list[int]:
    return [max(map(columns_of, column)) for column in zip(headings, *rows, strict=True)]


def _least(widths: Sequence[int]) -> int:
    """Return how wide a table is when all that may be cut is cut."""
    return sum(_leasts(widths)) + len(_GAP) * (len(widths) - 1)


def _leasts(widths: Sequence[int]) -> list[int]:
    """Return how narrow each column of a table may be."""
    first, *others = widths
    inner = [min(width, _NEVER_CUT) for width in others[:-1]]
    return [first, *inner, *(min(width, _LAST_LEAST) for width in others[-1:])]


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    """Narrow the widest column that may be cut until the table fits."""
    fitted, leasts = list(widths), _leasts(widths)
    for _ in range(sum(widths) + len(_GAP) * (len(widths) - 1) - room):
        widest = max((place for place, least in enumerate(leasts) if fitted[place] > least), key=fitted.__getitem__)
        fitted[widest] -= 1
    return fitted


def _places(widths: Sequence[int], room: int) -> Iterator[tuple[bool, int]]:
    """Yield of each column whether it begins a line, and how wide it is; the last one may be cut to what is left."""
    used = 0
    for number, most in enumerate(widths):
        least = min(most, _LAST_LEAST) if number == len(widths) - 1 else most
        begins_line = used > 0 and used + least > room
        used = _INDENT if begins_line else used
        shown = min(most, room - used)
        used += shown + len(_GAP)
        yield begins_line, shown


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(".", "", 1).replace("-", "", 1).replace("%", "", 1).isdecimal()
