"""Things that lookups gave in one list, by which an act on one of them is told from an act on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from grader_daemon.analysis.claims.deeds.acts import Act, Acts
from grader_daemon.analysis.claims.deeds.call_answers import document_in
from grader_daemon.analysis.claims.deeds.told_sentences import Sentence
from grader_daemon.analysis.claims.evidence import ClaimEvidence
from grader_daemon.analysis.claims.verification import Verification, contradicted
from grader_daemon.domain.claims import ClaimReason
from grader_daemon.domain.late_pattern import late_pattern

_EXAMINED: Final = 2_500
_MOST_THINGS: Final = 60
_DEEPEST: Final = 6
_LONGEST_VALUE: Final = 60
_WORD: Final = late_pattern(r"\w+")
_VALUE: Final = late_pattern(r"[\w@./+-]+")
_TELLING_WORD: Final = late_pattern(r"[^\W\d_]{4,}|\d{2,}|[a-z]\d+")


class _Thing(NamedTuple):
    """A thing: the words of all its fields, and the values of which one may be its name or id."""

    words: frozenset[str]
    values: frozenset[str]


def of_another(
    evidence: ClaimEvidence, acts: Acts, sentences: Sequence[Sentence], answer: str
) -> Iterator[tuple[Sentence, Verification]]:
    """Yield sentences that name one thing of a list, as it was asked for, where an act was given only another of it."""
    asked, said = _words_of(" ".join(evidence.requests).lower()), _words_of(answer)
    done = [(act, frozenset(_leaves_of(act))) for act in acts.of_tools if act.is_done]
    unnamed = [leaf for _, leaves in done for leaf in leaves if _words_of(leaf).isdisjoint(asked | said)]
    for run in acts.looks if unnamed else ():
        shown = run.ending(_EXAMINED + 1)
        if len(shown) > _EXAMINED or not any(leaf in shown.lower() for leaf in unnamed):
            continue
        given = [(act, leaves) for act, leaves in done if act.index > run.index]
        called = " ".join(each.arguments.lower() for each in evidence.runs if each.index > run.index)
        missed = asked & said - _words_of(called)
        for things in _lists_in(shown) if missed else ():
            for act, meant in _mistaken(things, given, missed, asked | said):
                told = next((each for each in sentences if each.tells_deed and meant & _words_of(each.low)), None)
                if told is not None:
                    yield told, contradicted(ClaimReason.OTHER_TARGET, act.index)
                    return


def _mistaken(
    things: Sequence[_Thing],
    given: Sequence[tuple[Act, frozenset[str]]],
    meant: frozenset[str],
    named: frozenset[str],
) -> Iterator[tuple[Act, frozenset[str]]]:
    """Yield the acts on things that nobody named, with the words of the thing that was meant."""
    given_values = frozenset(leaf for _, leaves in given for leaf in leaves)
    missed = [_apart(each, things, 0) & meant for each in things if not each.values & given_values]
    values = frozenset(value for each in things for value in each.values)
    words = frozenset(word for each in missed for word in each if word in values or _TELLING_WORD.fullmatch(word))
    for act, leaves in given if words else ():
        mine = [each for each in things if each.values & leaves]
        if len(mine) == 1 and not _apart(mine[0], things, 0) & named:
            yield act, words


def _apart(thing: _Thing, things: Sequence[_Thing], field: int) -> frozenset[str]:
    """Return what is in no other thing of its list."""
    return thing[field] - {each for other in things if other is not thing for each in other[field]}


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def _leaves_of(act: Act) -> Iterator[str]:
    """Yield the values that an act was given."""
    return _leaves(document_in(act.run.arguments))


def _lists_in(text: str) -> Iterator[list[_Thing]]:
    """Yield the lists in a result: of objects, or of lines; what is the same in several of them tells nothing apart."""
    document = document_in(text)
    found: list[list[_Thing]] = []
    if document is not None:
        found = list(_in(document, 0))
    elif "\n" in text.strip():
        lines = [line.lower() for line in text.splitlines()[:_MOST_THINGS]]
        found = [[_Thing(_words_of(line), _values_of(line)) for line in lines if line.strip()]]
    for things in found:
        yield [_Thing(each.words, _apart(each, things, 1)) for each in things]


def _values_of(line: str) -> frozenset[str]:
    """Return the words, addresses, paths and ids of a line, without the marks behind them."""
    return frozenset(found for each in _VALUE.findall(line) if (found := each.rstrip("@./+-")))


def _in(value: object, depth: int) -> Iterator[list[_Thing]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        value = document_in(value) if value.lstrip().startswith(("[", "{")) else None
    if isinstance(value, list) and 1 < len(value) < _MOST_THINGS and all(isinstance(each, dict) for each in value):
        yield [_thing(each) for each in value]
    inner = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    for each in inner:
        yield from _in(each, depth + 1)


def _thing(fields: object) -> _Thing:
    leaves = [each for each in _leaves(fields) if len(each) <= _LONGEST_VALUE]
    return _Thing(_words_of(" ".join(leaves)), frozenset(each for each in leaves if ":" not in each))


def _leaves(value: object) -> Iterator[str]:
    """Yield the texts and numbers in a value, in lower case."""
    if isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        yield str(value).lower()
