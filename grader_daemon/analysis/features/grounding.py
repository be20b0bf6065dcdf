"""How the answer rests on what was asked and on what the tools gave: words and numbers that occur in both."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.kind_of_work import KindOfWork, kind_of
from grader_daemon.analysis.features.session_window import SessionWindow, numbers

FEATURES: Final = (
    Feature(
        "numbers_seen", "Share of the answer's numbers, beyond those asked, in the last results; 0.5 without any.", 1
    ),
    Feature("all_numbers_seen", "All of the answer's numbers, beyond those asked, stand in the last results.", 0.5),
    Feature("numbers", "Numbers in the answer.", 0, 12),
    Feature("last_number_seen", "The answer's last number stands in the last result.", 0.5),
    Feature("last_number_asked", "The answer's last number stands in the request."),
    Feature("results_agree", "Two of the last results give the same number, which was not asked.", 0.5),
    Feature("words_asked", "Share of the answer's words that the request has.", 0.5),
    Feature("words_seen", "Share of the answer's words that the last results have."),
    Feature("words_new", "Share of the answer's words that neither has.", -1),
    Feature("request_answered", "Share of the request's words that the answer has."),
    Feature("request_seen", "Share of the request's words that the last results have."),
    Feature("request_called", "Share of the request's words that the last call has."),
    Feature("call_answered", "Share of the last call's words that the answer has."),
    Feature("words_seen_files", "The answer's words that the last results have, where files are worked on.", 0.5),
    Feature("request_seen_files", "The request's words that the last results have, where files are worked on.", 0.5),
    Feature("words_seen_lookup", "The answer's words that the last results have, where things are looked up.", 0.5),
    Feature("request_seen_lookup", "The request's words that the last results have, where things are looked up.", 0.5),
)


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    answer, request = window.answer_words, window.request_words
    results = [result.words for result in window.results]
    seen = set().union(*results[-3:])
    asked = numbers(request)
    given = window.answer_numbers
    new = given - asked
    known = new & seen
    called = set(window.called[-1]) if window.called else set()
    last_number = next((word for word in reversed(window.answer_tokens) if word in given), None) if given else None
    both = answer & request
    answer_seen = answer & seen
    words_seen, request_seen = share(len(answer_seen), len(answer)), share(len(request & seen), len(request))
    unheard = len(answer) - len(answer_seen) - len(both) + len(both & answer_seen)
    return (
        share(len(known), len(new)) if new else 0.5,
        float(bool(new) and known == new),
        log(len(given)),
        float(bool(results) and last_number in results[-1]),
        float(last_number in asked),
        float(_agree(results[-6:], asked)),
        share(len(both), len(answer)),
        words_seen,
        share(unheard, len(answer)),
        share(len(both), len(request)),
        request_seen,
        share(len(called & request), len(request)),
        share(len(called & answer), len(called)),
        *_by_kind(window, words_seen, request_seen),
    )


def _by_kind(window: SessionWindow, words_seen: float, request_seen: float) -> tuple[float, ...]:
    kind = kind_of(window)
    files, lookup = kind is KindOfWork.FILES, kind is KindOfWork.LOOKUP
    return (words_seen * files, request_seen * files, words_seen * lookup, request_seen * lookup)


def _agree(results: list[set[bytes]], asked: set[bytes]) -> bool:
    """Does the last result share a number with one of those before?"""
    found = numbers(results[-1]) - asked if len(results) > 1 else set()
    return bool(found) and not all(map(found.isdisjoint, results[:-1]))
