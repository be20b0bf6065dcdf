"""Words from sessions, made fit for any page: on one line, printable, of a bounded width.

A sentence is a tuple of parts: text of ours, and names from outside. Renderers set names apart (a code span, an
isolated element), so that whatever a tool is called, it stays a name.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate, takewhile
from typing import Final

import msgspec

from grader_daemon.domain.text import clean

LONGEST_NAME: Final = 40
"""Columns of a tool, model or task type."""
LONGEST_ID: Final = 60
"""Columns of a session id; ours have 22."""
LONGEST_LINE: Final = 160
"""Columns of a line of output."""
LONGEST_REMARK: Final = 400
"""Columns of sentences that hold words from outside."""

_GAP = re.compile(r" (?!%|UTC)")
"""Space at which a line may break: not between a number and what it is of."""


class Name(msgspec.Struct, frozen=True):
    """Words from outside, cleaned and cut; made by `name`."""

    text: str


Words = tuple[str | Name, ...]
"""A sentence in parts."""


def name(text: str, longest: int = LONGEST_NAME) -> Name:
    """Return a name from outside as it can be shown."""
    return Name(remark(text, longest))


def remark(text: str, longest: int = LONGEST_REMARK) -> str:
    """Return a sentence that holds words from outside: one line, printable, at most `longest` columns."""
    line = unicodedata.normalize("NFC", " ".join(text.split()))
    return cut(clean(line), longest) or "(empty)"


def plain(words: Words) -> str:
    """Return a sentence as one string."""
    return "".join(part if isinstance(part, str) else part.text for part in words)


def joined(parts: list[Words], between: str) -> Words:
    """Join sentences, with words between them."""
    row: list[str | Name] = []
    for part in parts:
        row += (between, *part) if row else part
    return tuple(row)


def columns(text: str) -> int:
    """Count the columns of a terminal that a text takes, never too few: wide characters take two."""
    return len(text) if text.isascii() else sum(_columns_of(character) for character in text)


def cut(text: str, most: int) -> str:
    """Shorten a text to at most so many columns, with a mark where it goes on."""
    if columns(text) <= most:
        return text
    return _head(text, most - 1).rstrip() + "…"


def wrap(text: str, most: int) -> list[str]:
    """Break a text into lines of at most so many columns, between words where that is possible."""
    lines = [""]
    for word in _GAP.split(text):
        if columns(f"{lines[-1]} {word}".lstrip()) <= most:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
        else:
            lines += _pieces(word, most)
    return [line for line in lines if line]


def _pieces(word: str, most: int) -> list[str]:
    pieces = []
    while columns(word) > most:
        head = _head(word, most)
        pieces.append(head)
        word = word[len(head) :]
    return [*pieces, word]


def _head(text: str, most: int) -> str:
    ends = accumulate(map(_columns_of, text))
    return text[: sum(1 for _ in takewhile(lambda end: end <= most, ends))]


def _columns_of(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
