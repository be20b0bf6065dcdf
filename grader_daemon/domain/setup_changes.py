"""Changes in how agents are set up, and their work before and since."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.estimate import NO_FIGURE, Figure

WINDOW: Final = timedelta(days=28)
"""Sessions that ended longer before a change, or after it, are not compared."""

FEWEST_SESSIONS: Final = 30
"""Fewest sessions of the same task types and platforms, before a change and after it."""

USUAL_SPAN: Final = timedelta(days=90)
"""Span back from now whose changes are told unless another is asked for."""

APART_SESSIONS: Final = 20
"""Changes with fewer sessions between them cannot be told apart."""


class SetupKind(StrEnum):
    """Part of an agent that changed."""

    MODEL = "model"
    AGENT_VERSION = "agent_version"
    SYSTEM_PROMPT = "system_prompt"
    TOOLS = "tools"
    SKILL = "skill"
    CONFIGURATION = "configuration"


class SetupChange(msgspec.Struct, frozen=True, kw_only=True):
    """Change in an agent's set-up.

    at: the end of the first session with the change; for a file, when the daemon first saw it or noticed its removal.
    agent: the agent; None if unknown, or for all agents.
    name: of the skill or file; None for other kinds.
    before, after: the values, such as names of models, versions or digests. `before` is None for something new, `after`
        for something removed.
    scheduled: the change is in scheduled runs, and these are compared; otherwise people's sessions.
    """

    at: datetime
    kind: SetupKind
    agent: str | None = None
    name: str | None = None
    before: str | None = None
    after: str | None
    scheduled: bool = False

    @property
    def is_of_files(self) -> bool:
        """True if files on disk show the change, and not sessions."""
        return self.kind in {SetupKind.SKILL, SetupKind.CONFIGURATION}


class SetupEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Work before and since a change, or several changes too close to compare separately.

    changes: the first one first.
    since, until: times between which sessions are compared, without `until` itself, which may be in the future.
    meanwhile: other changes in this time.
    sessions_before, sessions_after: number of compared sessions, all of the same task types and platforms.
    missing_before, missing_after: number of requests still needed for a comparison.
    labels_missing_before, labels_missing_after: number of random labels still needed, if there are enough sessions.
    completion: rates, 0 to 1, both with the mix of tasks since the change; without values if there are too few.
    ended_badly: the same for bad endings, see `session_result.ended_badly`.
    facts_differ: bad endings differ more than chance would explain among all changes.
    slope_before: bad endings in the later half of the sessions before the change, against the earlier half. A trend
        that began before the change would continue without it. Without values if there are too few.
    is_sure: completion differs more than chance would explain among all changes.
    by_words: the comparison uses labels and rewards, otherwise probabilities. None in reports that do not say.
    """

    changes: tuple[SetupChange, ...]
    since: datetime
    until: datetime
    meanwhile: tuple[SetupChange, ...] = ()
    sessions_before: int
    sessions_after: int
    missing_before: int
    missing_after: int
    completion: Figure
    is_sure: bool = False
    by_words: bool | None = None
    labels_missing_before: int = 0
    labels_missing_after: int = 0
    ended_badly: Figure = NO_FIGURE
    facts_differ: bool = False
    slope_before: Figure = NO_FIGURE


class Unsteady(msgspec.Struct, frozen=True, kw_only=True):
    """A property that differs in most sessions of an agent, so that no change of it is shown."""

    agent: str | None
    kind: SetupKind
    values: int
    sessions: int


class SetupChanges(msgspec.Struct, frozen=True, kw_only=True):
    """All changes since a day, the newest first, and the sessions behind them.

    since: earlier changes are not listed.
    sessions: number of people's finished tasks, those of the `WINDOW` before included.
    scheduled: number of scheduled runs, likewise.
    known: for each kind, the number of sessions that record it; files are read from disk.
    """

    since: datetime
    sessions: int
    scheduled: int
    known: dict[SetupKind, int]
    effects: tuple[SetupEffect, ...]
    unsteady: tuple[Unsteady, ...]
