"""How a session ended: by what the agent notes of it, else by its last messages."""

from __future__ import annotations

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.rules import TailRules
from grader_daemon.domain.session import ASSISTANT, TOOL, USER, Ending, Message, Session


def read_state(
    messages: tuple[Message, ...],
    rules: TailRules,
    *,
    last_status: CallStatus | None,
    idle: bool,
    ending: Ending | None = None,
) -> tuple[SessionState, str]:
    """Return the state and what decided it.

    Args:
        messages: of the whole session.
        rules: what the end of a session that was cut short looks like.
        last_status: of the last tool result, None without one.
        idle: nothing was written for so long that an open end stays open.
        ending: what the agent notes of the end; one that is in order says so, and how good it was the messages do.
    """
    told, noted = (ending.state, f" ({ending.reason})") if ending is not None else (None, "")
    if ending is not None and told is SessionState.INTERRUPTED:
        return told, ending.reason
    if messages and told is not SessionState.OPEN:
        last = messages[-1]
        if last.role == ASSISTANT and not last.tool_calls:
            cause = _why_cut_short(messages, rules)
            return (SessionState.INTERRUPTED, cause + noted) if cause else (SessionState.COMPLETE, "answered" + noted)
        if last.role == TOOL and last_status is CallStatus.INTERRUPTED:
            return SessionState.INTERRUPTED, "tool call interrupted"
    if told is SessionState.COMPLETE:
        return SessionState.INTERRUPTED, "ended without an answer" + noted
    if idle:
        return SessionState.INTERRUPTED, "open and idle" + noted
    return SessionState.OPEN, "open" + noted


def is_answer(last: Message, rules: TailRules) -> bool:
    """Whether the last message of an agent holds an answer of its own, be it cut short."""
    return _why_no_answer(last, rules) is None


def is_cut_off(session: Session, state: SessionState, *, last_status: CallStatus | None) -> bool:
    """Whether a session was stopped, or goes on, before its work was done.

    One that ends in the result of a call is, if the model is known to have waited for it (``finish_reason``, or the
    agent notes outcomes): there are agents whose last result is their answer, and these note no such reason. A call
    that was interrupted is none, nor is the last one where the agent notes that it was stopped or goes on.
    """
    if state is SessionState.COMPLETE:
        return False
    messages, ending = session.messages, session.ending
    if not messages or messages[-1].role != TOOL or last_status is CallStatus.INTERRUPTED:
        return True
    if ending is not None:
        return ending.state is not SessionState.COMPLETE
    caller = next((message for message in reversed(messages) if message.role == ASSISTANT), None)
    return bool(session.reported) or (caller is not None and caller.finish_reason is not None)


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
    text = last.text.strip()
    if not text or text in rules.empty_answers:
        return "empty answer"
    if last.finish_reason is None and text.startswith(rules.interrupted_answers):
        return "stopped by the agent's machinery"
    return None
