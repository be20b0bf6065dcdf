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
    """Tasks of one type that record which skills they used: those that used a skill, and the others.

    `ended_badly` is the share of them that did, see `session_result.ended_badly`; of fewer than 5 it has no value.
    Agents choose what they use, so a difference is no effect.
    """

    task_type: str
    used: int
    ended_badly: Estimate
    others: int
    ended_badly_of_others: Estimate


class SkillRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A skill, and its use in finished tasks of 90 days.

    name: its name for agents.
    installed: its folders; none if sessions used it but it is not installed.
    edited_at: when its last version was noticed; None if no daemon was running.
    versions: the number of versions noticed.
    known_in: number of tasks that record skills, of agents that may use it.
    used_in: number of these that used it, in the ways counted in `uses`.
    last_used: when the last of these ended.
    ended_badly: the share of these that ended badly; no value for fewer than 5.
    task_types: the same by task type, the most used first.
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
    """All installed or used skills, the most used first, and the number of finished tasks examined."""

    tasks: int
    skills: tuple[SkillRecord, ...]


class SkillDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A skill with its observed versions, the newest first, and results before and after each."""

    skill: SkillRecord
    versions: tuple[ObservedVersion, ...]
    effects: tuple[SetupEffect, ...]


class SkillReason(StrEnum):
    """Reason to suggest no skill: too few tasks, tasks not clearly worse, or no fitting skill or lesson."""

    TOO_FEW = "too_few"
    NOT_WORSE = "not_worse"
    NOTHING_FITS = "nothing_fits"


class FittingSkill(msgspec.Struct, frozen=True, kw_only=True):
    """An installed skill that fits a task type and is almost never used there.

    `words` are the words of its name and description that belong to the type, or commands that fail there; the rarest
    among skills first. It was used in `used_in` of the `known_in` tasks of the type that record skills;
    `others_ended_badly` of the others ended badly, see `session_result.ended_badly`.
    """

    skill: InstalledSkill
    words: tuple[str, ...]
    used_in: int
    known_in: int
    others_ended_badly: int


class AskedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill asked for by name, whether it is installed, and its task types.

    They follow from the words of its name and description, or of the name alone if it is not installed; the type of the
    advice comes first. It was used in `used_in` of the `known_in` tasks of that type that record skills.
    """

    name: str
    is_installed: bool
    task_types: tuple[str, ...]
    used_in: int
    known_in: int


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """A reliable remedy for a failure in a task type, to show an agent.

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
    """Advice for a task type, if it needs any.

    `ended_badly` is the share of its tasks that did, `others` that of all other types, `difference` between them (0 to
    1, with 95 % intervals; without values below 20 tasks; one request is one task a week). `skills` are installed, fit
    and are unused. They are suggested only if the difference is clearly above 0, as are `lessons` for a new skill;
    `reason` says why nothing is suggested. `asked` is the skill named instead of a type, if any.
    """

    task_type: str
    ended_badly: Estimate
    others: Estimate
    difference: Estimate
    reason: SkillReason | None
    skills: tuple[FittingSkill, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    asked: AskedSkill | None = None
