"""The type of a task, by the words in its request."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from grader_daemon.domain.phrases import words_of
from grader_daemon.domain.routing import TaskWords
from grader_daemon.domain.rules import GENERAL, TaskTypeRules

_PHRASE_REACH = 12
_SHORTEST_REGULAR = 3
_VOWELS = frozenset("aeiou")


class TaskTypes:
    """Finds what a request is about by the words in it."""

    def __init__(self, rules: TaskTypeRules) -> None:
        self._rules = rules
        self._order = {task_type: rank for rank, task_type in enumerate(rules.keywords)}
        # By first word: what has to follow it (often nothing), and the task type that is meant.
        self._openings: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for task_type, keywords in rules.keywords.items():
            for keyword in keywords:
                for first, *rest in _phrase_forms(words_of(keyword.lower())):
                    self._openings.setdefault(first, []).append((tuple(rest), task_type))

    @property
    def words(self) -> TaskWords:
        """The words that are looked for, for those who look for them elsewhere: the same request, the same type."""
        phrases: dict[str, list[tuple[str, ...]]] = {task_type: [] for task_type in self._order}
        for first, openings in self._openings.items():
            for rest, task_type in openings:
                phrases[task_type].append((first, *rest))
        return TaskWords(
            examined_characters=self._rules.examined_characters,
            reach=_PHRASE_REACH,
            ignored=tuple(sorted(self._rules.ignored_words)),
            phrases={task_type: tuple(sorted(each)) for task_type, each in phrases.items()},
        )

    def of(self, request: str | None) -> str:
        """Return the task type with most hits; of equals, the one that stands first in the rules."""
        if not request:
            return GENERAL
        hits: dict[str, int] = {}
        for task_type, _ in self._hits(request):
            hits[task_type] = hits.get(task_type, 0) + 1
        if not hits:
            return GENERAL
        return min(hits, key=lambda task_type: (-hits[task_type], self._order[task_type]))

    def said(self, text: str) -> dict[str, frozenset[str]]:
        """Return the words of a text by which it is of each task type: "fail", "stack trace" of debugging."""
        found: dict[str, set[str]] = {}
        for task_type, keyword in self._hits(text):
            found.setdefault(task_type, set()).add(" ".join(keyword))
        return {task_type: frozenset(words) for task_type, words in found.items()}

    def _hits(self, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the task type of each keyword that stands in a text, and the words that it has there."""
        words, openings = words_of(text[: self._rules.examined_characters].lower()), self._openings
        for position, word in enumerate(words):
            if word not in openings:  # nearly all
                continue
            for rest, task_type in openings[word]:
                if not rest or tuple(islice(self._words_that_count(words, position + 1), len(rest))) == rest:
                    yield task_type, (word, *rest)

    def _words_that_count(self, words: list[str], start: int) -> Iterator[str]:
        return (word for word in words[start : start + _PHRASE_REACH] if word not in self._rules.ignored_words)


def _phrase_forms(words: list[str]) -> Iterator[tuple[str, ...]]:
    if not words:
        return
    rests = list(_phrase_forms(words[1:])) or [()]
    for form in _inflections(words[0]):
        for rest in rests:
            yield (form, *rest)


def _inflections(word: str) -> set[str]:
    """Return the regular English forms of a verb or noun, the word itself included."""
    forms = {word, word + "s"}
    if len(word) < _SHORTEST_REGULAR:
        return forms
    if word.endswith("e"):
        return forms | {word + "d", word[:-1] + "ing"}
    forms |= {word + "ed", word + "ing"}
    if word.endswith(("s", "x", "z", "ch", "sh")):
        forms.add(word + "es")
    if word.endswith("y") and word[-2] not in _VOWELS:
        forms |= {word[:-1] + "ies", word[:-1] + "ied"}
    if word[-1] not in _VOWELS and word[-1] not in "wxy" and word[-2] in _VOWELS and word[-3] not in _VOWELS:
        forms |= {word + word[-1] + "ed", word + word[-1] + "ing"}
    if word == "build":
        forms.add("built")
    return forms
