"""Texts that make a pattern work: what it looks for, cut anywhere and repeated without end.

A pattern that begins again at every place, or divides a text in many ways, does so on the beginning of what it matches.
So a pattern is taken apart, texts that it matches are put together, and pieces of them are pumped up.
"""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser  # type: ignore[import-not-found]
import string
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

_CATEGORIES = {
    sre.CATEGORY_DIGIT: "07",
    sre.CATEGORY_NOT_DIGIT: "a ",
    sre.CATEGORY_SPACE: " \n\t",
    sre.CATEGORY_NOT_SPACE: "a.",
    sre.CATEGORY_WORD: "a0_",
    sre.CATEGORY_NOT_WORD: " .",
}
_ANY = 'a0 .-/"\n'
_MORE = 2
"""Repetitions beyond those that must be."""

TAILS = ("\0", "", "\n")
"""What may stand after the pumped text: what no pattern expects, nothing (the text was cut), another line.

The first finds nearly all that the three find: another text is worth more than another end.
"""


class Pump(NamedTuple):
    """A beginning, a piece that can be repeated, and an end."""

    head: str
    piece: str
    tail: str

    def text(self, size: int) -> str:
        """Give a text of about that many characters."""
        return self.head + self.piece * (size // len(self.piece)) + self.tail


def pumps(pattern: re.Pattern[Any], *, samples: int, chance: Random, tails: Sequence[str] = TAILS) -> list[Pump]:
    """Give texts that begin like some of what the pattern matches."""
    tree = re._parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    found: set[tuple[str, str]] = set()
    for _ in range(samples):
        text = _text_for(tree, chance)
        for end in range(1, len(text) + 1):
            begin = chance.randrange(end)
            found.add(("", text[:end]))
            found.add((text[: end - 1], text[end - 1]))
            found.add((text[:begin], text[begin:end]))
    return [Pump(head, piece, tail) for head, piece in sorted(found) for tail in tails]


def _text_for(tree: Any, chance: Random) -> str:
    """Give a text that a part of a pattern matches, as far as what looks around allows it."""
    return "".join(_text_of(operation, value, chance) for operation, value in tree)


def _text_of(operation: Any, value: Any, chance: Random) -> str:  # noqa: C901, PLR0911  one line for each operation
    match operation:
        case sre.LITERAL:
            return chr(value)
        case sre.NOT_LITERAL:
            return chance.choice([character for character in _ANY if ord(character) != value])
        case sre.ANY:
            return chance.choice("a .")
        case sre.IN:
            return _member(value, chance)
        case sre.BRANCH:
            return _text_for(chance.choice(value[1]), chance)
        case sre.SUBPATTERN:
            return _text_for(value[3], chance)
        case sre.ATOMIC_GROUP:
            return _text_for(value, chance)
        case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
            least, most, inner = value
            count = chance.randint(least, min(most, least + _MORE))
            return "".join(_text_for(inner, chance) for _ in range(count))
        case sre.ASSERT:
            return _text_for(value[1], chance) if chance.random() < 0.3 else ""
        case sre.GROUPREF_EXISTS:
            return _text_for(value[1], chance)
    return ""


def _member(choices: Any, chance: Random) -> str:
    if choices[0][0] is sre.NEGATE:
        return chance.choice([one for one in _ANY + string.ascii_letters if not _holds(choices[1:], one)] or ["\x01"])
    operation, value = chance.choice(choices)
    if operation is sre.RANGE:
        return chr(chance.randint(value[0], min(value[1], value[0] + 25)))
    return chance.choice(_CATEGORIES[value]) if operation is sre.CATEGORY else chr(value)


def _holds(choices: Any, character: str) -> bool:
    return any(
        (operation is sre.LITERAL and ord(character) == value)
        or (operation is sre.RANGE and value[0] <= ord(character) <= value[1])
        or (operation is sre.CATEGORY and character in _CATEGORIES[value])
        for operation, value in choices
    )
