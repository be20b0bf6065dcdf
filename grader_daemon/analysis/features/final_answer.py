"""The answer in its narrow sense, behind "Answer:" or a tag: its form against the question, and what holds it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.kind_of_work import KindOfWork, kind_of
from grader_daemon.analysis.features.session_window import SessionWindow, as_words, not_in, numbers
from grader_daemon.analysis.session_state import LastWord
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("final_marked", "The final answer has a marker (Answer:, a tag, finish(…)).", 0.5),
    Feature("final_words", "Number of words of a short final answer.", -0.5, 12),
    Feature("final_fits", "The final answer has the requested form (a number, yes or no, …) (0.5 if unknown).", 1),
    Feature("final_of_two", "The question has two possible answers, and the final answer is one of them.", 0.5),
    Feature("final_gives_up", "The final answer says that there is none (unknown, none, not found, …).", -1),
    Feature("final_asked", "Share of the final answer's words that are in the request.", -0.5),
    Feature("final_seen", "The final answer is, word for word, in one of the last results (0.5 if unknown).", 1),
    Feature(
        "final_words_seen", "Share of the final answer's new words that are in the last results (0.5 without any).", 1
    ),
    Feature("final_backing", "Share of the request's words in the result that has the final answer.", 1),
    Feature("final_results", "Number of the last results that contain the final answer.", 0.5, 12),
    Feature("final_is_result", "The final answer is the whole last result.", 1),
    Feature("final_computed", "The final answer's number is in the last output of code (0.5 without numbers).", 1),
    Feature("final_reasoned", "The final answer is also in the text before it.", 0.5),
)

_MARKS: Final = (
    *(("<solution>", "</"), ("<answer>", "</"), ("\\boxed{", "}"), ("FINISH(", ")"), ("finish(", ")"), ("inish[", "]")),
    *(("nswer:", "\n"), ("NSWER:", "\n"), ("nswer is", ". ")),
)
_LONGEST = 200
_MOST_WORDS = 24
STOP_WORDS: Final = frozenset(
    b"a an the of in on at to for from by with and or is are was were be been do does did has have had what which who"
    b" whom whose when where why how many much that this these those it its as both not no yes can could will would"
    b" should i me my you your he she they their his her s t than then there please give show find tell also".split()
)
_ARTICLES: Final = frozenset([b"a", b"an", b"the"])
_VERBS_FIRST = frozenset(b"is are was were do does did has have had can could will would should am".split())
_ORDERS_FIRST = frozenset([b"do", b"have"])
_PRONOUNS = frozenset([b"i", b"you", b"we", b"they"])
_COUNTED = (b"how many", b"how much", b"how old", b"how long", b"how far", b"how tall", b"number of", b"integer")
_NUMBER_WORDS = frozenset(b"average total percentage sum float numeric integer age".split())
_DATED = frozenset(b"when year date birthday month".split())
_PEOPLE = frozenset(b"who whom whose".split())
_TWO_WAYS = frozenset(b"yes no true false".split())
_MONTHS = frozenset(
    b"january february march april may june july august september october november december".split()
    + b"monday tuesday wednesday thursday friday saturday sunday".split()
)
_COUNT_WORDS = frozenset(b"zero one two three four five six seven eight nine ten eleven twelve once twice".split())
_NOTHING = frozenset(b"unknown none null nan na undetermined unavailable inconclusive".split())
_NO_VALUE = "-1"
"""Answer that programs ask for where there is none; elsewhere it is a number like any other."""

_GIVEN_UP = (
    *(b"not found", b"not enough", b"no information", b"not available", b"insufficient", b"cannot", b"could not"),
    *(b"not specified", b"not mentioned", b"unable", b"dont know", b"do not know", b"n a", b"not known", b"unclear"),
)
_MOST_NAMED = 8
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,17})?")
_MOST_NUMBERS = 20
_NONE = (0.0, 0.5, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0)


class Asked(StrEnum):
    """The form that a question asks for."""

    ONE_OF_TWO = "one of two"
    YES_OR_NO = "yes or no"
    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    OPEN = "open"


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    final, marked = _final(window)
    tokens = [word for word in as_words(final).split() if word not in _ARTICLES]
    if window.about_files or not tokens or len(tokens) > _MOST_WORDS:
        return (float(marked), *_NONE)
    question = _question(window.request)
    asked = _asked(question, window.request_words, is_told="?" not in window.request)
    of_two = asked in (Asked.YES_OR_NO, Asked.ONE_OF_TWO)
    fits = _fits(asked, final, tokens, window.request_words)
    given = set(tokens)
    new = given - STOP_WORDS
    return (
        float(marked),
        log(len(tokens)),
        fits,
        float(of_two and fits == 1),
        float(_gives_up(final, tokens, window.request)),
        0.0 if of_two else share(len(new & window.request_words), len(new)),
        *_standing(window, tokens, asked),
        _computed(final, window),
        float(marked and b" %b " % b" ".join(tokens) in b" %b " % b" ".join(window.answer_tokens[: -len(tokens)])),
    )


def _final(window: SessionWindow) -> tuple[str, bool]:
    """Return the final answer, "" when there is no short one, and whether a mark stands before it."""
    answer = window.answer
    for begin, end in _MARKS:
        _, mark, after = answer.rpartition(begin)
        if mark:
            found = after.strip()
            # What a call is given may hold brackets of its own.
            return (found.rpartition(end)[0] if end == ")" else found.partition(end)[0]) or found, True
    return (answer if window.end is LastWord.ANSWER and len(answer) <= _LONGEST else ""), False


def _question(request: str) -> list[bytes]:
    """Return the words of the last sentence that ends in a question mark, of the whole request without any."""
    before, mark, _ = request.rpartition("?")
    if not mark:
        return as_words(request).split()
    start = max(before.rfind(end) for end in (". ", "\n", "? ", ": "))
    return as_words(before[start + 1 :]).split()


def _is_order(words: list[bytes]) -> bool:
    """Return whether words without a question mark are an order ("do it again") and no question ("do you know it")."""
    return words[0] in _ORDERS_FIRST and not (len(words) > 1 and words[1] in _PRONOUNS)


def _asked(question: list[bytes], request: set[bytes], *, is_told: bool) -> Asked:
    """Return the form that is asked for; `is_told` if no question mark makes the words a question."""
    said, found = b" ".join(question), set(question)
    if question and question[0] in _VERBS_FIRST and not (is_told and _is_order(question)):
        return Asked.YES_OR_NO
    if b"or" in found and b"both" not in found and b"options" not in request:
        return Asked.ONE_OF_TWO
    if holds_any(said, _COUNTED) or not _NUMBER_WORDS.isdisjoint(found):
        return Asked.NUMBER
    if not _DATED.isdisjoint(found):
        return Asked.DATE
    return Asked.OPEN if _PEOPLE.isdisjoint(found) else Asked.NAME


def _fits(asked: Asked, final: str, tokens: list[bytes], request: set[bytes]) -> float:
    """Return 1 for an answer of the form that was asked, 0 for another one, 0.5 where any may do."""
    given = set(tokens)
    digits = numbers(given)
    yes_or_no = len(tokens) == 1 and tokens[0] in _TWO_WAYS
    match asked:
        case Asked.YES_OR_NO:
            return float(yes_or_no or (b"or" in request and given <= request))
        case Asked.ONE_OF_TWO:
            return float(given <= request)
        case Asked.NUMBER:
            # A list of texts, where a program reads the answer, holds no number.
            return float('"' not in final and (bool(digits) or not _COUNT_WORDS.isdisjoint(given)))
        case Asked.DATE:
            return float(bool(digits) or not _MONTHS.isdisjoint(given))
        case Asked.NAME:
            return float(not digits and not final.islower() and len(tokens) <= _MOST_NAMED)
        case _:
            return 0.0 if yes_or_no and request.isdisjoint(_TWO_WAYS) else 0.5


def _gives_up(final: str, tokens: list[bytes], request: str) -> bool:
    if _NO_VALUE in request and final.strip("[]()\"' ") == _NO_VALUE:
        return True
    return (tokens[0] in _NOTHING and len(tokens) == 1) or holds_any(b" ".join(tokens), _GIVEN_UP)


def _computed(final: str, window: SessionWindow) -> float:
    """Measure whether the last result holds the final answer's first number, to the decimals that it has."""
    if kind_of(window) is not KindOfWork.COMPUTING:
        return 0.5
    own = _NUMBER.search(final.replace(",", ""))
    found = _NUMBER.findall(window.results[-1].body.replace(",", "")) if own and window.results else []
    if not own or not found:
        return 0.5
    decimals = len(own[0].partition(".")[2])
    value = float(own[0])
    return float(any(round(float(number), decimals) == value for number in found[-_MOST_NUMBERS:]))


def _standing(window: SessionWindow, tokens: list[bytes], asked: Asked) -> tuple[float, ...]:
    """Measure where the final answer stands in the last results."""
    results = window.results
    if not results or asked is Asked.YES_OR_NO or (len(tokens) == 1 and len(tokens[0]) == 1 and tokens[0].isalpha()):
        return (0.5, 0.5, 0.0, 0.0, 0.0)
    given = set(tokens)
    new = given - STOP_WORDS - window.request_words
    phrase = b" %b " % b" ".join(tokens)
    held = [given <= result.words and phrase in _without_articles(result.tokens) for result in results]
    sought = window.request_words - STOP_WORDS - given
    backing = [len(sought & result.words) for result, holds in zip(results, held, strict=True) if holds]
    return (
        float(True in held),
        share(len(new) - len(not_in(new, results)), len(new)) if new else 0.5,
        share(max(backing, default=0), len(sought)),
        log(sum(held)),
        float(held[-1] and len(results[-1].tokens) <= len(tokens) + 2),
    )


def _without_articles(tokens: list[bytes]) -> bytes:
    return b" %b " % b" ".join([word for word in tokens if word not in _ARTICLES])
