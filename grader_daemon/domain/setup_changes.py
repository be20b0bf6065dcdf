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
"""Fewest sessions before a change and after it, for task types with sessions on both sides."""

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
    """One change of an agent's set-up.

    Attributes:
        at: end of the first session with the change; for a file, the time when it was first seen so, or noticed as
            gone.
        agent: the agent; None if unknown, or if the change concerns all agents.
        name: name of the skill or file; None for other kinds.
        before: previous value, a model's name, a version or a digest; None for something new.
        after: new value; None for something removed.
        scheduled: true if scheduled runs show the change and are compared; false if people's tasks are.
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
    """Results before and after a change, or several changes at the same time.

    Attributes:
        changes: the changes, the first one first.
        since: start of the compared time.
        until: end of the compared time, exclusive; it may be in the future.
        meanwhile: other changes in the compared time.
        sessions_before: sessions compared before the change, of task types that occur on both sides; of all types if
            one side has no sessions.
        sessions_after: sessions compared after it, likewise.
        missing_before: further sessions needed before the change for a comparison.
        missing_after: further sessions needed after it.
        labels_missing_before: further random labels needed before the change, if there are enough sessions.
        labels_missing_after: further random labels needed after it.
        completion: completion rates, 0 to 1, both weighted by the mix of tasks after the change; no values if too few.
        ended_badly: the same for sessions that ended badly; see `session_result.ended_badly`.
        facts_differ: whether the rates of bad endings differ beyond chance, given the number of changes examined.
        slope_before: bad endings in the later half of the sessions before the change, compared with the earlier half.
        Results that were already improving or declining would have continued without the change. No values if too few.
        is_sure: whether the completion rates differ beyond chance, given the number of changes examined.
        together_differ: whether results, by bad endings and completion rates together, differ beyond chance; so it is
        wherever `is_sure` or `facts_differ` is true, in reports of this version.
        by_words: whether completion is based on labels and rewards, or else on probabilities; None in older reports.
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
    together_differ: bool = False
    slope_before: Figure = NO_FIGURE


class Unsteady(msgspec.Struct, frozen=True, kw_only=True):
    """A property with different values in most of an agent's sessions; its single changes are not shown."""

    agent: str | None
    kind: SetupKind
    values: int
    sessions: int


class SetupChanges(msgspec.Struct, frozen=True, kw_only=True):
    """All changes since a day, the newest first, and their basis.

    Attributes:
        since: earlier changes are not listed.
        sessions: number of people's finished tasks examined, including `WINDOW` before `since`.
        scheduled: number of scheduled runs examined, likewise.
        known: number of examined tasks with a known value, for each kind of change except files.
        unsteady: properties that change too often to show single changes.
    """

    since: datetime
    sessions: int
    scheduled: int
    known: dict[SetupKind, int]
    effects: tuple[SetupEffect, ...]
    unsteady: tuple[Unsteady, ...]
