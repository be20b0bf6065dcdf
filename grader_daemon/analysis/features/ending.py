"""How a session ends: with an answer, in the middle, or with what the agent was about to do."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.session import ASSISTANT, TOOL

FEATURES: Final = (
    Feature("cut_off", "The session was stopped before its work was done, or has not ended yet."),
    Feature("answered", "The last message is text of the agent, and no call.", 0.5),
    Feature(
        "unfinished", "It ends in a call, a person's message, nothing, a call that was never made, or at a limit.", -1
    ),
    Feature("announced", "The last sentences announce a next step.", -0.5),
    Feature("unmade_call", "The last text holds a tool call that was never made.", -0.5),
    Feature("closed", "One of the last calls hands the work in (finish, submit, …).", 1),
    Feature("asks_back", "The last text ends in a question."),
)

_UNMADE = ("<tool", "<function", "<execute", "<invoke", "tool_call", '"arguments":', '"name":')
_LIMIT_WORDS = frozenset(b"exceeded turns turn limit ran".split())
_LIMITS = (b"exceeded", b"max turns", b"turn limit", b"step limit", b"limit reached", b"ran out of")
_NEXT = frozenset(b"let lets ill will next going need".split())
_LAST_SENTENCES = 250
_CLOSERS = " \t\r\n*_`\"')]"


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    last = window.last
    is_text = last is not None and last.role == ASSISTANT and not last.tool_calls
    answered = is_text and bool(last is not None and last.text.strip())
    closed = Purpose.HAND_IN in [call.effect for call in window.calls[-3:]]
    unmade = holds_any(window.answer, _UNMADE)
    at_limit = not _LIMIT_WORDS.isdisjoint(window.answer_words) and holds_any(window.answer_plain, _LIMITS)
    handed_in = closed and last is not None and last.role == TOOL
    return (
        float(window.cut_off),
        float(answered),
        float(unmade or at_limit or not (answered or handed_in)),
        float(not _NEXT.isdisjoint(window.answer_plain[-_LAST_SENTENCES:].split())),
        float(unmade),
        float(closed),
        float(window.answer[-40:].rstrip(_CLOSERS).endswith("?")),
    )
