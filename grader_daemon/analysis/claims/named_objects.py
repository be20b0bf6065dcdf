"""Objects that a claim names (receivers, quoted names, ids, values, counts), held against the calls that did it.

A call of the right tool shows that something was done, not that it was done to what the claim names. Forms differ
("7 pm" is 19:00:00), and an id stands for the name beside which it was looked up or asked for. So an object counts as
another only where a call has one of its kind in its place, or where no call knows of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from itertools import pairwise
from typing import Final

from grader_daemon.analysis.claims.call_answers import given
from grader_daemon.analysis.claims.deed_tools import changes
from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun, may_have_written, once
from grader_daemon.analysis.claims.other_entries import decoded, entries_in
from grader_daemon.analysis.claims.other_values import Value, is_among, is_of_its_object, other_level, values_in
from grader_daemon.analysis.claims.stated_claim import KINDS, StatedClaim
from grader_daemon.analysis.claims.subjects import ADDRESS, ID
from grader_daemon.domain.claims import ClaimReason
from grader_daemon.domain.late_pattern import late_pattern

_READ: Final = 4_000
_MOST_RUNS: Final = 30
_LONGEST_NUMBER: Final = 4
_SHORTEST_WORD: Final = 3
_MOST_AMOUNTS: Final = 40
_CENTS: Final = 100
_LONGEST_TEXT: Final = 8_000
"""Characters of calls that are read for values: in more of them, any may stand."""

_NAME: Final = r"(?:[A-Z][a-zà-ÿ]{1,20}(?:-[A-Z][a-zà-ÿ]{1,20})?)(?: [A-Z][a-zà-ÿ]{1,20}){0,3}"
_ONE_NAME = late_pattern(_NAME)
_RECEIVERS = late_pattern(
    rf"\b(?:to|for|with|cc)\b:?[ *_`]{{1,3}}({_NAME}(?:(?:, and|,| and| &) {_NAME}){{0,5}})(?![\w@'])"
)
_HAS_NAME = late_pattern(rf'[:\[,] ?"(?:{_NAME}|[\w.+-]{{1,64}}@[\w.-]{{3,80}})"')
_HAS_CODE = late_pattern(r'"[A-Z]{2,5}"')
"""A code in a call stands for a name: "SEA" for Seattle."""

_TIMES: Final = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december today tomorrow
    """.split()
)
_QUOTED = late_pattern(r"[\"“]([^\"“”\n]{3,60})[\"”]")
_WORD = late_pattern(r"[^\W_]+")
_LETTERS = late_pattern(r"[A-Za-z]+")
_DIGITS = late_pattern(r"\d+")
_CHANNEL = late_pattern(r"(?<![\w&/])#([a-z][a-z-]{2,40})\b")
_TOKEN = late_pattern(
    r"(?<![\w./@:$€£#-])(?=[A-Za-z-]{0,20}\d)(?=[\d-]{0,20}[A-Za-z])[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){0,4}"
    r"(?![\w@/-]|\.\w)"
)
"""A name of letters and digits: of a seat, a flight, a host."""

_JOINED = late_pattern(r"[\s*_`]{0,4}(?:, and|,|and|&)[\s*_`#]{1,5}")
_NUMBERED = late_pattern(r"(?<![\w.,-])(\d{1,6})( [A-Z][a-zà-ÿ]{2,20}\b)")
_COUNTED = late_pattern(
    r"(?<![\w.,:/$€£#-])([2-9]|[1-9]\d{1,3}|both|two|three|four|five|six|seven|eight|nine|ten)"
    r" (?:[a-z][a-z-]{1,20} ){0,2}?([a-z]{2,20}s)\b(?! (?:ago|later))"
)
_NUMBERS: Final = {"both": 2} | {
    word: each for each, word in enumerate("two three four five six seven eight nine ten".split(), 2)
}
_MEASURES: Final = frozenset(
    """
    seconds minutes mins hours hrs days nights weeks months years business times stars points percents percent
    euros dollars cents as is was has this pounds miles grams units persons guests adults
    """.split()
)
"""Words behind a number that tells how long, how much or how many at once, which no call counts."""


class NamedObjects:
    """Objects of claims, beside what the calls and requests of one session know of."""

    def __init__(self, evidence: CallRecord) -> None:
        self._evidence = evidence

    def missing(self, claim: StatedClaim, did: Sequence[ToolRun]) -> ClaimReason | None:
        """Return why calls that worked do not show what the words of a claim say; None if they do.

        `did` are the calls for it.
        """
        said, did = _own_part(claim), did[-_MOST_RUNS:]
        if self._has_other_value(said, did) or self.has_other_name(said, did) or not self._counts(said, did):
            return ClaimReason.OTHER_VALUE
        if not (self._are_done(said) and all(self._is_known(each, did) for each in _names(said, did))):
            return ClaimReason.NOT_NAMED
        return None

    def has_other_name(self, said: str, did: Sequence[ToolRun]) -> bool:
        """Return whether the calls were given a name of letters and digits in place of one that a text names."""
        named = {each.group().lower() for each in _TOKEN.finditer(said)}
        own = [*self._acted, *map(_text, did)] if named else []
        lacking = [each for each in named if not any(each in text for text in own)]
        ids = {each for run in did for each in given(run) if each not in said.lower()} if lacking else set()
        for name in lacking:
            alike = {each for each in ids if _shape(each) == _shape(name)}
            if alike and not self._is_beside(name, ids - alike):
                return True
        return False

    def _is_beside(self, name: str, ids: Set[str]) -> bool:
        """Return whether a result has a name beside one of some ids."""
        for run, text in zip(self._evidence.runs, self._known, strict=True):
            entries = [" ".join(entry) for entry in entries_in(run)] if name in text else []
            if name in text and any(name in each and any(map(each.__contains__, ids)) for each in entries or [text]):
                return True
        return False

    @cached_property
    def _known(self) -> list[str]:
        """Text that each call was given and answered, in lower case."""
        return [_text(each) for each in self._evidence.runs]

    @cached_property
    def _acted(self) -> list[str]:
        """The same, of the calls that changed something."""
        worked = [each for each in self._evidence.runs if each.worked]
        return [_text(each) for each in worked if (may_have_written(each) if each.command else changes(each))]

    def _has_other_value(self, said: str, did: Sequence[ToolRun]) -> bool:
        """Return whether the calls were given values of a kind of which the claim tells others alone."""
        low = said.lower()
        if other_level(did, low) is not None or _has_other_number(said, did):
            return True
        told = [each for each in values_in(low) if each.kind is not None]
        own = _joined([_text(each) for each in did]) if told else ""
        kinds = {each.kind for each in told} - {each.kind for each in told if each.meaning in own}
        if not kinds or len(own) >= _LONGEST_TEXT:
            return False
        kinds &= {each.kind for run in did for each in values_in(run.arguments.lower())}
        values = list(values_in(own)) if kinds else []
        return any(not self._has_one([each for each in told if each.kind == kind], values, did) for kind in kinds)

    def _has_one(self, told: Sequence[Value], own: Sequence[Value], did: Sequence[ToolRun]) -> bool:
        """Return whether one of some values is of the calls, or of the object that they were given."""
        runs = self._evidence.runs
        return any(
            is_among(each, own) or _adds_up(each, own) or any(is_of_its_object(each, run, runs) for run in did)
            for each in told
        )

    def _counts(self, said: str, did: Sequence[ToolRun]) -> bool:
        """Return whether as many were done as the claim counts, by the calls or by what one of them says."""
        counted = [found for found in _COUNTED.finditer(said.lower()) if found[2] not in _MEASURES]
        if not counted:
            return True
        ids = {each for run in did for each in given(run)}
        is_one = len(did) == 1
        runs = [each for each in self._evidence.runs if each in did or (is_one and not ids.isdisjoint(given(each)))]
        sizes = {len(did), *(size for run in runs for size in _sizes(run))}
        numbers = [_NUMBERS.get(found[1]) or int(found[1]) for found in counted]
        return all(each in sizes or any(_stands(each, _text(run)) for run in runs) for each in numbers)

    def _are_done(self, said: str) -> bool:
        """Return whether some call was for each address of the claim, and for each id of an enumeration."""
        named = [each.group().lower() for each in ADDRESS.finditer(said)]
        ids = [*ID.finditer(said)]
        for before, each in pairwise(ids):
            if _JOINED.fullmatch(said, before.end(), each.start() + each.group().startswith("#")):
                named += [before.group().lower().strip("#"), each.group().lower().strip("#")]
        return all(any(name in text for text in self._acted) for name in named)

    def _is_known(self, name: str, did: Sequence[ToolRun]) -> bool:
        """Return whether a name stands in a call, or beside an id that one was given."""
        words = [each for each in _WORD.findall(name.lower()) if len(each) >= _SHORTEST_WORD]
        own = [_text(each) for each in did]
        if not words or any(_has_words(words, text) for text in own):
            return True
        ids = {each for run in did for each in given(run)}
        for run, text in zip(self._evidence.runs, self._known, strict=True):
            if run not in did and _has_words(words, text):
                entries = entries_in(run)
                of_name = [entry for entry in entries if _has_words(words, " ".join(entry))]
                if not of_name or any(not entry.isdisjoint(ids) for entry in of_name):
                    return True
        linking = [each for each in ids if "@" in each or (len(each) >= _LONGEST_NUMBER and not each.isalpha())]
        return any(
            _has_words(words, asked) and any(each in asked for each in linking)
            for asked in map(str.lower, self._evidence.requests)
        )


def _own_part(claim: StatedClaim) -> str:
    """Return the words of a claim without those of other deeds in its sentence."""
    low, verb = claim.said.lower(), claim.words[0] if claim.words else ""
    places = [each.span() for each in _WORD.finditer(low) if each.group() in KINDS]
    own = next((at for at, end in places if low[at:end] == verb), None)
    if own is None:
        return claim.said
    start = own if any(at < own for at, _ in places) else 0
    return claim.said[start : min((at for at, _ in places if at > own), default=len(low))]


def _shape(name: str) -> str:
    """Return the form of a name of letters and digits: "14D" has that of "15d"."""
    return _DIGITS.sub("0", _LETTERS.sub("a", name)) if _DIGITS.search(name) else ""


def _names(said: str, did: Sequence[ToolRun]) -> Iterator[str]:
    """Yield what a claim quotes, and the receivers that it names where the calls were given names too."""
    yield from (found[1] for pattern in (_QUOTED, _CHANNEL) for found in pattern.finditer(said))
    if not any(_HAS_NAME.search(each.arguments) and not _HAS_CODE.search(each.arguments) for each in did):
        return
    for found in _RECEIVERS.finditer(said):
        yield from (each for each in _ONE_NAME.findall(found[1]) if each.lower().partition(" ")[0] not in _TIMES)


def _has_words(words: Sequence[str], text: str) -> bool:
    return all(each in text for each in words)


def _has_other_number(said: str, did: Sequence[ToolRun]) -> bool:
    """Return whether the calls have another number before a name: "21 Oak Street", told as 12."""
    for found in _NUMBERED.finditer(said):
        name = found[2].lower()
        texts = [text for each in did if name in (text := _text(each))]
        if texts and not any(found.group().lower() in text for text in texts):
            return any(text[text.find(name) - 1].isdigit() for text in texts)
    return False


def _adds_up(value: Value, own: Sequence[Value]) -> bool:
    """Return whether an amount is one of the calls in cents, or the sum of two or of all of theirs."""
    if value.kind != "money":
        return False
    told, amounts = float(value.meaning), {float(each.meaning) for each in own if each.kind == "money"}
    few = sorted(amounts)[:_MOST_AMOUNTS]
    sums = {sum(few), *(one + other for one in few for other in few)}
    return told * _CENTS in amounts or any(abs(each - told) < 1 / _CENTS for each in sums)


def _joined(texts: Sequence[str]) -> str:
    """Return some texts as one in lower case, as far as they are read for values."""
    return "\n".join(texts)[:_LONGEST_TEXT].lower()


def _stands(number: int, text: str) -> bool:
    """Return whether a text has a number as such."""
    return re.search(rf"(?<![\w.,:/-]){number}(?![\w:/-]|[.,]\d)", text) is not None


def _sizes(run: ToolRun) -> set[int]:
    """Return how many entries, lines and enumerated words a call was given, or answered, at each place."""
    sizes: set[int] = set()
    left = [decoded(run.arguments[:_READ]), decoded(run.ending(_READ))]
    for each in left:
        if isinstance(each, list | dict):
            sizes |= {len(each)} if isinstance(each, list) else set()
            left += each.values() if isinstance(each, dict) else each
        elif isinstance(each, str):
            sizes |= {each.count("\n") + 1, each.count(",") + 1}
    return sizes


@once
def _text(run: ToolRun) -> str:
    """Return what a call was given and what it answered, in lower case."""
    return f"{run.arguments[:_READ]}\n{run.ending(_READ)}".lower()
