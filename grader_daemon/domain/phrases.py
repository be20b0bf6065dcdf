"""Phrases from the rules, made ready to be found in text quickly.

Words end at letters and digits, white space in a phrase matches any run of it, `*` matches up to 80 characters of one
line. A phrase is looked for by its longest word first, at the speed of a plain substring search; where that word
occurs a pattern decides. The patterns cannot backtrack more than those 80 characters, so any text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_WILDCARD = r"[^\n]{0,80}?"


class Phrases:
    """A set of phrases. All texts given to it must be in lower case."""

    def __init__(self, phrases: Iterable[str]) -> None:
        texts = [phrase.strip().lower() for phrase in phrases]
        self._needles = [(_longest_literal(text), _pattern(text)) for text in texts if text]

    def occur_in(self, text: str) -> bool:
        """Does one of them occur?"""
        for needle, pattern in self._needles:
            if needle in text and pattern.search(text):
                return True
        return False

    def begin(self, text: str) -> bool:
        """Does the text begin with one of them?"""
        return any(needle in text and pattern.match(text) for needle, pattern in self._needles)

    def starts(self, text: str) -> Iterator[int]:
        """Yield the position of each occurrence, phrase by phrase."""
        for needle, pattern in self._needles:
            if needle in text:
                for match in pattern.finditer(text):
                    yield match.start()


def _longest_literal(phrase: str) -> str:
    return max(re.split(r"[\s*]+", phrase), key=len)


def _pattern(phrase: str) -> re.Pattern[str]:
    body = r"\s+".join(_WILDCARD.join(re.escape(piece) for piece in word.split("*")) for word in phrase.split())
    before = r"(?<!\w)" if phrase[0].isalnum() else ""
    after = r"(?!\w)" if phrase[-1].isalnum() else ""
    return re.compile(before + body + after)
