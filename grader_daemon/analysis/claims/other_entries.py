"""Entries of a list that a lookup gave: one was asked for and is told, and a call was given another of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from grader_daemon.analysis.claims.call_answers import given
from grader_daemon.analysis.claims.evidence import ToolRun, once
from grader_daemon.analysis.claims.other_values import values_in
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_LONGEST: Final = 1_500
_LONGEST_RESULT: Final = 6_000
_NESTED: Final = frozenset({dict, list})
_OPENING: Final = frozenset({"{", "["})
_SEVERAL: Final = ("}, {", "},{", "},\n", '}, "', '},"')
_WORD = late_pattern(r"[^\W_]+(?:-\d+)?")
_MOST_ROWS: Final = 30
_BETWEEN = late_pattern(r"\s[|–—-]\s|\t|\s{2,}|[;|]")
_NUMBERED = late_pattern(r"^\s*(?:\d{1,2}[.)]|[-*•])\s")
_SHORTEST_WORD: Final = 4
_LONGEST_NAME: Final = 60
_MOST_PARTS: Final = 5
_PART = late_pattern(r"[^\W_]+")
_NAME: Final = r"[A-Z][a-z]{2,20}(?: [A-Z][a-z]{1,20}){0,2}"
_RECEIVER = late_pattern(
    r'"(?:\w{1,20}_)?(?:to|recipient|receiver|assignee|owner|payee|beneficiary|attendee|guest|contact|name)": ?'
    rf'"({_NAME})"'
)
_TO_NAME = late_pattern(rf"\b(?:to|for|with) [*_`]{{0,2}}({_NAME})(?![\w@'-])")
_SHORT_NAMES: Final = frozenset(
    """
    bob bobby rob bill billy will dick rick rich ted ed ned jack jim jimmy hank harry chuck sasha peggy meg polly molly
    betty liz beth bess tony mike nick dave steve joe tom sam max alex kate cathy sue jenny pat chris ben dan matt andy
    greg jeff fred larry gene al ray ron don ken tim phil vince becky vicky mandy mindy
    """.split()
)
"""Names that stand for another: no other name in their place is a mistake."""


Entry = frozenset[str]
"""Single values of one entry, in lower case."""


class OtherEntry(NamedTuple):
    """A place of an answer that names an entry, and the call that was given another."""

    at: int
    run: ToolRun


def other_entry(runs: Sequence[ToolRun], worked: Sequence[ToolRun], answer: str, asked: str) -> OtherEntry | None:
    """Return an entry or a name that was asked for and is told, where a call was given another, which nobody named."""
    low, wished = answer.lower(), asked.lower()
    taken = {each: run for run in worked for each in given(run)}
    unnamed = tuple(each for each in taken if each not in low and each not in wished)
    if not unnamed:
        return None
    looked = [run for run in runs if run not in worked]
    return (
        _of_lists(looked, taken, unnamed, low, wished)
        or _of_names(worked, taken, unnamed, answer, asked)
        or _of_receivers(runs, worked, answer, asked)
    )


def _of_lists(
    looked: Sequence[ToolRun], taken: Mapping[str, ToolRun], unnamed: tuple[str, ...], low: str, asked: str
) -> OtherEntry | None:
    """Return an entry of a list that a lookup gave. Both texts are in lower case."""
    for run in looked:
        text = run.ending(_LONGEST + 1)
        if len(text) > _LONGEST or not holds_any(text.lower(), unnamed) or not run.worked:
            continue
        for entries in _lists_in(run, text):
            if all(map(taken.keys().isdisjoint, entries)):
                continue
            found = _taken_instead([_words(entry, low, asked) for entry in entries], entries, taken)
            if found is not None:
                return OtherEntry(low.find(found[0]), found[1])
    return None


def _of_names(
    worked: Sequence[ToolRun], taken: Mapping[str, ToolRun], unnamed: tuple[str, ...], answer: str, asked: str
) -> OtherEntry | None:
    """Return a name in place of which a call was given one that differs in one word.

    "Suppliers EU" in place of "Suppliers US": nobody names the first, and no call knows of the second.
    """
    low = answer.lower()
    for name in unnamed:
        for pattern in _siblings(name, low):
            found = pattern.search(answer)
            if found and _is_name(found.group(), found[1]) and found.group() in asked:
                told = found.group().lower()
                if all(
                    told not in each.arguments.lower() and told not in each.ending(_LONGEST).lower() for each in worked
                ):
                    return OtherEntry(found.start(), taken[name])
    return None


def _is_name(told: str, part: str) -> bool:
    """Return whether a text with a part in place of another is a name: "Suppliers US", "12 Oak Street", "prod-eu-1"."""
    if part.isalpha():
        return not part.islower()
    return (not told.islower() or "-" in told) and not any(each.kind for each in values_in(told.lower()))


def _of_receivers(runs: Sequence[ToolRun], worked: Sequence[ToolRun], answer: str, asked: str) -> OtherEntry | None:
    """Return a receiver that no call knows of, where one was given the name of another, which nobody else knows of."""
    given_names = [(run, name) for run in worked for name in _RECEIVER.findall(run.arguments) if not _is_short(name)]
    for told in _TO_NAME.finditer(answer) if given_names else ():
        name = told[1]
        if name not in asked or _is_short(name) or any(_shares_word(name, _text(each)) for each in runs):
            continue
        for run, other in given_names:
            texts = (answer.lower(), asked.lower(), *(_text(each) for each in runs if each is not run))
            if len(name.split()) == len(other.split()) and not any(_shares_word(other, text) for text in texts):
                return OtherEntry(told.start(1), run)
    return None


def _is_short(name: str) -> bool:
    """Return whether a name is nothing but a short form, which stands for another name."""
    return name.lower() in _SHORT_NAMES


def _shares_word(name: str, low: str) -> bool:
    return any(word in low for word in name.lower().split())


@once
def _text(run: ToolRun) -> str:
    return f"{run.arguments}\n{run.ending(_LONGEST)}".lower()


def _lists_in(run: ToolRun, text: str) -> list[list[Entry]]:
    """Return the lists in the result of a call: of JSON, or the lines of a text that is none of a file."""
    if holds_any(text, _SEVERAL):
        return _lists(decoded(text))
    return [] if run.seen_paths else _rows(text)


def _rows(text: str) -> list[list[Entry]]:
    """Return the lines of a plain text as entries of one list, where each has several parts."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not 1 < len(lines) <= _MOST_ROWS:
        return []
    parts = [_BETWEEN.split(_NUMBERED.sub("", line).lower()) for line in lines]
    rows = [frozenset(part.strip() for part in each if part.strip()) for each in parts]
    return [rows] if min(map(len, rows)) > 1 else []


def entries_in(run: ToolRun) -> list[Entry]:
    """Return the entries of all lists in the result of a call."""
    return [entry for entries in _lists(decoded(run.ending(_LONGEST_RESULT))) for entry in entries]


def _siblings(name: str, low: str) -> Iterator[re.Pattern[str]]:
    """Yield what finds names that differ in one part, beside which the others stand as they are."""
    if len(name) > _LONGEST_NAME or not any(each in low for each in _PART.findall(name) if len(each) >= _SHORTEST_WORD):
        return
    parts = list(_PART.finditer(name))
    for each in parts if len(parts) <= _MOST_PARTS else ():
        kept = [other.group() for other in parts if other is not each]
        if any(len(other) >= _SHORTEST_WORD for other in kept) and all(other in low for other in kept):
            before, after = re.escape(name[: each.start()]), re.escape(name[each.end() :])
            yield re.compile(rf"(?<![\w-])(?i:{before})([^\W_]+)(?i:{after})(?![\w-])")


def _words(entry: Entry, low: str, asked: str) -> set[str]:
    """Return the words of an entry that were asked for and are told."""
    words = {word for each in entry for word in _WORD.findall(each) if len(word) >= _SHORTEST_WORD}
    words.update(each for each in entry if _SHORTEST_WORD <= len(each) <= _LONGEST_NAME and " " in each)
    return {word for word in words if word in asked and word in low and _stands(word, asked) and _stands(word, low)}


def _stands(word: str, text: str) -> bool:
    """Return whether a text has a word that begins so, and is no more than a plural or a genitive of it."""
    position = text.find(word)
    while position >= 0:
        end = position + len(word)
        if not text[position - 1 : position].isalnum() and not text[end : end + 2].strip("'s").isalnum():
            return True
        position = text.find(word, end)
    return False


def _taken_instead(
    told: Sequence[set[str]], entries: Sequence[Entry], taken: Mapping[str, ToolRun]
) -> tuple[str, ToolRun] | None:
    """Return a word by which one entry alone is told, and the call that was given another, of which less is told."""
    most = max(told, key=len)
    if not most or told.count(most) > 1 or not all(each <= most for each in told):
        return None
    meant = entries[told.index(most)]
    if not meant.isdisjoint(taken):
        return None
    less = [(entry, words) for entry, words in zip(entries, told, strict=True) if words < most]
    return next(
        ((min(most - words), taken[each]) for entry, words in less for each in sorted(entry - meant) if each in taken),
        None,
    )


def _lists(value: object) -> list[list[Entry]]:
    """Return the lists of objects in a value, also in JSON that stands in it as a text."""
    found: list[list[Entry]] = []
    left = [value]
    for each in left:
        plain = decoded(each) if isinstance(each, str) else each
        inner = list(plain.values()) if isinstance(plain, dict) else plain if isinstance(plain, list) else []
        nested = [entry for entry in inner if type(entry) in _NESTED or (type(entry) is str and entry[:1] in _OPENING)]
        if len(nested) == len(inner) > 1 and all(isinstance(entry, dict) for entry in inner):
            names = plain if isinstance(plain, dict) else [""] * len(inner)
            found.append([_entry(entry) | {name.lower()} for name, entry in zip(names, inner, strict=True)])
        left += nested
    return found


def _entry(fields: dict[str, object]) -> Entry:
    return frozenset(str(each).lower() for each in fields.values() if type(each) in {str, int})


def decoded(text: str) -> object:
    """Return what a text is as JSON; None if it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
