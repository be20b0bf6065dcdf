"""Text from outside, made fit for a terminal or a column."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

_AGES: Final = ((90, 1, "s"), (90 * 60, 60, "min"), (36 * 3600, 3600, "h"), (math.inf, 86_400, "d"))
"""Ages below the first number are told in the second number of seconds."""

_LETTERS_A_SLIP: Final = 3
"""One wrong letter in so many is a slip of the keys; a shorter word may have one, too."""
_SHORTEST_PART: Final = 3
"""A part of a word of fewer letters says too little of the word."""

_UNSEEN = re.compile(r"[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""Characters that JSON lets pass as they are, and that a terminal obeys, or does not show."""


def escaped(json: str) -> str:
    """Return a JSON document that a terminal can be given; in its strings, an escape means the same character."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", json)


def clean(text: str) -> str:
    """Return text that a terminal can be given: control characters and line breaks become a mark."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def storable(text: str) -> str:
    """Return text that UTF-8 can hold: an argument that was none stands with question marks."""
    return text.encode("utf-8", "replace").decode()


def nearest(word: str, known: Collection[str]) -> str | None:
    """Return the known word that is spelled most like one that is not known; None if none is like it."""
    most = max(1, len(word) // _LETTERS_A_SLIP)
    slips = {each: _slips(word, each) for each in known if abs(len(each) - len(word)) <= most}
    near = min(slips, key=slips.__getitem__, default=None)
    if near is not None and slips[near] <= most:
        return near
    parts = [each for each in known if _is_part(word, each)]
    return parts[0] if len(parts) == 1 else None


def _slips(word: str, known: str) -> int:
    """Return how many letters are wrong, missing, too many or swapped with the next one."""
    before, last = list[int](), list(range(len(known) + 1))
    for row, letter in enumerate(word, 1):
        this = [row]
        for column, meant in enumerate(known, 1):
            least = min(last[column] + 1, this[-1] + 1, last[column - 1] + (letter != meant))
            if row > 1 and column > 1 and (letter, word[row - 2]) == (known[column - 2], meant):
                least = min(least, before[column - 2] + 1)
            this.append(least)
        before, last = last, this
    return last[-1]


def _is_part(word: str, known: str) -> bool:
    """True if a known word begins with this one, or ends with it after a dash."""
    return len(word) >= _SHORTEST_PART and (known.startswith(word) or known.endswith((f"_{word}", f"-{word}")))


def alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many same characters, or lines, both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things: "1 session", "1,200 sessions"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def duration_words(seconds: float) -> str:
    """Return a span of time as a person says it: 4 s, 12 min, 3.5 h."""
    for limit, size, unit in ((90, 1, "s"), (5400, 60, "min")):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 3600:.3g} h"


def age_words(when: datetime, now: datetime) -> str:
    """Return how long ago something was, in one whole number: 4 s, 12 min, 3 h, 2 d."""
    seconds = max(0.0, (now - when).total_seconds())
    size, unit = next((size, unit) for limit, size, unit in _AGES if seconds < limit)
    return f"{seconds / size:.0f} {unit}"
