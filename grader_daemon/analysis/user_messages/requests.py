"""Requests of people: the text, a line of it to be shown, and a digest that knows it again.

A message in the user's role may be the agent's own machinery in a person's place. A compaction may put its summary and
a person's next words into one message; then only the words are the person's.
"""

from __future__ import annotations

import re
from functools import lru_cache

import xxhash

from grader_daemon.domain.phrases import words_of
from grader_daemon.domain.rules import PeopleRules
from grader_daemon.domain.wording import wording_of
from grader_daemon.redaction import Redactor


def written_by_person(text: str, rules: PeopleRules) -> str | None:
    """Return what a person says in a message of the user's role: `text` itself, its end, or None if nobody wrote it."""
    if text.startswith(rules.injected_prefixes):
        return _after_injected(text, rules)
    if is_sentinel(text, rules):
        return None
    said = text.rstrip()
    return _before_sentinel(said, rules) if said.endswith(rules.sentinels) else text


def is_sentinel(text: str, rules: PeopleRules) -> bool:
    """Return whether a user message is no more than a harness' word that the talk is over, or its reward."""
    if not text or len(text) > _LONGEST_SENTINEL:
        return False
    return text.strip() in rules.sentinels or _REWARD.fullmatch(text.strip()) is not None


def _before_sentinel(said: str, rules: PeopleRules) -> str:
    """Return what a person says before the mark of a harness; a word that is no mark is the person's own."""
    end = next(each for each in rules.sentinels if said.endswith(each))
    return said if end[0].isalnum() or end[-1].isalnum() else said[: -len(end)].rstrip()


def _after_injected(text: str, rules: PeopleRules) -> str | None:
    """Return what stands below the line that ends a summary."""
    for ending in rules.injected_endings:
        start = text.rfind(ending)
        if start >= 0:
            said = text[start:].partition("\n")[2].strip()
            return None if not said or said.startswith(rules.injected_prefixes) else said
    return None


_LONGEST_SENTINEL = 60
_REWARD = re.compile(r"(?:(?:final|total|episode) )?(?:reward|score) ?[:=] ?-?\d{1,9}(?:\.\d{1,9})?", re.IGNORECASE)

_NORMALISED = 4_000
"""Number of characters of a request that are normalised; the rest has to be the same to the letter."""


LONGEST_REQUEST = 8_000
"""Characters of a request that are redacted, and shown or searched for: a prompt may hold a whole file."""


def without_secrets(request: str | None, redactor: Redactor) -> str | None:
    """Return the beginning of a request without secrets and white space before it."""
    return None if request is None else redactor.redact_beginning(request.lstrip(), LONGEST_REQUEST)


def summarize(shown: str | None, rules: PeopleRules) -> str | None:
    """Return a request `without_secrets` as one line without control characters, cut to the length in the rules."""
    limit = rules.summary_characters
    return None if shown is None else _in_one_line(shown[: 3 * limit], limit)


def one_line(text: str, limit: int, redactor: Redactor) -> str:
    """Return a text as one redacted line without control characters, of so many characters at most."""
    return _in_one_line(redactor.redact_beginning(text.lstrip(), 3 * limit), limit)


def _in_one_line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(character if character.isprintable() else " " for character in line)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


@lru_cache(maxsize=1)
def _normal(request: str) -> str:
    """Return the words of a request; its digest and its wording ask for them, one after the other."""
    return " ".join(words_of(request[:_NORMALISED].lower()))


def digest_of(request: str, rules: PeopleRules) -> int | None:
    """Return 63 bits that requests share which differ only in case, white space, punctuation and Markdown.

    None for one that is too short to mean the same by being the same ("go on").
    """
    normal = _normal(request)
    if len(normal) < rules.shortest_request_characters:
        return None
    return int(xxhash.xxh3_64_intdigest((normal + request[_NORMALISED:]).encode("utf-8", "replace"))) >> 1


def wording_of_request(request: str, rules: PeopleRules) -> bytes | None:
    """Return how a request is worded; None for one that is too short, as `digest_of`."""
    normal = _normal(request)
    return None if len(normal) < rules.shortest_request_characters else wording_of(normal)
