"""The finished sessions of a span in a few numbers."""

from __future__ import annotations

import msgspec

from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.insight import Spending


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and means over the finished sessions of a span; means are None without sessions.

    Attributes:
        unanswered: sessions without an answer or a tool call; besides this, only `spending` counts them.
        scheduled: scheduled runs; besides this, only `spending` counts them.
        done: number of sessions with this verdict; `not_done`, `unsure` and `no_answer` likewise.
        recorded: number of sessions whose ending is known.
        ended_badly: number of sessions that ended badly: by one of the following facts, or without an answer; see
            `insight.Group`.
        checked: completion rate corrected by labels; see `patterns.completion_estimate`.
        agents: number of sessions by agent.
    """

    sessions: int
    efficiency: float | None
    quality: float | None
    with_errors: int
    recovered: int
    open_sessions: int
    unanswered: int
    scheduled: int
    done: int
    not_done: int
    unsure: int
    no_answer: int
    recorded: int
    ended_badly: int
    contradicted: int
    check_failed: int
    admitted: int
    cut_short: int
    gave_up: int
    left_midway: int
    checked: Estimate
    agents: dict[str, int]
    spending: Spending
