"""Fate of the work of sessions, in a word and in numbers: what became of it in git."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from grader_daemon.domain.estimate import Estimate


class WorkFate(StrEnum):
    """Fate of a session's work in git, at the last check. If several apply, the first one here counts.

    `reverted`: it was reverted. `gone`: its commits are no longer on any branch, or none of its lines is left.
    `rewritten`: fewer than half of its lines are left. `kept`: at least half of them are left.
    """

    REVERTED = "reverted"
    GONE = "gone"
    REWRITTEN = "rewritten"
    KEPT = "kept"


class WorkCounts(msgspec.Struct, frozen=True, kw_only=True):
    """People's tasks with commits, by the fate of their work. Tasks in no count were not counted yet, or could not be.

    Attributes:
        name: the model; "" for all.
        kept_week: number of `kept` ones whose last count was a week or more after the end of the session.
    """

    name: str = ""
    sessions: int = 0
    reverted: int = 0
    gone: int = 0
    rewritten: int = 0
    kept: int = 0
    kept_week: int = 0


class WorkOutcomes(msgspec.Struct, frozen=True):
    """Fate of the work of people's tasks with commits: in the `whole` span, and by model, most sessions first."""

    whole: WorkCounts
    models: tuple[WorkCounts, ...]


class FateWorth(msgspec.Struct, frozen=True):
    """Share of done tasks with this fate, by labels and rewards; no value for fewer than 5."""

    fate: WorkFate
    done: Estimate
