"""Rows of Hermes' ``state.db``: a column that a schema lacks is None, and a value may be of any type."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec

Value = str | int | float | bytes | None

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SessionRow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A row of ``sessions``."""

    id: str
    source: Value = None
    model: Value = None
    model_config: Value = None
    parent_session_id: Value = None
    started_at: Value = None
    ended_at: Value = None
    end_reason: Value = None
    input_tokens: Value = None
    cache_read_tokens: Value = None
    cache_write_tokens: Value = None
    output_tokens: Value = None
    reasoning_tokens: Value = None
    estimated_cost_usd: Value = None
    actual_cost_usd: Value = None
    cost_status: Value = None
    api_call_count: Value = None
    cwd: Value = None
    rewind_count: Value = None
    last_activity_at: Value = None


class UsageRow(NamedTuple):
    """A row of ``session_model_usage``: of one model and one task of a session."""

    session_id: str
    model: Value
    input_tokens: Value
    cache_read_tokens: Value
    cache_write_tokens: Value
    output_tokens: Value
    reasoning_tokens: Value
    estimated_cost_usd: Value
    actual_cost_usd: Value
    cost_status: Value


class MessageRow(NamedTuple):
    """A row of ``messages``."""

    id: int
    role: Value
    content: Value
    tool_calls: Value
    tool_call_id: Value
    tool_name: Value
    finish_reason: Value
    timestamp: Value
    active: Value
    compacted: Value
    display_kind: Value
    summary: Value


class Delegation(NamedTuple):
    """A row of ``async_delegations``: what became of a sub-agent that was sent off."""

    id: Value
    state: Value
    result: Value


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one session in the database.

    chain: the links before it, nearest first; `parent`, the row from which the first of them was begun.
    usage: of all links.
    prompt: the system prompt.
    marked: does its schema say in `model_config` what a parent is to it?
    continued: it goes on in another session.
    leased: a turn of it runs.
    """

    row: SessionRow
    chain: tuple[SessionRow, ...] = ()
    parent: SessionRow | None = None
    usage: tuple[UsageRow, ...] = ()
    messages: tuple[MessageRow, ...] = ()
    delegations: tuple[Delegation, ...] = ()
    prompt: str | None = None
    marked: bool = False
    continued: bool = False
    leased: bool = False


def moment(value: Value) -> datetime | None:
    """Return a time in seconds since 1970 as aware UTC; None if it is none."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    try:
        return EPOCH + timedelta(seconds=value)
    except OverflowError:
        return None


def count_of(value: Value) -> int:
    """Return a number of tokens or calls; 0 if it is none."""
    return int(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else 0
