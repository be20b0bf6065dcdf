"""Messages that were searched for, and how their sessions ended."""

from __future__ import annotations

from datetime import datetime

import msgspec

from grader_daemon.domain.verdict import Outcome


class MessageHit(msgspec.Struct, frozen=True, kw_only=True):
    """A message that contains the words.

    Attributes:
        session_id: its session.
        index: its position in the session, from 0.
        role: its author; None if the session cannot be read now.
        excerpt: a line around the words, redacted; None if the session cannot be read now.
        ended_at: end of the session.
        outcome: the session's verdict.
        errors: number of failed tool calls in the session.
        contradicted: number of the session's claims that the record contradicts.
        cost_usd: cost of the session; None if unknown.
        task_summary: the session's first request; None if unknown, as are the following three.
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
    """Result of a search.

    Attributes:
        hits: the messages found, those of the newest sessions first.
        sessions: number of sessions searched.
        waiting: number of sessions that the daemon has not indexed yet, so that they were not searched.
        is_more: whether there are more hits.
    """

    hits: tuple[MessageHit, ...]
    sessions: int
    waiting: int
    is_more: bool
