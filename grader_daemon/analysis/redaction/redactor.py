"""The search itself: places where a secret may stand, then a closer look at each, then one pass that covers them.

Patterns over the whole text would cost 20 to 40 ns a character each. A sign is looked for at 1 ns a character, so
nearly all the time goes into finding that there is nothing. A look must cost a bounded number of steps, or end behind
what it has read: then any text takes linear time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

MARK = "[redacted]"

Span = tuple[int, int]
"""First character of a secret, and the one after its last."""

_NAMES = 1024
_LONG_WORD = 20
_IN_WORDS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-~")
_BLURRED = bytes(ord("a") if byte in _IN_WORDS else ord(" ") for byte in range(256))

LONG_WORD = b"a" * _LONG_WORD + b" "
"""The sign of a word of at least 20 letters, digits, "_", "-" and "~".

It shows the end of one, because a search skips as far as the last character of what it looks for lies behind the same
one before: nearly all of the text.
"""


class Finder(Protocol):
    """Finds the secrets of one sign: lower-case ASCII, or `LONG_WORD`."""

    @property
    def sign(self) -> bytes:
        """What every place to look at begins with."""

    def look(self, text: str, position: int) -> Span | None:
        """Give the secret that the sign at `position` leads to, if there is one."""


class Redactor:
    """Puts a mark in the place of each secret that its finders know. Safe to share among threads."""

    def __init__(self, finders: Sequence[Finder]) -> None:
        self._of_words = [finder for finder in finders if finder.sign == LONG_WORD]
        self._of_signs = [(finder.sign, finder) for finder in finders if finder.sign != LONG_WORD]
        self.redact_name = lru_cache(maxsize=_NAMES)(self.redact)
        """`redact` for names, which come again and again."""

    def redact(self, text: str) -> str:
        """Give `text` with a mark in the place of each secret; the names of settings stay."""
        image = text.encode("latin-1", "replace")  # one byte for each character, so places are the same
        lowered = image.lower()
        spans: list[Span] = []
        for finder in [finder for sign, finder in self._of_signs if sign in lowered]:
            spans += _behind_signs(finder, text, lowered)
        blurred = image.translate(_BLURRED) + b" "
        if LONG_WORD in blurred:
            for finder in self._of_words:
                spans += _in_words(finder, text, blurred)
        return _covered(text, sorted(spans)) if spans else text


def _behind_signs(finder: Finder, text: str, image: bytes) -> Iterator[Span]:
    sign = finder.sign
    position = image.find(sign)
    while position >= 0:
        span = finder.look(text, position)
        if span is not None:
            yield span
            position = max(position, span[1] - 1)
        position = image.find(sign, position + 1)


def _in_words(finder: Finder, text: str, image: bytes) -> Iterator[Span]:
    """A secret may begin in one long word and reach over others."""
    position = image.find(LONG_WORD)
    while position >= 0:
        span = finder.look(text, image.rfind(b" ", 0, position) + 1)
        if span is not None:
            yield span
            position = max(position, span[1] - 1)
        position = image.find(LONG_WORD, position + 1)


def _covered(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    shown = covered = 0
    for start, end in spans:
        if start > covered or not pieces:
            pieces += (text[shown:start], MARK)
        covered = shown = max(covered, end)
    return "".join((*pieces, text[shown:]))
