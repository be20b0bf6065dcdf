"""Which user messages a person wrote, what they asked for, and what it was about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader_daemon.analysis.redaction import redact
from grader_daemon.domain.rules import PeopleRules, TaskTypeRules
from grader_daemon.domain.session import USER, Message

GENERAL = "general"
"""The task type of a request that says nothing about its kind."""

_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_SPACE_OR_CONTROL = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_SHORTEST_REGULAR = 3
_VOWELS = frozenset("aeiou")


def is_from_person(message: Message, rules: PeopleRules) -> bool:
    """Tell a person's message from those that the agent's own machinery puts in their place."""
    return message.role == USER and not message.text.startswith(rules.injected_prefixes)


def summarize(request: str | None, rules: PeopleRules) -> str | None:
    """Give the request as one redacted line without control characters, cut to the length in the rules."""
    if request is None:
        return None
    limit = rules.summary_characters
    line = _SPACE_OR_CONTROL.sub(" ", redact(request[: 8 * limit])).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


class TaskTypes:
    """Finds what a request is about by the words in it."""

    def __init__(self, rules: TaskTypeRules) -> None:
        self._rules = rules
        self._order = {task_type: rank for rank, task_type in enumerate(rules.keywords)}
        self._types: dict[tuple[str, ...], list[str]] = {}
        for task_type, keywords in rules.keywords.items():
            for keyword in keywords:
                words = [word.lower() for word in _WORD.findall(keyword)]
                for form in _phrase_forms(words):
                    self._types.setdefault(form, []).append(task_type)
        self._longest = max((len(form) for form in self._types), default=1)

    def of(self, request: str | None) -> str:
        """Give the task type with most hits; of equals, the one that stands first in the rules."""
        if not request:
            return GENERAL
        words = _WORD.findall(request[: self._rules.examined_characters].lower())
        hits: dict[str, int] = {}
        known = self._types
        for word in words:
            for task_type in known.get((word,), ()):
                hits[task_type] = hits.get(task_type, 0) + 1
        for task_type in self._phrase_hits(words):
            hits[task_type] = hits.get(task_type, 0) + 1
        if not hits:
            return GENERAL
        return min(hits, key=lambda task_type: (-hits[task_type], self._order[task_type]))

    def _phrase_hits(self, words: list[str]) -> Iterator[str]:
        words = [word for word in words if word not in self._rules.ignored_words]
        for length in range(2, self._longest + 1):
            for phrase in zip(*(words[start:] for start in range(length)), strict=False):
                yield from self._types.get(phrase, ())


def _phrase_forms(words: list[str]) -> Iterator[tuple[str, ...]]:
    if not words:
        return
    rests = list(_phrase_forms(words[1:])) or [()]
    for form in _inflections(words[0]):
        for rest in rests:
            yield (form, *rest)


def _inflections(word: str) -> set[str]:
    """Give the regular English forms of a verb or noun, the word itself included."""
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
