"""The skills that agents have: what finished tasks did with them, and what a type of task could use."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.analysis import Category
from grader_daemon.domain.error_groups import StepCount
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.installed import InstalledSkill, ObservedVersion, SkillHow
from grader_daemon.domain.setup_changes import SetupEffect

FEWEST_TASKS: Final = 20
"""Fewest tasks of a type, or of all others, for a suggestion; in fewer that tell it no skill is unused."""


class SkillTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of one type that record which skills they used: those that used a skill, and the others.

    `ended_badly` is the share of tasks that ended badly, with no value for fewer than 5 tasks. Agents choose which
    skills they use, so a difference does not prove an effect of the skill.
    """

    task_type: str
    used: int
    ended_badly: Estimate
    others: int
    ended_badly_of_others: Estimate


class SkillRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A skill, and its use in finished tasks of 90 days.

    Attributes:
        name: its name for agents.
        installed: its folders; none if sessions used it but it is not installed.
        edited_at: when its last version was noticed; None if no daemon was running.
        versions: the number of versions noticed.
        known_in: number of tasks that record skills, of agents that may use it.
        used_in: number of tasks that used it.
        uses: number of tasks by the way they used it.
        last_used: when the last task that used it ended.
        ended_badly: the share of tasks that used it and ended badly; no value for fewer than 5.
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

    Attributes:
        words: words of its name and description that belong to the type, or commands that fail there; those that fewest
        skills have come first.
        used_in: number of tasks of the type that used it.
        known_in: number of tasks of the type that record skills, of agents that may use it.
        others_ended_badly: number of tasks without it that ended badly; see `session_result.ended_badly`.
    """

    skill: InstalledSkill
    words: tuple[str, ...]
    used_in: int
    known_in: int
    others_ended_badly: int


class AskedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill asked for by name.

    Attributes:
        is_installed: whether it is installed.
        task_types: its task types, by the words of its name and, if it is installed, its description; the type of the
        advice comes first.
        used_in: number of tasks of that type that used it.
        known_in: number of tasks of that type that record skills, of agents that may use it.
    """

    name: str
    is_installed: bool
    task_types: tuple[str, ...]
    used_in: int
    known_in: int


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """A reliable remedy for an error in a task type, to show an agent.

    Attributes:
        failures: number of errors of this kind in the last 90 days, in tasks of all types.
        sessions: number of sessions with one.
        step: the step that helped.
        proof: ids of the type's last sessions in which it helped.
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

    A request that was repeated within a week counts as one task. Estimates have no value below 20 tasks.

    Attributes:
        ended_badly: share of the type's tasks that ended badly.
        others: share of all other tasks that ended badly.
        difference: difference between the two, with its 95 % range.
        reason: why nothing is suggested; None if something is.
        skills: installed skills that fit and are not used, if the difference is clearly above 0.
        lessons: lessons for a new skill, if the difference is clearly above 0.
        asked: the skill that was named instead of a type, if any.
    """

    task_type: str
    ended_badly: Estimate
    others: Estimate
    difference: Estimate
    reason: SkillReason | None
    skills: tuple[FittingSkill, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    asked: AskedSkill | None = None
