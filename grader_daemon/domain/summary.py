"""The finished sessions of a span in a few numbers."""

from __future__ import annotations

import msgspec

from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.insight import Spending


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and means over the finished sessions of a span; means are None without sessions.

    `unanswered` are finished sessions without an answer or a tool call, `scheduled` runs of schedules: only `spending`
    counts them, too. `done`, `not_done`, `unsure` and `no_answer` are by verdict. Of `recorded` sessions it is known
    how they ended: `ended_badly` of these did, by one of the facts that follow or without an answer; see
    `insight.Group`. `agents` are the sessions by agent. `checked` is the completion rate put right by sessions that
    people judged; see `patterns.completion_estimate`.
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
