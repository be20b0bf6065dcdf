"""Another target or value than is told: what was asked for and is told stands in no call, and another stands there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from grader_daemon.analysis.claims.deeds.acts import Act, Acts
from grader_daemon.analysis.claims.deeds.literals import DAY, Literal, LiteralKind, Reading, literals_of
from grader_daemon.analysis.claims.deeds.told_sentences import Sentence
from grader_daemon.analysis.claims.evidence import ClaimEvidence
from grader_daemon.analysis.claims.verification import Verification, contradicted
from grader_daemon.domain.claims import ClaimReason
from grader_daemon.domain.late_pattern import late_pattern

_READ: Final = 4_000
_MOST_READ: Final = 20_000
_LONG_REQUEST: Final = 2_000
_LIKE: Final = 10
_RATIOS: Final = (60, 3600, 24, 1440, 7, 100, 1000, 1024, 12)
"""Factors between units: hours in minutes, euros in cents."""

_NEARLY: Final = 0.01
_TARGETS: Final = (LiteralKind.ADDRESS, LiteralKind.ID)
_FIELDS: Final = late_pattern(r'"(?:\w{0,30}_)?(?:id|n|nr|page|limit|version|offset|max\w{0,20})" ?: ?"?\d{1,3}\b')
_OPTION: Final = late_pattern(r"--[\w-]{2,30}[= ](?:[a-z]{2,20}=)?([\w.@-]{1,60})")
_PARTS: Final = late_pattern(r"\d+|(?<![\w.+-])[\w.+-]{1,64}+@[\w.-]{1,80}")


class OtherValues:
    """Compares what an answer tells and persons asked for with what acts were given."""

    def __init__(self, evidence: ClaimEvidence, acts: Acts, sentences: Sequence[Sentence], answer: str) -> None:
        self._evidence = evidence
        self._acts = acts
        self._sentences = sentences
        self._answer = answer

    def found(self) -> Iterator[tuple[Sentence, Verification]]:
        """Yield the first sentence that tells another thing than was done."""
        candidates = list(self._candidates()) if self._missing else []
        if not candidates or self._is_long:
            return
        acts = [act for act in self._acts.all if not act.edits and not act.run.is_code and act.is_done]
        given = [(act, values) for act in acts if (values := self._unnamed(act))]
        for sentence, told in candidates if given else ():
            found = self._given_otherwise(told, given)
            if found is not None:
                yield sentence, found
                return

    @cached_property
    def _missing(self) -> frozenset[str]:
        """The numbers and addresses that were asked for and are told, and that no call was given in these letters."""
        asked = {part for each in self._requests for part in _PARTS.findall(each.lower())}
        told = asked.intersection(_PARTS.findall(self._answer))
        runs = self._evidence.runs if told else []
        return frozenset(told.difference(part for run in runs for part in _PARTS.findall(run.arguments.lower())))

    def _candidates(self) -> Iterator[tuple[Sentence, Literal]]:
        """Yield what is told with such a number, by sentence; a value that a result shows is none."""
        shown = {part for run in self._evidence.runs for part in _PARTS.findall(run.ending(_READ).lower())}
        for sentence in self._sentences:
            if self._missing.isdisjoint(_PARTS.findall(sentence.low)) or not sentence.is_plain:
                continue
            for told in sentence.literals:
                parts = set(_PARTS.findall(told.text))
                if parts & self._missing and (told.kind in _TARGETS or not parts <= shown):
                    yield sentence, told

    @property
    def _is_long(self) -> bool:
        return sum(len(run.arguments) + len(run.ending(_READ)) for run in self._evidence.runs) > _MOST_READ

    def _unnamed(self, act: Act) -> list[Literal]:
        """Return the values, of a command its options, that an act was given and that nobody asked for or told."""
        text = " ".join(_OPTION.findall(act.arguments)) if act.is_shell else _FIELDS.sub("", act.arguments)
        return [each for each in literals_of(text) if self._named.isdisjoint(_own(each))]

    def _given_otherwise(self, told: Literal, given: Sequence[tuple[Act, list[Literal]]]) -> Verification | None:
        is_target = told.kind in _TARGETS
        recorded = self._done_with if is_target else self._recorded
        if told.readings.isdisjoint(self._asked) or not _own(told).isdisjoint(recorded):
            return None
        for act, values in given:
            known = frozenset() if is_target else self._seen_before(act)
            if any(_stands_instead(each, told) and known.isdisjoint(_own(each)) for each in values):
                return contradicted(ClaimReason.OTHER_TARGET if is_target else ClaimReason.OTHER_VALUE, act.index)
        return None

    @cached_property
    def _requests(self) -> list[str]:
        return [each[:_LONG_REQUEST] for each in self._evidence.requests]

    @cached_property
    def _asked(self) -> frozenset[Reading]:
        return _readings(self._requests)

    @cached_property
    def _named(self) -> frozenset[Reading]:
        """Readings of what was asked for or told."""
        return self._asked | _readings([self._answer])

    def _seen_before(self, act: Act) -> frozenset[Reading]:
        """Return the readings of what lookups had shown before an act."""
        return _readings(run.ending(_READ) for run in self._acts.looks if run.index < act.index)

    @cached_property
    def _done_with(self) -> frozenset[Reading]:
        """Readings of what acts were given, or answered."""
        return _readings(text for act in self._acts.all for text in (act.arguments, act.result))

    @cached_property
    def _recorded(self) -> frozenset[Reading]:
        """Readings of what any call was given, or answered."""
        return _readings(text for run in self._evidence.runs for text in (run.arguments, run.ending(_READ)))


def _readings(texts: Iterable[str]) -> frozenset[Reading]:
    return frozenset(reading for text in texts for each in literals_of(text) for reading in each.readings)


def _own(literal: Literal) -> frozenset[Reading]:
    """Return the readings of a literal; of a whole date not its day alone."""
    return frozenset(each for each in literal.readings if each[0] != DAY) or literal.readings


def _stands_instead(given: Literal, told: Literal) -> bool:
    """Return whether a literal that an act was given may stand where the told one should: of its kind, and like it."""
    if given.kind is not told.kind:
        return False
    if told.kind is LiteralKind.NUMBER:
        low, high = sorted((given.value, told.value))
        return low > 0 and high / low <= _LIKE and all(abs(high / low - each) > _NEARLY for each in _RATIOS)
    return told.kind is not LiteralKind.ID or _form(given.text) == _form(told.text)


def _form(text: str) -> str:
    """Return the form of an id: its digits do not count, but how many they are."""
    return "".join("0" if each.isdigit() else each for each in text)
