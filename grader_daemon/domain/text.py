"""Text from outside, made fit for a terminal or a column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

_AGES: Final = ((90, 1, "s"), (90 * 60, 60, "min"), (36 * 3600, 3600, "h"), (math.inf, 86_400, "d"))
"""Ages below the first number are told in the second number of seconds."""

_LEAST_LIKE: Final = 0.61
"""Likeness of 0 to 1: words of five letters that share three are not alike."""

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


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is spelled most like one that is not known; None if none is like it."""
    from difflib import get_close_matches  # who writes no mistakes need not wait for it

    return next(iter(get_close_matches(word, [*known], n=1, cutoff=_LEAST_LIKE)), None)


def alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many same characters, or lines, both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


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
