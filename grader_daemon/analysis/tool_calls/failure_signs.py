"""The kind of a failure by its text: the phrases of the rules, found by their words."""

from __future__ import annotations

from functools import lru_cache

from grader_daemon.domain.analysis import CallStatus, Category, Subcategory
from grader_daemon.domain.phrases import PhraseIndex, ascii_words_of
from grader_daemon.domain.rules import FailureRules

_MOST_KNOWN = 256


class FailureSigns:
    """Looks for the category of a failure and for its finer kind together, under one set of rules."""

    def __init__(self, rules: FailureRules) -> None:
        self._exit_codes = rules.exit_codes
        self._half = max(1, rules.examined_characters // 2)
        self._phrases = PhraseIndex[CallStatus | Category | Subcategory](
            [
                *((phrase, CallStatus.REFUSED) for phrase in rules.refusal_phrases),
                *((phrase, category) for category in Category for phrase in rules.categories.get(category, ())),
                *((phrase, finer) for finer in Subcategory for phrase in rules.subcategories.get(finer, ())),
            ]
        )
        # An agent that tries the same again is told the same again.
        self._in_ends = lru_cache(maxsize=_MOST_KNOWN)(self._find)

    def category(self, text: str, code: int | None) -> Category | None:
        """Return the category of a failure by what it says, else by its exit code; None when a person refused."""
        sign, _ = self._in_ends(self._ends(text))
        if sign is not None:
            return sign if isinstance(sign, Category) else None
        if code:
            return self._exit_codes.get(str(code), Category.COMMAND_FAILED)
        return Category.UNKNOWN

    def subcategory(self, text: str) -> Subcategory | None:
        """Return the finer kind of a failure by what it says."""
        return self._in_ends(self._ends(text))[1]

    def _ends(self, text: str) -> str:
        half = self._half
        return text if len(text) <= 2 * half else f"{text[:half]}\n{text[-half:]}"

    def _find(self, text: str) -> tuple[CallStatus | Category | None, Subcategory | None]:
        text = text.lower()
        sign: CallStatus | Category | None = None
        for pattern, label in self._phrases.possible(ascii_words_of(text)):
            if isinstance(label, Subcategory):
                if pattern.search(text):
                    return sign, label
            elif sign is None and pattern.search(text):
                sign = label
        return sign, None
