"""Features of a session's end: who has the last word, and what that is.

None of it decides by itself, for what an end means depends on who records it: some harnesses end every talk with a
person's word, or leave out the result of the call that hands the work in.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.analysis.features.turns_of_people import is_content
from grader_daemon.analysis.session_state import LastWord
from grader_daemon.analysis.tool_calls import CHANGING
from grader_daemon.analysis.tool_calls.hand_in import is_hand_in
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("answered", "The session ends in an answer that is neither empty nor cut off.", 0.5),
    Feature(
        "unfinished",
        "The session ends without an answer: in a call or its result, at a limit, or in a person's message.",
        -1,
    ),
    Feature("says_nothing", "The session ends in an empty answer, or has no message.", -1),
    Feature("cut_short", "The last answer was cut off, a limit was reached, or the agent recorded a stop.", -1),
    Feature("call_last", "The session ends in a call without a result.", -0.5),
    Feature("write_last", "The session ends in a call that writes or changes something, without an answer."),
    Feature("failure_last", "The session ends in the result of a failed call.", -1),
    Feature("closed", "One of the last calls submits the work (finish, submit, …).", 1),
    Feature("announced", "The last sentences announce a next step.", -0.5),
    Feature("unmade_call", "The last text contains a tool call that was never made.", -0.5),
    Feature("asks_back", "The last text ends in a question."),
    Feature(
        "unanswered", "A person's last message has no answer, and is neither thanks, a goodbye nor acceptance.", -0.5
    ),
    Feature("handed_over", "The agent hands the person over to a human colleague.", -0.5),
)

_UNMADE = ("<tool", "<function", "<execute", "<invoke", "tool_call", '"arguments":', '"name":')
_LIMIT_WORDS = frozenset(b"exceeded turns turn limit ran".split())
_LIMITS = (b"exceeded", b"max turns", b"turn limit", b"step limit", b"limit reached", b"ran out of")
_NEXT = frozenset(b"let lets ill will next going need".split())
_LAST_SENTENCES = 250
_CLOSERS = " \t\r\n*_`\"')]"
_HUMANS = frozenset(b"human representative specialist supervisor department colleague".split())
_HANDING = frozenset(
    b"transfer transferred transferring escalate escalated escalating connect connecting connected contact hold".split()
)
_TO_HUMANS = ("transfer_to_human", "escalate", "human_agent", "hand_over", "handover")


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    end = window.end
    tail = _tail(window)
    closed = hands_in(window)
    unmade = holds_any(window.answer, _UNMADE)
    at_limit = not _LIMIT_WORDS.isdisjoint(window.answer_words) and holds_any(window.answer_plain, _LIMITS)
    in_work = end in (LastWord.CALL, LastWord.RESULT)
    nothing, cut, by_person = end is LastWord.NOTHING, end is LastWord.CUT_SHORT or at_limit, end is LastWord.PERSON
    handed_over = is_handed_over(window)
    unanswered = by_person and not handed_over and not is_content(window)
    failed = end is LastWord.RESULT and bool(window.results) and window.results[-1].status is CallStatus.FAILURE
    return (
        float(end is LastWord.ANSWER),
        float(unmade or cut or nothing or unanswered or (in_work and not closed)),
        float(nothing),
        float(cut),
        float(end is LastWord.CALL),
        float(in_work and bool(window.effects) and window.effects[-1] in CHANGING),
        float(failed),
        float(closed),
        float(not _NEXT.isdisjoint(tail)),
        float(unmade),
        float(window.answer[-40:].rstrip(_CLOSERS).endswith("?")),
        float(unanswered),
        float(handed_over),
    )


def _tail(window: SessionWindow) -> list[bytes]:
    """Return the words of the last sentences of the answer."""
    if len(window.answer_plain) <= _LAST_SENTENCES:
        return window.answer_tokens
    return window.answer_plain[-_LAST_SENTENCES:].split()


def hands_in(window: SessionWindow) -> bool:
    """Return whether one of the last calls hands the work in."""
    return any(map(is_hand_in, window.calls[-3:], window.effects[-3:]))


def is_handed_over(window: SessionWindow) -> bool:
    """Return whether the last words, or the last call, hand over to people."""
    if window.tools and holds_any(window.tools[-1].lower(), _TO_HUMANS):
        return True
    said = window.people_words[-1] if window.end is LastWord.PERSON and window.people_words else _tail(window)
    return not _HUMANS.isdisjoint(said) and not _HANDING.isdisjoint(said)
