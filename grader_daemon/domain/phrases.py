"""Phrases from the rules, made ready to be found in text quickly.

Words end at letters and digits, white space in a phrase matches any run of it, `*` matches up to 80 characters of one
line. A phrase is looked for by its longest word first, at the speed of a plain substring search; where that word
occurs a pattern decides. The patterns cannot backtrack more than those 80 characters, so any text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

_WILDCARD = r"[^\n]{0,80}?"


Label = TypeVar("Label")


class Phrases:
    """A set of phrases. All texts given to it must be in lower case."""

    def __init__(self, phrases: Iterable[str]) -> None:
        texts = [phrase.strip().lower() for phrase in phrases]
        self._needles = [(_longest_literal(text), _pattern(text)) for text in texts if text]

    def begin(self, text: str) -> bool:
        """Does the text begin with one of them?"""
        return any(needle in text and pattern.match(text) for needle, pattern in self._needles)

    def starts(self, text: str) -> Iterator[int]:
        """Yield the position of each occurrence, phrase by phrase."""
        for needle, pattern in self._needles:
            if needle in text:
                for match in pattern.finditer(text):
                    yield match.start()


class LabelledPhrases(Generic[Label]):
    """Phrases with a label each, in the order in which they are looked for. All texts must be in lower case."""

    def __init__(self, phrases: Iterable[tuple[str, Label]]) -> None:
        texts = [(phrase.strip().lower(), label) for phrase, label in phrases]
        self._needles = [(_longest_literal(text), _pattern(text), label) for text, label in texts if text]

    def first_in(self, text: str) -> tuple[bool, Label | None]:
        """Say whether one occurs, and give the label of the first one that does."""
        for needle, pattern, label in self._needles:
            if needle in text and pattern.search(text):
                return True, label
        return False, None


def _longest_literal(phrase: str) -> str:
    return max(re.split(r"[\s*]+", phrase), key=len)


def _pattern(phrase: str) -> re.Pattern[str]:
    body = r"\s+".join(_WILDCARD.join(re.escape(piece) for piece in word.split("*")) for word in phrase.split())
    before = r"(?<!\w)" if phrase[0].isalnum() else ""
    after = r"(?!\w)" if phrase[-1].isalnum() else ""
    return re.compile(before + body + after)
