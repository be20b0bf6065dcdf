"""Calls that hand the work in: tools that are there for it, and the words by which it is done in a shell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grader_daemon.analysis.tool_calls.call_view import CallView, view_of
from grader_daemon.analysis.tool_calls.tools import Purpose
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.session import ASSISTANT, TOOL, Message

_SUBMITS: Final = ('"submit"', '"submit ', '"finish"', "COMPLETE_TASK", "complete_task(", "SUBMIT_FINAL")
"""Signs that the work is handed in where the only tool is a shell or an interpreter."""

_SHORT_CALL: Final = 200
_NAME: Final = frozenset(
    "finish submit complete done final conclude terminate answer attempt completion task work result solution".split()
)
"""Words of tools that hand in and do nothing else; `submit_order` is another one."""


def is_hand_in(call: CallView, effect: Purpose) -> bool:
    """Return whether a call may hand the work in, by the verb of its tool or what it runs."""
    return effect is Purpose.HAND_IN or _submits(call, effect)


def handed_in_at(messages: Sequence[Message], last_status: CallStatus | None) -> int | None:
    """Return the message that ends a session by handing the work in, with words beside it; None if it goes on.

    `last_status` is that of the last tool result: one that failed hands nothing in.
    """
    place = len(messages) - 1
    while place >= 0 and messages[place].role == TOOL:
        place -= 1
    if place < 0 or place == len(messages) - 1 or messages[place].role != ASSISTANT:
        return None
    message = messages[place]
    if last_status is not CallStatus.SUCCESS or not message.text.strip():
        return None
    return place if any(_ends_work(view_of(wire)) for wire in message.tool_calls or ()) else None


def _ends_work(call: CallView) -> bool:
    return call.words <= _NAME if call.effect is Purpose.HAND_IN else _submits(call, call.effect)


def _submits(call: CallView, effect: Purpose) -> bool:
    return effect is Purpose.RUN and len(call.text) < _SHORT_CALL and holds_any(call.text, _SUBMITS)
