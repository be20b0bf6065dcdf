"""What people say after their request, and what the record says of the answer that they get.

Simulated and real people alike; who is a person decides the analyzer.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.domain.claims import Support
from grader_daemon.domain.people import ACCEPTING, OBJECTING
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("messages", "Messages of people after the request.", 0, 12),
    Feature("complaint_last", "The last of them says that something is wrong.", -1),
    Feature("complaints", "Share of them that say that something is wrong.", -0.5),
    Feature("thanks", "The last of them is grateful or content.", 0.5),
    Feature("asked_last", "The last of them asks.", 0),
    Feature("said_last", "Words in the last of them.", 0, 12),
    Feature("claims", "Claims of the answer.", 0, 12),
    Feature("claims_verified", "Share of them that the record shows.", 0.5),
    Feature("claims_unsupported", "Share of them of which the record shows nothing.", -0.5),
    Feature("claim_contradicted", "The record shows the opposite of one.", -1),
    Feature("objected", "The last signal of a person objects.", -1),
    Feature("accepted", "The last signal of a person accepts.", 0.5),
)

_WRONG = frozenset(b"wrong incorrect bad mistake misunderstood undo".split())
_STILL = (b"doesnt work", b"not work", b"still not", b"still get", b"still broken", b"dont understand", b"not correct")
_CONTENT = frozenset(b"thanks thank perfect great appreciate excellent".split())
_QUESTIONS = frozenset(b"what how why when which where who could can would".split())


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    first = 1 if window.count_people == len(window.people) else 0
    wrong = list(map(_is_wrong, window.people[first:], window.people_words[first:]))
    last = window.people_words[-1] if wrong else set()
    support = [claim.support for claim in window.claims]
    signal = window.signals[-1].kind if window.signals else None
    return (
        log(max(window.count_people - 1, 0)),
        float(bool(wrong) and wrong[-1]),
        share(sum(wrong), len(wrong)),
        float(not _CONTENT.isdisjoint(last) and not wrong[-1]),
        float(not _QUESTIONS.isdisjoint(last)),
        log(len(last)),
        log(len(support)),
        share(support.count(Support.VERIFIED), len(support)),
        share(support.count(Support.UNSUPPORTED), len(support)),
        float(Support.CONTRADICTED in support),
        float(signal in OBJECTING),
        float(signal in ACCEPTING),
    )


def _is_wrong(said: bytes, found: set[bytes]) -> bool:
    return not _WRONG.isdisjoint(found) or holds_any(said, _STILL)
