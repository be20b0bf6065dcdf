"""The same request in other sessions: how often it was completed, by which model, and where failed sessions went."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.installed import SkillUse
from grader_daemon.domain.verdict import Outcome

FEWEST_PAIRS: Final = 5
"""Fewest pairs of a failed and a completed session from which a parting call is told."""


class AskedAlike(NamedTuple):
    """A finished session that may have been asked for the same; see the fields of a grade of these names."""

    session_id: str
    ended_at: datetime
    model: str | None
    completed: bool | None
    request: int | None
    wording: bytes | None
    skills: tuple[SkillUse, ...] | None = None
    outcome: Outcome = Outcome.UNSURE


class SimilarSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was asked for the same, or nearly: `likeness` is the share of words that both requests have."""

    session_id: str
    ended_at: datetime
    model: str | None
    completed: bool | None
    outcome: Outcome
    likeness: float


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Completion rate of the sessions of one model; `completion` has no value for fewer than 5 with a verdict."""

    model: str | None
    sessions: int
    completion: Estimate


class SkillOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Completion rate of the sessions that used a skill; see `ModelRecord`. Agents choose what they use."""

    skill: str
    sessions: int
    completion: Estimate


class PartingCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call at which sessions that completed a request and those that failed part.

    In `pairs` of a failed and a completed session one made this call where their calls differ first; `times` of them it
    was the one that completed (`by_completed`), or else the one that failed. `share` is the part of the pairs.
    """

    tool: str
    command: str | None
    by_completed: bool
    times: int
    pairs: int
    share: Estimate


class Similar(msgspec.Struct, frozen=True, kw_only=True):
    """Other finished sessions with the same request, and their ends.

    `same` were asked for the same words, `near` share at least 80 % of them; `more` says that only the newest were
    looked at. `completion` is over those with a verdict. `pairs` of a failed and a completed session were compared for
    the parting call, which is None where they are fewer than 5 or no call tells them apart beyond doubt. `sessions` are
    the newest, `models` and `skills` those with most sessions first.
    """

    session_id: str | None
    same: int
    near: int
    more: bool
    completion: Estimate
    models: tuple[ModelRecord, ...]
    skills: tuple[SkillOutcome, ...]
    pairs: int
    parting: PartingCall | None
    sessions: tuple[SimilarSession, ...]
