"""Phrases from the rules, made ready to be found in text quickly.

Words end at letters, digits and underscores, white space in a phrase matches any run of it, `*` matches up to 80
characters of one line. A text is cut into words once; only phrases one of whose words occurs are looked for at all.
Their patterns cannot backtrack more than those 80 characters, so any text takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

_WILDCARD = r"[^\n]{0,80}?"
_WORD = re.compile(r"\w+")

Label = TypeVar("Label")


def words_of(text: str) -> list[str]:
    """Cut a text into words at white space and punctuation; underscores belong to words."""
    return _WORD.findall(text)


class _Phrase(NamedTuple, Generic[Label]):
    rank: int
    pattern: re.Pattern[str]
    begins_with_word: bool
    label: Label

    def places_in(self, text: str) -> Iterator[int]:
        """Yield where it occurs.

        The beginning of its first word is checked here: in the pattern it would cost the search for a literal
        beginning, which is twenty times as fast.
        """
        for match in self.pattern.finditer(text):
            start = match.start()
            if not (self.begins_with_word and start and (text[start - 1].isalnum() or text[start - 1] == "_")):
                yield start


class Phrases(Generic[Label]):
    """Phrases with a label each, in the order in which they are looked for. All texts must be in lower case."""

    def __init__(self, phrases: Iterable[tuple[str, Label]]) -> None:
        self._by_word: dict[str, list[_Phrase[Label]]] = {}
        self._without_word: list[_Phrase[Label]] = []
        for rank, (phrase, label) in enumerate(phrases):
            text = phrase.strip().lower()
            if text:
                word = _longest_whole_word(text)
                home = self._by_word.setdefault(word, []) if word else self._without_word
                home.append(_Phrase(rank, _pattern(text), text[0].isalnum(), label))

    def first_in(self, text: str) -> tuple[bool, Label | None]:
        """Say whether one occurs, and give the label of the first one, in their own order, that does."""
        for phrase in self._candidates(text):
            for _ in phrase.places_in(text):
                return True, phrase.label
        return False, None

    def begin(self, text: str) -> bool:
        """Does the text begin with one of them?"""
        return any(phrase.pattern.match(text) for phrase in self._candidates(text))

    def occurrences(self, text: str) -> Iterator[tuple[int, Label]]:
        """Yield place and label of each occurrence, phrase by phrase."""
        for phrase in self._candidates(text):
            for start in phrase.places_in(text):
                yield start, phrase.label

    def _candidates(self, text: str) -> list[_Phrase[Label]]:
        candidates = list(self._without_word)
        for word in self._by_word.keys() & words_of(text):
            candidates += self._by_word[word]
        candidates.sort(key=_rank)
        return candidates


def _rank(phrase: _Phrase[Label]) -> int:
    return phrase.rank


def _longest_whole_word(phrase: str) -> str:
    """Give the longest word of a phrase that a `*` does not touch; "" if it touches all."""
    words = re.findall(r"[\w*]+", phrase)
    return max((word for word in words if "*" not in word), key=len, default="")


def _pattern(phrase: str) -> re.Pattern[str]:
    body = r"\s+".join(_WILDCARD.join(re.escape(piece) for piece in word.split("*")) for word in phrase.split())
    after = r"(?!\w)" if phrase[-1].isalnum() else ""
    return re.compile(body + after)
