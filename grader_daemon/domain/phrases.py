"""Phrases from the rules, made ready to be found in text quickly.

Words end at letters, digits and underscores, white space in a phrase matches any run of it, `*` matches up to 80
characters of one line. A phrase is looked for by its longest word first, at the speed of a plain substring search; only
where that occurs does a pattern decide. Patterns cannot backtrack more than those 80 characters, so any text takes
linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import AnyStr, Generic, TypeVar

_WILDCARD = r"[^\n]{0,80}?"
_WORD = re.compile(r"\w+")
_GAP = re.compile(r"[\s*]+")
_SEPARATORS = bytes(code for code in range(128) if not _WORD.match(chr(code)))
_ASCII_SEPARATORS = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS))
"""Separators as bytes: to translate a text through a table of characters takes six times as long."""

_ALL_SEPARATORS = _SEPARATORS + bytes(range(128, 256))
_SEPARATED = bytes.maketrans(_ALL_SEPARATORS, b" " * len(_ALL_SEPARATORS))
_WHOLE_WORD = re.compile(r"(?<![\w*])\w+(?![\w*])", re.ASCII)
"""A word of a phrase that stands as it is in each text in which the phrase occurs: no `*` is a part of it."""


Label = TypeVar("Label")


def words_of(text: str) -> list[str]:
    """Cut a text into words, at all that is no letter, digit or underscore."""
    if text.isascii():
        return text.encode().translate(_ASCII_SEPARATORS).decode().split()
    return _WORD.findall(text)


def ascii_words_of(text: str) -> list[bytes]:
    """Cut a text into words as `PhraseIndex` knows them: at all that is no ASCII letter, digit or underscore.

    In a text of any language, at a fifth of what `words_of` costs there.
    """
    return text.encode(errors="replace").translate(_SEPARATED).split()


def uncontracted(text: str) -> str:
    """Return a text in lower case with straight apostrophes and "n't" as "not": one way to say what has two."""
    return text.replace("’", "'").replace("can't", "can not").replace("cannot", "can not").replace("n't", " not")


def holds_any(text: AnyStr, pieces: tuple[AnyStr, ...]) -> bool:
    """Return whether one of some pieces stands in a text. A loop: a generator would take three times as long."""
    for piece in pieces:
        if piece in text:
            return True
    return False


class Phrases(Generic[Label]):
    """Phrases with a label each, in the order in which they are looked for. All texts must be in lower case."""

    def __init__(self, phrases: Iterable[tuple[str, Label]]) -> None:
        texts = [(phrase.strip().lower(), label) for phrase, label in phrases]
        self._phrases = [(max(_GAP.split(text), key=len), text, label) for text, label in texts if text]
        self._openings = tuple({_GAP.split(text, 1)[0] for text, _ in texts if text and text[0] != "*"})
        self._by_character: dict[str, list[tuple[str, str, Label]]] = {"*": []}
        for entry in self._phrases:
            self._by_character.setdefault(entry[1][0], []).append(entry)

    def begin(self, text: str) -> bool:
        """Return whether the text begins with one of them. Few texts begin as one of them does before its first gap."""
        phrases = self._by_character["*"]
        alike = self._by_character.get(text[:1])
        if alike and text.startswith(self._openings):
            phrases = phrases + alike
        for needle, phrase, _ in phrases:
            if needle in text and _pattern(phrase).match(text):
                return True
        return False

    def occurrences(self, text: str) -> Iterator[tuple[int, Label]]:
        """Yield place and label of each occurrence, phrase by phrase."""
        for needle, phrase, label in self._phrases:
            if needle in text:
                for match in _pattern(phrase).finditer(text):
                    yield match.start(), label


class PhraseIndex(Generic[Label]):
    """Many phrases, each known by its words: what a search costs depends on the text, not on their number.

    All texts must be in lower case. A phrase without such a word (an emoji, or words with `*` alone) is always looked
    for.
    """

    def __init__(self, phrases: Iterable[tuple[str, Label]]) -> None:
        self._by_word: dict[bytes, list[tuple[int, frozenset[bytes], str, Label]]] = {}
        texts = [(phrase.strip().lower(), label) for phrase, label in phrases]
        for rank, (text, label) in enumerate((text, label) for text, label in texts if text):
            words = [word.encode() for word in _WHOLE_WORD.findall(text)]
            entry = (rank, frozenset(words), text, label)
            self._by_word.setdefault(max(words, key=len, default=b""), []).append(entry)
        self._words = frozenset(
            word for entries in self._by_word.values() for _, words, _, _ in entries for word in words
        )

    def possible(self, words: Iterable[bytes]) -> Iterator[tuple[re.Pattern[str], Label]]:
        """Yield those that can occur in a text of such `ascii_words_of`, in their own order."""
        by_word, known = self._by_word, self._words.intersection(words)
        found = [entry for word in (*known, b"") if word in by_word for entry in by_word[word] if entry[1] <= known]
        for _, _, phrase, label in sorted(found, key=_rank):
            yield _pattern(phrase), label


def _rank(entry: tuple[int, object, object, object]) -> int:
    return entry[0]


@lru_cache(maxsize=4_096)
def _pattern(phrase: str) -> re.Pattern[str]:
    """Compile a phrase when it is first needed: there are hundreds, and most processes need few.

    That its first word begins there is asked after that word: a pattern whose beginning is literal is searched for many
    times as fast.
    """
    first, *others = [_WILDCARD.join(re.escape(piece) for piece in word.split("*")) for word in phrase.split()]
    literal = _WORD.match(phrase)
    if literal is not None:
        head = re.escape(literal.group())
        first = head + rf"(?<!\w{head})" + first[len(head) :]
    after = r"(?!\w)" if _WORD.match(phrase[-1]) else ""
    return re.compile(r"\s+".join([first, *others]) + after)
