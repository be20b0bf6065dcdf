"""The end of a session: by what the agent notes of it, else by its last messages."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.rules import TailRules
from grader_daemon.domain.session import ASSISTANT, TOOL, USER, Ending, Message
from grader_daemon.domain.session_result import EndingKind

_STOPPED: Final = "stopped by the agent's machinery"


class SessionEnd(NamedTuple):
    """The state, what decided it, and whether an error, a limit or the end of its process cut the session short.

    `kind` is how it ended, as far as its last message or the agent's own note says so.
    """

    state: SessionState
    reason: str
    kind: EndingKind = EndingKind.LEFT
    cut_short: bool = False


class LastWord(StrEnum):
    """End of a session; cut short are an answer at a limit, and what the agent says was stopped."""

    ANSWER = "answer"
    NOTHING = "nothing"
    CUT_SHORT = "cut short"
    CALL = "call"
    RESULT = "result"
    PERSON = "person"


def read_state(
    messages: tuple[Message, ...],
    rules: TailRules,
    *,
    last_status: CallStatus | None,
    idle: bool,
    ending: Ending | None = None,
    is_handed_in: bool = False,
) -> SessionEnd:
    """Return the state, what decided it, and whether that cut the session short.

    A session that a person stopped, or that was left in the middle, is interrupted too, but was not cut short.

    Args:
        messages: of the whole session.
        rules: what the end of a session that was cut short looks like.
        last_status: of the last tool result, None without one.
        idle: nothing was written for so long that an open end stays open.
        ending: what the agent notes of the end; one that is in order says so, and how good it was the messages do.
        is_handed_in: its last call hands the work in, and worked.
    """
    told, noted = (ending.state, f" ({ending.reason})") if ending is not None else (None, "")
    if ending is not None and told is SessionState.INTERRUPTED:
        return SessionEnd(told, ending.reason, ending.kind, cut_short=ending.kind is not EndingKind.PERSON)
    if is_handed_in and told is not SessionState.OPEN:
        return SessionEnd(SessionState.COMPLETE, "handed in" + noted, EndingKind.ANSWERED)
    if messages and told is not SessionState.OPEN:
        ended = _ended_in(messages, rules, last_status, noted)
        if ended is not None:
            return ended
    if told is SessionState.COMPLETE:
        return SessionEnd(SessionState.INTERRUPTED, "ended without an answer" + noted, EndingKind.NO_ANSWER)
    if idle:
        return SessionEnd(SessionState.INTERRUPTED, "open and idle" + noted)
    return SessionEnd(SessionState.OPEN, "open" + noted)


def _ended_in(
    messages: tuple[Message, ...], rules: TailRules, last_status: CallStatus | None, noted: str
) -> SessionEnd | None:
    """Return how a session ended by its last message; None where that is no end."""
    last = messages[-1]
    if last.role == ASSISTANT and not last.tool_calls:
        cut = _cut_of(messages, rules)
        if cut is None:
            return SessionEnd(SessionState.COMPLETE, "answered" + noted, EndingKind.ANSWERED)
        kind, cause = cut
        by_person = kind is EndingKind.PERSON
        return SessionEnd(SessionState.INTERRUPTED, cause + noted, kind, cut_short=not by_person)
    if last.role == TOOL and last_status is CallStatus.INTERRUPTED:
        return SessionEnd(SessionState.INTERRUPTED, "tool call interrupted", EndingKind.PERSON)
    return None


def is_answer(last: Message, rules: TailRules) -> bool:
    """Return whether the last message of an agent holds an answer of its own, be it cut short."""
    return _no_answer(last, rules) is None


def last_word(
    messages: tuple[Message, ...], rules: TailRules, *, last_status: CallStatus | None, ending: Ending | None = None
) -> LastWord:
    """Return what a session ends in; where the agent notes that it was stopped, it was cut short, whatever came last.

    `messages`, `rules`, `last_status` and `ending` are those of `read_state`.
    """
    if ending is not None and ending.state is SessionState.INTERRUPTED:
        return LastWord.CUT_SHORT
    if not messages:
        return LastWord.NOTHING
    last = messages[-1]
    if last.role == TOOL:
        return LastWord.CUT_SHORT if last_status is CallStatus.INTERRUPTED else LastWord.RESULT
    if last.role != ASSISTANT:
        return LastWord.PERSON
    if last.tool_calls:
        return LastWord.CALL
    if not is_empty(last, rules):
        return LastWord.ANSWER if _cut_of(messages, rules) is None else LastWord.CUT_SHORT
    return LastWord.NOTHING


def is_empty(answer: Message, rules: TailRules) -> bool:
    """Return whether a message of the agent says nothing."""
    return answer.text.strip() in rules.empty_answers


def is_stopped(last: Message, rules: TailRules) -> bool:
    """Return whether a person stopped the agent, which its machinery notes in the place of an answer."""
    return last.finish_reason is None and last.text.strip().startswith(rules.stopped_answers)


def _cut_of(messages: tuple[Message, ...], rules: TailRules) -> tuple[EndingKind, str] | None:
    """Return how a session that ends in the agent's message was cut short, and what says so; None if it answered."""
    last = messages[-1]
    if last.finish_reason in rules.interrupted_finish_reasons:
        kind = EndingKind.ERROR if last.finish_reason == "content_filter" else EndingKind.LIMIT
        return kind, f"finish_reason={last.finish_reason}"
    no_answer = _no_answer(last, rules)
    if no_answer is not None:
        return no_answer
    if len(messages) > 1:
        before = messages[-2]
        if before.role == USER and before.text.startswith(rules.iteration_limit_prompts):
            return EndingKind.LIMIT, "iteration limit"
    return None


def _no_answer(last: Message, rules: TailRules) -> tuple[EndingKind, str] | None:
    if is_empty(last, rules):
        return EndingKind.NO_ANSWER, "empty answer"
    if is_stopped(last, rules):
        return EndingKind.PERSON, _STOPPED
    if last.finish_reason is None and last.text.strip().startswith(rules.interrupted_answers):
        return EndingKind.ERROR, _STOPPED
    return None
