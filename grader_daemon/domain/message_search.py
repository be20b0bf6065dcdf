"""Messages that were searched for, and how their sessions ended."""

from __future__ import annotations

from datetime import datetime

import msgspec

from grader_daemon.domain.verdict import Outcome


class MessageHit(msgspec.Struct, frozen=True, kw_only=True):
    """A message that has the words.

    session_id: its session.
    index: its number there, from 0.
    role: who wrote it; None where the session cannot be read now.
    excerpt: a line around the words, redacted; None where the session cannot be read now.
    ended_at: when the session ended.
    outcome: its verdict.
    errors: its failed tool calls.
    contradicted: its claims that the record speaks against.
    cost_usd: its price, None if that is not known.
    task_summary, model, agent, project: of the session, None if not known.
    """

    session_id: str
    index: int
    role: str | None
    excerpt: str | None
    ended_at: datetime
    outcome: Outcome
    errors: int
    contradicted: int
    cost_usd: float | None
    task_summary: str | None
    model: str | None
    agent: str | None
    project: str | None


class FoundMessages(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a search: `hits`, the newest sessions first; `sessions` were searched; `is_more`: there are others."""

    hits: tuple[MessageHit, ...]
    sessions: int
    is_more: bool
