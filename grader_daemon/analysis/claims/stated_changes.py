"""Claims of an answer about its changes as a whole: tests that were added, and that nothing else was changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.clauses import is_denied, is_quoted, is_told_as_done, names_agent, sentence
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.domain.claims import ClaimKind
from grader_daemon.domain.late_pattern import late_pattern

_MOST: Final = 20
_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS: Final = {"a": 1, "an": 1, **{word: number for number, word in enumerate(_WORDS.split(), start=1)}}
_ADDED = late_pattern(
    r"\b(added|wrote|created)\*{0,2} \*{0,2}"
    r"(?:(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) )?"
    r"(?:(?:new|more|additional|unit|regression|integration|focused|further|the|some|several) ){0,3}"
    r"tests?\b(?! [\w-]*file)"
)
_NOTHING_ELSE = late_pattern(
    r"\bno other (?:files?|code|source files?)[^.;\n]{0,20}? (?:changed|modified|touched|edited|affected)\b"
    r"|\bnothing else (?:was |has been |is )?(?:changed|modified|touched|edited)\b"
    r"|\b(?:without touching|(?:did not|didn't) (?:touch|change|modify)) (?:any other|other) files?\b"
)
TESTS: Final = frozenset({b"test", b"tests"})
ADDING: Final = frozenset({b"added", b"wrote", b"created"})
OTHERS: Final = frozenset({b"other", b"else"})
CHANGED: Final = frozenset(
    {b"changed", b"modified", b"touched", b"edited", b"touching", b"touch", b"change", b"modify"}
)


def tests_added(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Yield the claims that tests were added, with their number where it is told."""
    for found in islice(_ADDED.finditer(low), _MOST):
        start, end = sentence(low, found.start())
        before = low[start : found.start()]
        by_agent = is_told_as_done(before, low[found.end(1) : end], found[1])
        if by_agent is None or is_denied(before) or is_quoted(low, found.start()) or low[end : end + 1] == "?":
            continue
        number = found[2]
        count = None if number is None else _NUMBERS.get(number) or int(number)
        is_own = by_agent and names_agent(before)
        yield found.start(), StatedClaim(ClaimKind.TESTS_ADDED, by_agent=is_own, said=text[start:end], count=count)


def nothing_else(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Yield the claims that no other files were changed."""
    for found in islice(_NOTHING_ELSE.finditer(low), _MOST):
        start, end = sentence(low, found.start())
        if not is_quoted(low, found.start()) and low[end : end + 1] != "?":
            yield found.start(), StatedClaim(ClaimKind.NOTHING_ELSE, said=text[start:end])
