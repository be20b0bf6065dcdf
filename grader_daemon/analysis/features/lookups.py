"""Features of lookups: what was found, what was asked for, whether the query has what the question needs."""

from __future__ import annotations

import re
from itertools import chain, filterfalse
from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.final_answer import STOP_WORDS
from grader_daemon.analysis.features.session_window import RecentResult, SessionWindow, as_words, not_in
from grader_daemon.analysis.tool_calls import CHANGING, Purpose
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("missed", "Share of the last results that say that nothing was found.", -1),
    Feature("missed_last", "The last result says that nothing was found.", -1),
    Feature("names_seen", "Share of the request's names and numbers that are in the last results.", 0.5),
    Feature("names_called", "Share of the request's names and numbers that are in the last calls.", 0.5),
    Feature("names_answered", "Share of the request's names and numbers that are in the answer.", 0),
    Feature("second_step", "The last call uses words from earlier results that are not in the request.", 0.5),
    Feature("call_new", "Share of the last call's words that are neither in the request nor in earlier results.", -0.5),
    Feature("gap_told", "The agent's last texts say that something was not found or is unknown.", -1),
    Feature("query_parts", "Conditions, joins and pipes in the last query or command.", -0.5, 12),
    Feature(
        "query_fits", "Share of the requested operations (count, order, group, …) in the last query or command.", 1
    ),
    Feature("rows_fit", "The result has one row for one thing, or several for a list, as requested.", 0.5),
    Feature("many_columns", "The result has more columns than requested.", -1),
    Feature("ordered_undone", "The request asks for a change, and no call changed anything.", -1),
)

_NEGATIONS = frozenset(b"no not empty doesnt couldnt didnt cannot".split())
_NONE_FOUND = (
    *(b"could not find", b"no results", b"not found", b"no match", b"nothing found", b"no data", b"no records"),
    *(b"not exist", b"doesnt exist", b"empty set"),
)
_ZERO = (": 0", ":0", ": []", ":[]")
_EMPTY_LIST = re.compile(r'"(?:total|count)": ?0(?![.\d])|": ?\[\]')
_NOTHING = frozenset([b"none", b"null", b"nan"])
_GAP = (
    *(b"not mention", b"no information", b"not found", b"not find", b"not provide", b"not specif", b"no results"),
    *(b"no relevant", b"not yield", b"not contain", b"not available", b"not reveal", b"not clear", b"no mention"),
    *(b"nt find", b"nt mention", b"nt provide", b"nt specify", b"not enough"),
)
_PARTS = frozenset(b"join and or where group having select not in union intersect except order limit".split())
_NEEDS: Final = tuple(
    (frozenset(asked.split()), frozenset(done.split()))
    for asked, done in (
        (b"many number count", b"count wc len sum length"),
        (b"average mean", b"avg mean sum average"),
        (b"distinct different unique", b"distinct group uniq unique set"),
        (b"each every per", b"group for per xargs exec"),
        (
            b"most least highest lowest largest smallest maximum minimum oldest youngest longest shortest latest top",
            b"max min order sort sorted head tail limit",
        ),
        (b"order sorted ascending descending alphabetical alphabetically", b"order sort sorted"),
        (b"both", b"intersect and all join exists having"),
        (b"without except never", b"not except left"),
    )
)
_ONE = frozenset(b"many average total maximum minimum highest lowest oldest youngest most least".split())
_SEVERAL = frozenset(b"all each every list names different distinct".split())
_ORDERS = frozenset(
    b"order book cancel record send schedule add remove delete create update change set move pay return post".split()
)
_ACTING: Final = CHANGING | {Purpose.RUN}


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    missed = list(map(_found_nothing, window.results))
    query, since = _last_query(window)
    last = set(query)
    new = last - window.request_words - STOP_WORDS
    unseen = not_in(new, window.results[:-since])
    return (
        share(sum(missed), len(missed)),
        float(bool(missed) and missed[-1]),
        *_of_names(window, _names(window.request)),
        float(len(unseen) < len(new)),
        share(len(unseen), len(last)),
        float(any(map(_tells_gap, window.said[-2:], window.said_words[-2:]))),
        *_of_query(window, query, last),
        float(_is_undone(window)),
    )


def _of_names(window: SessionWindow, names: set[bytes]) -> tuple[float, float, float]:
    """Return the shares of these names that results, calls and the answer have."""
    count = len(names)
    if not count:
        return 0.0, 0.0, 0.0
    return (
        share(count - len(not_in(names, window.results)), count),
        share(len(names.intersection(chain.from_iterable(window.called))), count),
        share(len(names & window.answer_words), count),
    )


def _last_query(window: SessionWindow) -> tuple[list[bytes], int]:
    """Return the words of the last call that does not hand in, and which call from the end it is, 1 for the last."""
    for place, words in enumerate(reversed(window.called), 1):
        if window.effects[-place] is not Purpose.HAND_IN:
            return words, place
    return [], 1


def _found_nothing(result: RecentResult) -> bool:
    if len(result.tokens) <= 1 and _NOTHING.issuperset(result.tokens):
        return True
    if not _NEGATIONS.isdisjoint(result.words) and holds_any(result.plain, _NONE_FOUND):
        return True
    return '":' in result.body and holds_any(result.body, _ZERO) and _EMPTY_LIST.search(result.body) is not None


def _tells_gap(said: bytes, found: set[bytes]) -> bool:
    return not _NEGATIONS.isdisjoint(found) and holds_any(said, _GAP)


def _names(request: str) -> set[bytes]:
    """Return the words of a request that have capitals or digits."""
    return set(as_words(" ".join(filterfalse(str.islower, request.split()))).split()) - STOP_WORDS


def _of_query(window: SessionWindow, query: list[bytes], given: set[bytes]) -> tuple[float, ...]:
    """Measure whether the last call that runs something, and its result, fit the request."""
    if Purpose.RUN not in window.effects[-2:]:
        return (0.0, 0.5, 0.5, 0.0)
    asked = window.request_words
    needed = [not done.isdisjoint(given) for sign, done in _NEEDS if not sign.isdisjoint(asked)]
    return (
        log(sum([word in _PARTS for word in query])),
        share(sum(needed), len(needed)) if needed else 0.5,
        _rows_fit(window),
        float(_has_many_columns(window)),
    )


def _rows_fit(window: SessionWindow) -> float:
    one, several = not _ONE.isdisjoint(window.request_words), not _SEVERAL.isdisjoint(window.request_words)
    if one is several or not window.results:
        return 0.5
    body = window.results[-1].body.strip()
    return float(("\n" in body or "), (" in body) is several)


def _has_many_columns(window: SessionWindow) -> bool:
    """Return whether the last result, rows of a database, has more columns than the request may name."""
    row = window.results[-1].body.partition("\n")[0] if window.results else ""
    columns = row.partition(")")[0].rstrip(",").count(",") if row.startswith("[(") else row.strip("| ").count("|")
    return columns > window.request.count(",") + window.request.count(" and ")


def _is_undone(window: SessionWindow) -> bool:
    if _ORDERS.isdisjoint(window.request_words) or window.about_files:
        return False
    return _ACTING.isdisjoint(window.effects)
