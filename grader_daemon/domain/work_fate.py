"""Fate of the work of sessions, in a word and in numbers: what became of it in git."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from grader_daemon.domain.estimate import Estimate


class WorkFate(StrEnum):
    """Fate of a session's work in git, by the last look; of several the first that holds.

    `REVERTED`: it was taken back. `GONE`: its commits are on no branch any more, or none of its lines is left.
    `REWRITTEN`: fewer than half of its lines are still there. `KEPT`: at least half of them are.
    """

    REVERTED = "reverted"
    GONE = "gone"
    REWRITTEN = "rewritten"
    KEPT = "kept"


class WorkCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of people with commits, by the fate of their work; `name` is their model, "" for all.

    Of the `kept`, `kept_week` were kept when it was last counted, a week or more after the session had ended. Those
    that are in no count were not counted yet, or could not be.
    """

    name: str = ""
    sessions: int = 0
    reverted: int = 0
    gone: int = 0
    rewritten: int = 0
    kept: int = 0
    kept_week: int = 0


class WorkOutcomes(msgspec.Struct, frozen=True):
    """Fate of the work of tasks of people with commits: of `whole` a span, and by model, most sessions first."""

    whole: WorkCounts
    models: tuple[WorkCounts, ...]


class FateWorth(msgspec.Struct, frozen=True):
    """Share of done tasks with this fate, by labels and rewards; no value for fewer than 5."""

    fate: WorkFate
    done: Estimate
