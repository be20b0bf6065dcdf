"""The same request in other sessions: their verdicts, and how many ended badly, by model and skill."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.installed import SkillUse
from grader_daemon.domain.verdict import Outcome, VerdictCounts


class AskedAlike(NamedTuple):
    """A finished session that may have been asked for the same; see the fields of a grade of these names.

    `ended_badly` is a fact of its record, see `session_result.ended_badly`; None where it is not known.
    """

    session_id: str
    ended_at: datetime
    model: str | None
    outcome: Outcome
    ended_badly: bool | None
    request: int | None
    wording: bytes | None
    skills: tuple[SkillUse, ...] | None = None


class SimilarSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with the same or nearly the same request: `likeness` is the share of words that both requests have."""

    session_id: str
    ended_at: datetime
    model: str | None
    outcome: Outcome
    ended_badly: bool | None
    likeness: float


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts on the sessions of one model; `ended_badly` has no value for fewer than 5 sessions."""

    model: str | None
    sessions: int
    verdicts: VerdictCounts
    ended_badly: Estimate


class SkillOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts on the sessions that used a skill; see `ModelRecord`. Agents choose what they use."""

    skill: str
    sessions: int
    verdicts: VerdictCounts
    ended_badly: Estimate


class Similar(msgspec.Struct, frozen=True, kw_only=True):
    """Other finished sessions with the same request, and their ends.

    `same` have the same words, `near` share at least 80 % of them; `more` says that only the newest were searched.
    `ended_badly` is the share that was cut short, gave up, failed its check and the like, and has no value for fewer
    than 5 sessions. `sessions` are the newest, `models` and `skills` those with most sessions first.
    """

    session_id: str | None
    same: int
    near: int
    more: bool
    verdicts: VerdictCounts
    ended_badly: Estimate
    models: tuple[ModelRecord, ...]
    skills: tuple[SkillOutcome, ...]
    sessions: tuple[SimilarSession, ...]
