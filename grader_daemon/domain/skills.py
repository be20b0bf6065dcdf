"""The skills that agents have: what finished tasks did with them, and what a type of task could use."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.analysis import Category
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.insight import StepCount
from grader_daemon.domain.installed import InstalledSkill, ObservedVersion, SkillHow
from grader_daemon.domain.setup_changes import SetupEffect

FEWEST_TASKS: Final = 20
"""Fewest tasks of a type, or of all others, for a suggestion; in fewer that tell it no skill is unused."""


class SkillTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of one type that tell which skills they used: those that used one, and the others.

    `ended_badly` is the share of them that did, see `session_result.ended_badly`; of fewer than 5 it has no value.
    Agents choose what they use, so a difference is no effect.
    """

    task_type: str
    used: int
    ended_badly: Estimate
    others: int
    ended_badly_of_others: Estimate


class SkillRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A skill, and what the finished tasks of 90 days did with it.

    name: what agents call it.
    installed: the folders that it lies in; none when sessions used it and it is not there.
    edited_at: when its last version was noticed; None where no daemon looked.
    versions: how many were noticed.
    known_in: so many tasks of agents that may use it tell which skills they used.
    used_in: so many of them used it, in the ways that `uses` counts.
    last_used: when the last of them ended.
    ended_badly: the share of them that did; of fewer than 5 without a value.
    task_types: the same by type of task, the most used first.
    """

    name: str
    installed: tuple[InstalledSkill, ...]
    edited_at: datetime | None
    versions: int
    known_in: int
    used_in: int
    uses: dict[SkillHow, int]
    last_used: datetime | None
    ended_badly: Estimate
    task_types: tuple[SkillTasks, ...]


class Skills(msgspec.Struct, frozen=True, kw_only=True):
    """All skills that lie here or were used, the most used first, and how many finished tasks were looked at."""

    tasks: int
    skills: tuple[SkillRecord, ...]


class SkillDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A skill with the versions that were noticed, the newest first, and how work went before and since each."""

    skill: SkillRecord
    versions: tuple[ObservedVersion, ...]
    effects: tuple[SetupEffect, ...]


class SkillReason(StrEnum):
    """Reason to suggest no skill: there are too few tasks, they are not surely worse, or nothing fits."""

    TOO_FEW = "too_few"
    NOT_WORSE = "not_worse"
    NOTHING_FITS = "nothing_fits"


class FittingSkill(msgspec.Struct, frozen=True, kw_only=True):
    """An installed skill that is about a type of task, and is as good as never used there.

    `words` of its name and description are those by which the type is known, or commands that fail there; the rarest
    among skills first. It was used in `used_in` of the `known_in` tasks of the type that tell; of the others
    `others_ended_badly` did, see `session_result.ended_badly`.
    """

    skill: InstalledSkill
    words: tuple[str, ...]
    used_in: int
    known_in: int
    others_ended_badly: int


class AskedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that was asked for by its name, whether it lies here, and the types of task that it is about.

    Words of its name and description tell, or of the name alone where it does not lie here; the type that the advice is
    for comes first. It was used in `used_in` of the `known_in` tasks of that type that tell.
    """

    name: str
    is_installed: bool
    task_types: tuple[str, ...]
    used_in: int
    known_in: int


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """A sure remedy for a failure of a type of task, to show an agent.

    `failures` in `sessions` of the last 90 days have this cause, of all types of task; `step` is what helped.
    `proof` names the last sessions of the type in which it did.
    """

    fingerprint: str
    tool: str | None
    command: str | None
    category: Category
    failures: int
    sessions: int
    step: StepCount
    proof: tuple[str, ...]


class SkillAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """Advice for a type of task, and whether it needs any.

    `ended_badly` is the share of its tasks that did, `others` that of all other types, `difference` between them (0 to
    1, with 95 % intervals; without values below 20 tasks; one request is one task a week). `skills` lie here, fit, and
    are unused. Only where the difference is surely above 0 they are suggested, and `lessons` for one that could be
    written; `reason` says why nothing is. `asked` is the skill whose name was given in place of a type, if one was.
    """

    task_type: str
    ended_badly: Estimate
    others: Estimate
    difference: Estimate
    reason: SkillReason | None
    skills: tuple[FittingSkill, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    asked: AskedSkill | None = None
