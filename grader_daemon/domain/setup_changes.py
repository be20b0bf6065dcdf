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
"""Fewest sessions before a change and after it, at work that was done on both sides."""

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
    """One change of how an agent is set up.

    at: the end of the first session that shows it; of a file, when it was first seen so, or noticed to be gone.
    agent: whose; None where it is not known, or of all.
    name: of the skill or file; None for other kinds.
    before, after: the values: names of models, versions, digests. `before` is None for what is new, `after` for what
        was removed.
    scheduled: it shows in runs that a schedule began, and these are compared; else in tasks of persons.
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
    """Work before and since changes that came together; mostly one.

    changes: the first one first.
    since, until: compared are sessions that ended between them, the second one exclusive; it may be still to come.
    meanwhile: other changes in the time that is looked at.
    sessions_before, sessions_after: how many are compared, those at work that was done on both sides.
    missing_before, missing_after: so many more are needed to tell.
    labels_missing_before, labels_missing_after: so many more labels by chance are needed, where sessions are enough.
    completion: rates, 0 to 1, each at the mix of work since; without values where too few.
    ended_badly: the same of bad endings, a fact of the record; see `session_result.ended_badly`.
    facts_differ: bad endings differ surely, as many changes as are looked at.
    slope_before: bad endings in the later half of the sessions before, against the earlier half: work that got better
        or worse before a change goes on to do so without it. Without values where too few.
    is_sure: the difference is shown: it is none that chance alone makes, as many changes as are looked at.
    by_words: compared are words of people and rewards; else probabilities. None in reports that do not say.
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
    """All changes since a day, the newest first, and what they rest on.

    since: changes before are not listed.
    sessions: finished tasks of persons that were looked at, those of `WINDOW` before, too.
    scheduled: runs that a schedule began, likewise.
    known: of how many of them each kind is known; files are looked at by themselves.
    """

    since: datetime
    sessions: int
    scheduled: int
    known: dict[SetupKind, int]
    effects: tuple[SetupEffect, ...]
    unsteady: tuple[Unsteady, ...]
