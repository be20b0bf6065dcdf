"""Build a `Session` from its rows in Hermes' ``state.db`` (schemas 11 to 30).

Rows that a person took back (``active`` 0, ``compacted`` 0) are left out and their places noted. Those that a
compaction in place replaced (``compacted`` 1) count as the work that they were, and its summary does not. Tokens and
money of the links of a compression chain are summed up in the newest, which alone has rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.session import (
    TOOL,
    USER,
    Content,
    Ending,
    Message,
    Part,
    ReportedOutcome,
    Session,
    SessionKind,
    ToolCall,
    Usage,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.errors import ParseError
from grader_daemon.sources.decoding import UNREADABLE, decoded_or, mending, name_of
from grader_daemon.sources.hermes import snapshot
from grader_daemon.sources.hermes.state_records import (
    EPOCH,
    Delegation,
    MessageRow,
    SessionRow,
    Stored,
    UsageRow,
    count_of,
    moment,
)

AUTOMATIC_ENDS = frozenset(
    {
        "agent_close", "ws_orphan_reap", "superseded_by_resume", "startup_orphan_reap", "tui_shutdown", "ws_disconnect",
        "idle_timeout", "lru_evict",
    }
)  # fmt: skip
"""Reasons with which Hermes itself ends sessions that may go on."""

COMPRESSION = "compression"
_KINDS = {"cron": SessionKind.CRON, "subagent": SessionKind.SUB_AGENT, "tool": SessionKind.SUB_AGENT}
"""Kind by `source`; "tool" is of programs that have sessions of their own."""

_PARTS = "\0json:"
_PARTS_OF: msgspec.json.Decoder[Content] = msgspec.json.Decoder(tuple[str | Part, ...] | str | Part | None)
_CALLS: msgspec.json.Decoder[tuple[ToolCall, ...] | None] = msgspec.json.Decoder(tuple[ToolCall, ...] | None)
_NO_MESSAGES = "no message was recorded"
_DELEGATED = {"completed": CallStatus.SUCCESS, "failed": CallStatus.FAILURE, "error": CallStatus.FAILURE}
_PRICED = frozenset({"estimated", "actual", "included"})
"""Values of `cost_status` for a known price. A price of 0 is one only then: "included" is in a subscription."""


class Telling(NamedTuple):
    """The rows that count, as messages."""

    messages: tuple[Message, ...]
    times: tuple[datetime | None, ...]
    taken_back: tuple[int, ...]


def to_session(stored: Stored, path: str) -> Session:
    """Return the session of a row in the database at `path`.

    Raises:
        ParseError: one of its messages cannot be understood.
    """
    row, telling = stored.row, tell(stored.messages)
    messages = telling.messages
    traits = snapshot.traits_of(messages)
    first = stored.chain[-1] if stored.chain else row
    started_at = moment(first.started_at)
    is_link = bool(stored.chain) or stored.continued
    return Session(
        session_id=row.id,
        file=path,
        format=snapshot.NAME,
        unit_key=row.id,
        messages=messages,
        message_times=telling.times,
        reported=_reported(messages, stored.delegations),
        ending=_ending(stored, messages),
        taken_back=telling.taken_back,
        model=name_of(row.model),
        platform=name_of(row.source),
        project=name_of(row.cwd) or snapshot.working_folder(stored.prompt),
        parent=name_of(first.parent_session_id),
        kind=_kind(first, stored.parent, marked=stored.marked),
        schedule=snapshot.schedule_of(first.id),
        agent=snapshot.NAME,
        system_prompt_digest=snapshot.prompt_digest(msgspec.json.encode(stored.prompt)),
        usage=usage_of(stored),
        cost_usd=cost_of(stored),
        started_at=started_at,
        updated_at=max(filter(None, _moments(row, stored.messages)), default=None),
        lineage=(started_at - EPOCH) // timedelta(microseconds=1) if is_link and started_at else None,
        opening=snapshot.digest(first.id) if is_link else None,
        conversation=snapshot.conversation_of(messages, traits.call_ids),
        compacted=traits.compacted or bool(stored.chain),
    )


def goes_on_from(row: SessionRow, parent: SessionRow | None) -> bool:
    """Return whether a session is the next link of the chain of `parent`, which a compression ended."""
    if parent is None or parent.end_reason != COMPRESSION or row.source == "subagent":
        return False
    began, ended = moment(row.started_at), moment(parent.ended_at)
    return began is not None and ended is not None and began >= ended


def tell(rows: Sequence[MessageRow]) -> Telling:
    """Return the rows that count as messages, in their order.

    Raises:
        ParseError: one of them cannot be understood.
    """
    messages: list[Message] = []
    times: list[datetime | None] = []
    taken_back: list[int] = []
    replaced = any(row.compacted == 1 for row in rows)
    reviews = taking_back = False
    for row in rows:
        if row.active == 0 and row.compacted != 1:
            if not taking_back:
                taken_back.append(len(messages))
            taking_back = True
            continue
        taking_back = False
        message = _message(row)
        if row.role == USER:
            reviews = snapshot.asks_for_review(message) and bool(messages)
        if reviews or _is_machinery(row, message, replaced=replaced):
            continue
        messages.append(message)
        times.append(moment(row.timestamp))
    return Telling(tuple(messages), tuple(times), tuple(taken_back))


def _is_machinery(row: MessageRow, message: Message, *, replaced: bool) -> bool:
    """Return whether a row is nobody's message: scaffolding, or the summary of rows that are still there."""
    if row.role == USER and row.display_kind == "hidden":
        return True
    return replaced and (bool(row.summary) or (row.role != TOOL and snapshot.sums_up(message)))


def _message(row: MessageRow) -> Message:
    return Message(
        role=row.role if isinstance(row.role, str) else "",
        content=_content(row),
        tool_calls=_tool_calls(row),
        finish_reason=name_of(row.finish_reason),
        tool_name=name_of(row.tool_name),
        tool_call_id=name_of(row.tool_call_id),
    )


def _content(row: MessageRow) -> Content:
    content = row.content
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    if not isinstance(content, str) or not content.startswith(_PARTS):
        return content
    try:
        return mending(_PARTS_OF.decode, content[len(_PARTS) :].encode())
    except UNREADABLE as error:
        raise ParseError(f"the content of message {row.id} is unknown JSON") from error


def _tool_calls(row: MessageRow) -> tuple[ToolCall, ...] | None:
    if not isinstance(row.tool_calls, str) or not row.tool_calls:
        return None
    try:
        return mending(_CALLS.decode, row.tool_calls.encode())
    except UNREADABLE as error:
        raise ParseError(f"the tool calls of message {row.id} are unknown JSON") from error


class _Dispatched(msgspec.Struct, frozen=True):
    status: str | None = None
    delegation_id: str | None = None


class _Result(msgspec.Struct, frozen=True):
    status: str | None = None


class _Results(msgspec.Struct, frozen=True):
    results: tuple[_Result, ...] = ()


_DISPATCHED = msgspec.json.Decoder(_Dispatched).decode
_RESULTS = msgspec.json.Decoder(_Results).decode


def _reported(messages: Sequence[Message], delegations: Iterable[Delegation]) -> dict[int, ReportedOutcome]:
    """Return what became of the sub-agents that were sent off: a result says only that they were."""
    outcomes = {delegation.id: _outcome(delegation) for delegation in delegations}
    reported: dict[int, ReportedOutcome] = {}
    for index, message in enumerate(messages):
        if outcomes and message.role == TOOL and isinstance(message.content, str):
            sent = decoded_or(_DISPATCHED, message.content, _Dispatched())
            if sent.status == "dispatched" and sent.delegation_id in outcomes:
                reported[index] = ReportedOutcome(outcomes[sent.delegation_id])
    return reported


def _outcome(delegation: Delegation) -> CallStatus:
    """Return how a sub-agent ended; it has failed if one of those sent off together has."""
    status = _DELEGATED.get(str(delegation.state), CallStatus.PENDING)
    if status is not CallStatus.SUCCESS or not isinstance(delegation.result, str):
        return status
    results = decoded_or(_RESULTS, delegation.result, _Results()).results
    failed = any(result.status not in (None, "completed") for result in results)
    return CallStatus.FAILURE if failed else status


def _ending(stored: Stored, messages: Sequence[Message]) -> Ending | None:
    row = stored.row
    if moment(row.ended_at) is None:
        if stored.leased:
            return Ending(SessionState.OPEN, "session_turn_leases")
        worked = not messages and any(count_of(value) for value in (row.api_call_count, row.input_tokens))
        return Ending(SessionState.OPEN, _NO_MESSAGES) if worked else None
    if not messages:
        return Ending(SessionState.INTERRUPTED, _NO_MESSAGES, EndingKind.NO_ANSWER)
    reason = name_of(row.end_reason)
    return None if reason is None or reason in AUTOMATIC_ENDS else Ending(SessionState.COMPLETE, reason)


class _Markers(msgspec.Struct, frozen=True, rename=lambda name: f"_{name}"):
    delegate_from: object = None
    branched_from: object = None
    reset_from: object = None


_MARKERS = msgspec.json.Decoder(_Markers).decode


def _kind(row: SessionRow, parent: SessionRow | None, *, marked: bool) -> SessionKind | None:
    named = _KINDS.get(str(row.source))
    if named is not None or row.parent_session_id is None:
        return named or SessionKind.MAIN
    config = row.model_config
    markers = decoded_or(_MARKERS, config, _Markers()) if isinstance(config, str) else _Markers()
    if markers.delegate_from == row.parent_session_id:
        return SessionKind.SUB_AGENT
    if marked or row.parent_session_id in (markers.branched_from, markers.reset_from):
        return SessionKind.MAIN  # a marker that names another session than the parent is inherited
    if parent is None:
        return None
    began, ended = moment(row.started_at), moment(parent.ended_at)
    return SessionKind.MAIN if began and ended and began >= ended else SessionKind.SUB_AGENT


def _moments(row: SessionRow, messages: Iterable[MessageRow]) -> list[datetime | None]:
    last = max((message.timestamp for message in messages if isinstance(message.timestamp, int | float)), default=None)
    return [moment(value) for value in (row.started_at, row.ended_at, row.last_activity_at, last)]


def joined(stored: Session, snapshot_: Session | None) -> Session:
    """Return the one session that a row and a snapshot are: the content is the longer one, the rest the row's."""
    if snapshot_ is None or len(snapshot_.messages) <= len(stored.messages):
        return stored
    ending = stored.ending if stored.messages or stored.ending is None or stored.ending.reason != _NO_MESSAGES else None
    return msgspec.structs.replace(
        stored,
        messages=snapshot_.messages,
        message_times=(),
        reported={},
        taken_back=tuple(index for index in stored.taken_back if index <= len(snapshot_.messages)),
        ending=ending,
        conversation=snapshot_.conversation,
        compacted=snapshot_.compacted or stored.compacted,
        updated_at=max(filter(None, (stored.updated_at, snapshot_.updated_at)), default=None),
    )


def usage_of(stored: Stored) -> tuple[Usage, ...]:
    """Return the tokens of each model: of all its tasks where they are noted, else as its sessions sum them.

    ``session_model_usage`` has a row for each model and task (its titles, its approvals); ``sessions`` has the main
    task alone, and is what there is before schema 22. Each link of a compression chain has its own.
    """
    noted = {row.session_id for row in stored.usage}
    parts: list[tuple[str | None, tuple[int, ...]]] = [(name_of(row.model), _tokens(row)) for row in stored.usage]
    parts += [(name_of(row.model), _tokens(row)) for row in (stored.row, *stored.chain) if row.id not in noted]
    sums: dict[str | None, tuple[int, ...]] = {}
    for model, tokens in parts:
        if any(tokens):  # all 0: nothing was noted
            sums[model] = tuple(map(sum, zip(tokens, sums.get(model, (0,) * len(tokens)), strict=True)))
    return tuple(
        Usage(
            model=model, input_tokens=read, cache_read_tokens=cached, cache_write_tokens=kept, output_tokens=written,
            reasoning_tokens=reasoned,
        )
        for model, (read, cached, kept, written, reasoned) in sums.items()
    )  # fmt: skip


def cost_of(stored: Stored) -> float | None:
    """Return what all tasks of all links cost; None where one of them that used tokens has no known price."""
    noted = {row.session_id for row in stored.usage}
    parts: list[SessionRow | UsageRow] = [*stored.usage]
    parts += [row for row in (stored.row, *stored.chain) if row.id not in noted]
    used = [part for part in parts if any(_tokens(part))]
    prices = [_price(part) for part in used]
    known = [price for price in prices if price is not None]
    return math.fsum(known) if known and len(known) == len(prices) else None


def _tokens(row: SessionRow | UsageRow) -> tuple[int, ...]:
    counted = (
        row.input_tokens, row.cache_read_tokens, row.cache_write_tokens, row.output_tokens, row.reasoning_tokens,
    )  # fmt: skip
    return tuple(map(count_of, counted))


def _price(row: SessionRow | UsageRow) -> float | None:
    if row.cost_status not in _PRICED:
        return None
    price = row.actual_cost_usd if row.cost_status == "actual" and row.actual_cost_usd else row.estimated_cost_usd
    return float(price) if isinstance(price, int | float) and math.isfinite(price) and price >= 0 else None
