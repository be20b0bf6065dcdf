"""The search itself: places where a secret may stand, then a closer look at each, then one pass that covers them.

Patterns over the whole text would cost 20 to 40 ns a character each. A sign is looked for at 1 ns a character, so
nearly all the time goes into finding that there is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from grader_daemon.redaction.encoded import decoded, in_source, is_in_doubt
from grader_daemon.redaction.finders import LONG_WORD, NO_NAME, Finder, Span, continued, covered
from grader_daemon.redaction.table_cells import HEADING_SIGNS, in_columns

_NAMES = 1024
MARGIN = 512
"""Characters behind a cut that may have to be read to know what stands before it as a secret."""

_IN_WORDS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-~")
_BLURRED = bytes(ord("a") if byte in _IN_WORDS else ord(" ") for byte in range(256))


class Redactor:
    """Covers each secret that its finders know with a mark. Safe to share among threads."""

    def __init__(self, finders: Sequence[Finder]) -> None:
        self._of_words = [finder for finder in finders if finder.sign == LONG_WORD]
        self._of_signs = _by_sign(finders, bytes)
        self._of_letters = _by_sign(finders, str)
        self.redact_name = lru_cache(maxsize=_NAMES)(self.redact)
        """`redact` for names and short lines, which come again and again."""

    def redact(self, text: str) -> str:
        """Return `text` with a mark in the place of each secret; the names of settings stay."""
        meant = decoded(text)
        spans = self._secrets(meant)
        if meant != text:
            spans = list(in_source(text, spans))
            if is_in_doubt(text):
                spans += self._secrets(text)
        return covered(text, spans) if spans else text

    def has_secret(self, text: str) -> bool:
        """Return whether there is something to cover."""
        return self.redact(text) != text

    def redact_beginning(self, text: str, characters: int) -> str:
        """Return the first `characters` of what `redact` gives; a little more than them is read."""
        if len(text) <= characters + MARGIN:
            return self.redact_name(text)[:characters]
        return self.redact(text[: characters + MARGIN])[:-MARGIN][:characters]

    def _secrets(self, text: str) -> list[Span]:
        image = text.encode("latin-1", "replace")  # one byte for each character, so places are the same
        lowered = image.lower().decode("latin-1")  # a short text is searched as `str` in half the time
        spans: list[Span] = []
        signs = [sign for sign in self._of_signs if sign in lowered]
        for sign in signs:
            for finder in self._of_signs[sign]:
                spans += _behind_signs(finder, text, sign, lowered)
        if "\n" in text and not HEADING_SIGNS.isdisjoint(signs):
            spans += in_columns(text, lowered, signs)
        for word in () if text.isascii() else [word for word in self._of_letters if word in text]:
            for finder in self._of_letters[word]:
                spans += _behind_signs(finder, text, word, text)
        blurred = image.translate(_BLURRED) + b" "
        if LONG_WORD in blurred:
            spans += _in_words(self._of_words, text, blurred)
        return spans


def _by_sign(finders: Sequence[Finder], kind: type[bytes] | type[str]) -> dict[str, list[Finder]]:
    found: dict[str, list[Finder]] = {}
    for finder in finders:
        sign = finder.sign
        if isinstance(sign, kind) and sign != LONG_WORD:
            found.setdefault(sign.decode() if isinstance(sign, bytes) else sign, []).append(finder)
    return found


def _behind_signs(finder: Finder, text: str, sign: str, image: str) -> Iterator[Span]:
    position = image.find(sign)
    while position >= 0:
        span = finder.look(text, position)
        if span is not None:
            yield span
            yield from continued(text, span)
            position = max(position, span[1] - 1)
        position = image.find(sign, position + 1)


def _in_words(finders: Sequence[Finder], text: str, image: bytes) -> Iterator[Span]:
    """Yield the secrets in long words; one may begin in a word and reach over others."""
    position = image.find(LONG_WORD)
    while position >= 0:
        start = image.rfind(b" ", 0, position) + 1
        for finder in finders if NO_NAME.match(text, start) else ():
            span = finder.look(text, start)
            if span is not None:
                yield span
                yield from continued(text, span)
                position = max(position, span[1] - 1)
        position = image.find(LONG_WORD, position + 1)
