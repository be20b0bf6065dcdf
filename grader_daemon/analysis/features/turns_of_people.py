"""Features of what people say after their request.

Simulated and real people alike; who is a person decides the analyzer.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.domain.people import ACCEPTING, OBJECTING, SignalKind
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("messages", "Number of messages by people after the request.", 0, 12),
    Feature("complaints", "Share of people's messages after the request that say something is wrong.", -0.5),
    Feature("objected", "The last comment by a person says that something is wrong.", -1),
    Feature("accepted", "The last comment by a person accepts the work.", 0.5),
    Feature("took_leave", "The last message by a person is thanks or a goodbye, and no question.", 0.5),
    Feature("asked_last", "The last message by a person is a question.", 0),
    Feature("said_last", "Words in the last message by a person.", 0, 12),
)

_WRONG = frozenset(b"wrong incorrect bad mistake misunderstood undo".split())
_STILL = (b"doesnt work", b"not work", b"still not", b"still get", b"still broken", b"dont understand", b"not correct")
_THANKS = frozenset(b"thanks thank perfect great appreciate excellent awesome wonderful bye goodbye cheers".split())
_QUESTIONS = frozenset(b"what how why when which where who could can would".split())
_GOODBYES = (b"nice day", b"good day", b"take care", b"thats all", b"that is all", b"that will be all", b"all set")


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    wrong = list(map(_is_wrong, *_after_request(window)))
    signal = window.signals[-1].kind if window.signals else None
    return (
        log(max(window.count_people - 1, 0)),
        share(sum(wrong), len(wrong)),
        float((signal in OBJECTING or wrong[-1:] == [True]) and not is_content(window)),
        float(signal is SignalKind.ACCEPTANCE and wrong[-1:] != [True]),
        float(_takes_leave(window)),
        float(not _QUESTIONS.isdisjoint(window.people_words[-1]) if wrong else 0),
        log(len(window.people_words[-1]) if wrong else 0),
    )


def is_content(window: SessionWindow) -> bool:
    """Return whether a person's last message after the request is thanks, a goodbye or acceptance, and no question."""
    accepts = any(signal.index >= window.said_at and signal.kind in ACCEPTING for signal in window.signals[-1:])
    return _takes_leave(window) or (accepts and _is_calm(window))


def _takes_leave(window: SessionWindow) -> bool:
    if not _is_calm(window):
        return False
    if any(signal.index >= window.said_at and signal.kind is SignalKind.THANKS for signal in window.signals[-1:]):
        return True
    return not _THANKS.isdisjoint(window.people_words[-1]) or holds_any(window.people[-1], _GOODBYES)


def _is_calm(window: SessionWindow) -> bool:
    """Return whether a person wrote after the request, and last neither a complaint nor a question."""
    said, words = _after_request(window)
    return bool(said) and not _is_wrong(said[-1], words[-1]) and "?" not in window.last_said


def _after_request(window: SessionWindow) -> tuple[list[bytes], list[set[bytes]]]:
    """Return what people said last, without the request, and the words of each."""
    first = 1 if window.count_people == len(window.people) else 0
    return window.people[first:], window.people_words[first:]


def _is_wrong(said: bytes, found: set[bytes]) -> bool:
    return not _WRONG.isdisjoint(found) or holds_any(said, _STILL)
