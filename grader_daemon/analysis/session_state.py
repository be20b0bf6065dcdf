"""The end of a session: by what the agent notes of it, else by its last messages."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.rules import TailRules
from grader_daemon.domain.session import ASSISTANT, TOOL, USER, Ending, Message


class SessionEnd(NamedTuple):
    """The state, what decided it, and whether an error, a limit or the end of its process cut the session short."""

    state: SessionState
    reason: str
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
) -> SessionEnd:
    """Return the state, what decided it, and whether that cut the session short.

    A session that a person stopped, or that was left in the middle, is interrupted too, but was not cut short.

    Args:
        messages: of the whole session.
        rules: what the end of a session that was cut short looks like.
        last_status: of the last tool result, None without one.
        idle: nothing was written for so long that an open end stays open.
        ending: what the agent notes of the end; one that is in order says so, and how good it was the messages do.
    """
    told, noted = (ending.state, f" ({ending.reason})") if ending is not None else (None, "")
    if ending is not None and told is SessionState.INTERRUPTED:
        return SessionEnd(told, ending.reason, cut_short=not ending.by_person)
    if messages and told is not SessionState.OPEN:
        last = messages[-1]
        if last.role == ASSISTANT and not last.tool_calls:
            cause = _why_cut_short(messages, rules)
            if cause is None:
                return SessionEnd(SessionState.COMPLETE, "answered" + noted)
            stopped = is_stopped(last, rules)
            return SessionEnd(SessionState.INTERRUPTED, cause + noted, cut_short=not stopped)
        if last.role == TOOL and last_status is CallStatus.INTERRUPTED:
            return SessionEnd(SessionState.INTERRUPTED, "tool call interrupted")
    if told is SessionState.COMPLETE:
        return SessionEnd(SessionState.INTERRUPTED, "ended without an answer" + noted)
    if idle:
        return SessionEnd(SessionState.INTERRUPTED, "open and idle" + noted)
    return SessionEnd(SessionState.OPEN, "open" + noted)


def is_answer(last: Message, rules: TailRules) -> bool:
    """Return whether the last message of an agent holds an answer of its own, be it cut short."""
    return _why_no_answer(last, rules) is None


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
        return LastWord.ANSWER if _why_cut_short(messages, rules) is None else LastWord.CUT_SHORT
    return LastWord.NOTHING


def is_empty(answer: Message, rules: TailRules) -> bool:
    """Return whether a message of the agent says nothing."""
    return answer.text.strip() in rules.empty_answers


def is_stopped(last: Message, rules: TailRules) -> bool:
    """Return whether a person stopped the agent, which its machinery notes in the place of an answer."""
    return last.finish_reason is None and last.text.strip().startswith(rules.stopped_answers)


def _why_cut_short(messages: tuple[Message, ...], rules: TailRules) -> str | None:
    last = messages[-1]
    if last.finish_reason in rules.interrupted_finish_reasons:
        return f"finish_reason={last.finish_reason}"
    no_answer = _why_no_answer(last, rules)
    if no_answer is not None:
        return no_answer
    if len(messages) > 1:
        before = messages[-2]
        if before.role == USER and before.text.startswith(rules.iteration_limit_prompts):
            return "iteration limit"
    return None


def _why_no_answer(last: Message, rules: TailRules) -> str | None:
    if is_empty(last, rules):
        return "empty answer"
    if is_stopped(last, rules) or (
        last.finish_reason is None and last.text.strip().startswith(rules.interrupted_answers)
    ):
        return "stopped by the agent's machinery"
    return None
