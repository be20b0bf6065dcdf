"""Facts about earlier sessions for an agent: their records, and apart from them how they were graded."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # an agent waits for all that is imported
    from grader_daemon.domain.verdict import Outcome


class PastFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The failures of one kind in a session; `category` is the finest that is known.

    `next_tool` and `next_command` name what worked right after one of them; both are None where nothing did.
    """

    tool: str | None
    command: str | None
    category: str
    times: int
    next_tool: str | None
    next_command: str | None

    @property
    def helped_by_retry(self) -> bool:
        """True if the step that worked was a repetition of the same call."""
        return (self.next_tool, self.next_command) == (self.tool, self.command)


class PastGrade(msgspec.Struct, frozen=True, kw_only=True):
    """The grade of an earlier session; see `Grade`. `completed` and `unsure` are its verdict, read by `outcome`."""

    completed: int | None
    unsure: int
    verdict_by: str
    p_completed: float | None
    efficiency: int | None
    quality: int | None

    @property
    def outcome(self) -> Outcome:
        """The verdict as it is shown to people."""
        from grader_daemon.domain.verdict import outcome_of  # few agents are told grades

        return outcome_of(self.completed, self.unsure)


class PastSession(msgspec.Struct, frozen=True, kw_only=True):
    """One earlier session. `task` is what was asked for, as it is kept: one redacted line.

    `state` and `kind` are those of `SessionState` and `SessionKind` as they are stored.
    `errors` counts failed calls without probes; `recovered` says that a call worked after the last of them, and that
    the session ended in an answer. `asked_again` is the session in which the same was asked for again.
    `answer` is how its final answer begins, `last_check` the command of the last test run that passed, `edited` are
    files that were written.
    """

    session_id: str
    ended_at: datetime | None
    state: str
    kind: str
    agent: str | None
    model: str | None
    project: str | None
    task_type: str
    task: str | None
    calls: int
    errors: int
    recovered: bool
    refused: bool
    interrupted: bool
    asked_again: str | None
    answer: str | None
    last_check: str | None
    edited: tuple[str, ...]
    failures: tuple[PastFailure, ...]
    grade: PastGrade


class Likeness(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was asked for something alike: the words that it shares with what is asked about.

    `more` counts sessions with the same request that were found beside it.
    """

    session: PastSession
    shared: tuple[str, ...]
    more: int


class CauseWords(msgspec.Struct, frozen=True, kw_only=True):
    """Words by which an error issue is found."""

    fingerprint: str
    tool: str | None
    command: str | None
    category: str
    subcategory: str | None
    signal: str
