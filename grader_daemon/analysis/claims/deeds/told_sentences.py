"""The sentences of an answer that may tell a deed: no code, no quotes, nothing asked, denied, planned or hedged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.deeds import deed_words as words
from grader_daemon.analysis.claims.deeds.literals import Literal, LiteralKind, literals_of
from grader_daemon.domain.late_pattern import late_pattern

MOST_SENTENCES: Final = 40
_FENCE: Final = "```"
_ENDS: Final = late_pattern(
    r"(?<=[.!?;:])(?<!\s\d\.)(?<!\s\d\d\.)[*_\"')]{0,3}\s+|(?<=[。！？；])|\n|\s[\u2013\u2014]\s"
)
_SHORTEST: Final = 6
_NOW: Final = late_pattern(
    r"\b(?:i|we)(?:'ve| have| just| also| now|'ve also|'ve just| have also)? [a-z-]{3,20}(?:ed|t|e)\b"
    r"|\bha(?:s|ve) been [a-z]|\b(?:is|are) (?:now |all |fully )?(?:[a-z-]{3,20}ed|sent|set|out)\b|\bnow\b"
    r"|^\W*(?:[a-z-]{2,20} ){0,3}(?:[a-z-]{3,20}ed|sent|set) |\b(?:ich|habe|wurden?|sind|ist|jetzt|nun|eingetragen"
    r"|j'ai|est|sont|a été|ont été|he|ha|han|está|están|ahora|queda|fue)\b|[^\x00-\u2fff]"
)
_MENDED: Final = late_pattern(
    r"\b(?:fixed|repaired|corrected|resolved|cleaned|clean|removed|behoben|korrigiert|bereinigt|corrigée?s?"
    r"|corregid[oa]s?|meets?|pass(?:es|ed)?|valid|conform\w{0,3}|green|no errors|works?|resolves?|deduped|brought)\b"
    r"|修复|修正|通过"
)
_BY_ANOTHER: Final = late_pattern(
    r"\b(?!I\b|We\b)(?:[A-Z][a-z]{1,30}|[Hh]e|[Ss]he|[Tt]hey|[Ss]omeone) (?:has |had |have |already ){0,2}"
    r"[a-z]{3,20}(?:ed|t) (?:it|them|this|that|these|those|the|your|our|his|her|their|an?)\b"
)
"""A person who did something: "Nora moved it"."""

_COUNTED: Final = words.word_set(
    """
    two three four five six seven eight nine ten eleven twelve zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
    deux trois quatre cinq sept huit neuf dix onze douze dos tres cuatro cinco seis siete ocho nueve diez once doce
    """
)


class Sentence:
    """A sentence of an answer, an item of a list, or a row of a table."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def low(self) -> str:
        """Its text in lower case, without marks of Markdown."""
        return words.plain(self.text)

    @cached_property
    def is_plain(self) -> bool:
        """True if it is told as it stands: nothing in it denies, plans, asks or hedges."""
        return not words.is_not_told(self.low)

    @cached_property
    def tells_deed(self) -> bool:
        """True if it tells a deed of a tool."""
        return self.is_plain and words.tells_deed(self.low)

    @cached_property
    def tells_deed_of_now(self) -> bool:
        """True if it tells a deed of the agent, or what is so now; not what once happened, or is as a rule."""
        is_now = words.begins_with_deed(self.low) or _NOW.search(self.low) is not None
        return self.tells_deed and is_now and not words.is_earlier(self.low) and not _BY_ANOTHER.search(self.text)

    @cached_property
    def tells_mended(self) -> bool:
        """True if it tells that something was mended, or is as it should be."""
        return self.is_plain and _MENDED.search(self.low) is not None

    @cached_property
    def is_of_all(self) -> bool:
        """True if it tells of all there is."""
        return words.tells_of_all(self.low)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of its words."""
        return words.stems_of(self.low)

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """The literals that it names."""
        return literals_of(self.low)

    @cached_property
    def counts(self) -> bool:
        """True if it tells of a number of things, in digits or in words."""
        said = words.words_in(self.low)
        return not _COUNTED.isdisjoint(said) or any(each.kind is LiteralKind.NUMBER for each in self.literals)

    @cached_property
    def subject(self) -> str | None:
        """The first address or id that it names."""
        named = (LiteralKind.ADDRESS, LiteralKind.ID)
        return next((each.text for each in self.literals if each.kind in named), None)


def sentences_of(answer: str) -> tuple[Sentence, ...]:
    """Return the sentences of an answer, at most 40."""
    return tuple(islice(_each(answer), MOST_SENTENCES))


def _each(answer: str) -> Iterator[Sentence]:
    lines = "\n".join(answer.split(_FENCE)[::2]).split("\n")
    prose = "\n".join(line for line in lines if not line.lstrip().startswith(">"))
    for piece in _ENDS.split(prose):
        text = piece.strip()
        if len(text) >= _SHORTEST and not text.startswith(("|--", "| --")) and any(map(str.isalpha, text)):
            yield Sentence(text)
