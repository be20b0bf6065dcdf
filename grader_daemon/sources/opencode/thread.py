"""The messages and parts of OpenCode to a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import (
    ASSISTANT,
    USER,
    Ending,
    FunctionCall,
    Message,
    Session,
    SessionKind,
    ToolCall,
    Usage,
    usage_by_model,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.decoding import moment_of, token_count
from grader_daemon.sources.messages_so_far import Conversation
from grader_daemon.sources.opencode.call_states import read_state, tool_of
from grader_daemon.sources.opencode.session_parts import Head, Part, Stored, Tokens

NAME = "opencode"
"""Name of the source and of the agent, and of the format of its sessions."""

_GOES_ON = frozenset(("tool-calls", "unknown"))
"""Reasons to finish after which OpenCode asks the model again."""

_TOO_LONG = "MessageOutputLengthError"
_QUOTE = '"'


_KIN: Final = ("kilo", "mimocode")
"""Programs made from OpenCode, by the folder that each keeps its data in, which its database is named after."""


def to_session(stored: Stored, *, path: str, key: str) -> Session:
    """Return a stored session, without messages where nothing was said.

    Args:
        stored: with its messages in their order.
        path: where it was read.
        key: which of the sessions there; "" where the file holds one.
    """
    info = stored.info
    thread = _Thread()
    for head, parts in stored.messages:
        if info.revert is not None and info.revert.message_id and head.id >= info.revert.message_id:
            kept = _before(parts, info.revert.part_id) if head.id == info.revert.message_id else ()
            if kept:
                thread.add(head, kept)
            thread.taken_back.append(len(thread.messages))
            break
        thread.add(head, parts)
    heads = [head for head, _ in stored.messages]
    return Session(
        session_id=info.id,
        file=path,
        unit_key=key,
        format=NAME,
        messages=tuple(thread.messages),
        message_times=tuple(thread.times),
        reported=thread.reported,
        ending=None if thread.taken_back else _ending(heads),
        taken_back=tuple(thread.taken_back),
        model=next((head.model for head in reversed(heads) if head.model), None),
        project=info.directory,
        parent=info.parent_id,
        kind=SessionKind.MAIN if info.parent_id is None else SessionKind.SUB_AGENT,
        agent=next((kin for kin in _KIN if f"/{kin}/" in path or path.endswith(f"/{kin}.db")), NAME),
        agent_version=info.version,
        usage=usage_by_model(
            _tokens(head.tokens, head.model)
            for head in heads
            if head.tokens is not None and (head.time.completed is not None or head.finish is not None)
        ),
        cost_usd=_cost(info.cost, heads),
        started_at=moment_of(info.time.created),
        updated_at=max(
            filter(None, (moment_of(time) for head in heads for time in (head.time.created, head.time.completed))),
            default=moment_of(info.time.updated),
        ),
    )


class _Thread(Conversation):
    """Messages so far."""

    def add(self, head: Head, parts: Sequence[Part]) -> None:
        """Add a message; one that the machinery wrote is left out."""
        said = "\n".join(
            part.text for part in parts if part.type == "text" and part.text and not (part.synthetic or part.ignored)
        )
        if head.role == USER:
            if said:
                self.append(Message(role=USER, content=_unquoted(said)), moment_of(head.time.created))
        elif head.role == ASSISTANT and head.summary is not True:
            self._add_answer(head, said, [part for part in parts if part.type == "tool"])

    def _add_answer(self, head: Head, said: str, calls: Sequence[Part]) -> None:
        made = tuple(ToolCall(part.call_id, FunctionCall(tool_of(part), _arguments(part))) for part in calls)
        if not said and not made and head.finish is None:
            return  # it has not answered yet, or never did
        answer = Message(role=ASSISTANT, content=said or None, tool_calls=made or None, finish_reason=head.finish)
        self.append(answer, moment_of(head.time.created))
        for part in calls:
            result = read_state(part)
            if result is None or part.state is None:
                continue
            ended = moment_of(part.state.time.end) or moment_of(head.time.created)
            self.append_result(*result, ended, call_id=part.call_id, tool=tool_of(part))


def _before(parts: Sequence[Part], part_id: str | None) -> tuple[Part, ...]:
    return tuple(part for part in parts if part_id is not None and part.id < part_id)


def _arguments(part: Part) -> dict[str, object] | None:
    return None if part.state is None else part.state.input


def _unquoted(text: str) -> str:
    """Remove the quotes that `opencode run` sets around a prompt of several words."""
    bare = text[1:-1]
    is_quoted = len(text) > 1 and text[0] == text[-1] == _QUOTE and " " in bare and _QUOTE not in bare
    return bare if is_quoted else text


def _ending(heads: Sequence[Head]) -> Ending | None:
    if not heads or heads[-1].role != ASSISTANT:
        return None
    last = heads[-1]
    if last.error is not None:
        if last.error.name == "MessageAbortedError":
            return Ending(SessionState.INTERRUPTED, "aborted", EndingKind.PERSON)
        kind = EndingKind.LIMIT if last.error.name == _TOO_LONG else EndingKind.ERROR
        return Ending(SessionState.INTERRUPTED, last.error.name or "error", kind)
    if last.time.completed is None:
        return Ending(SessionState.OPEN, "not completed")
    if last.finish is None or last.finish in _GOES_ON or last.summary is True:
        return None
    return Ending(SessionState.COMPLETE, f"finish={last.finish}")


def _tokens(tokens: Tokens, model: str | None) -> Usage:
    """OpenCode counts what came from a cache, and reasoning, apart from the other tokens."""
    output, reasoning = token_count(tokens.output), token_count(tokens.reasoning)
    return Usage(
        model=model,
        input_tokens=token_count(tokens.input),
        cache_read_tokens=token_count(tokens.cache.read),
        cache_write_tokens=token_count(tokens.cache.write),
        output_tokens=None if output is None else output + (reasoning or 0),
        reasoning_tokens=reasoning,
    )


def _cost(whole: float | None, heads: Iterable[Head]) -> float | None:
    """Return the price; where OpenCode knows none it writes 0, which is not known to be the price."""
    cost = sum(head.cost or 0.0 for head in heads) if whole is None else whole
    return cost if 0 < cost < float("inf") else None
