"""The skills that agents have: of what lies on disk and what the database holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import Final

from msgspec.structs import replace

from grader_daemon.analysis.user_messages.task_types import TaskTypes
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.error_groups import IssueRow
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.installed import InstalledKind, InstalledSkill
from grader_daemon.domain.phrases import words_of
from grader_daemon.domain.routing import MOST_SESSIONS, WINDOW_DAYS, FinishedSession
from grader_daemon.domain.setup_changes import SetupKind
from grader_daemon.domain.skills import AskedSkill, FittingSkill, Lesson, SkillAdvice, SkillDetail, SkillReason, Skills
from grader_daemon.errors import NotFoundError
from grader_daemon.patterns.issues import steps_of
from grader_daemon.skills.places import Installed
from grader_daemon.skills.read_changes import setup_changes
from grader_daemon.skills.skill_records import (
    compared_with_others,
    endings_by_type,
    fitting_skills,
    lesson_step,
    skill_records,
    uses_skill,
)
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.storage.sqlite.store import SqliteStore

_MOST_ISSUES: Final = 50
"""Most causes that are looked through, of those that most sessions of a type have."""
_MOST_LESSONS: Final = 5
_PROOF: Final = 3
"""Fewest sessions that prove a lesson."""
_WINDOW: Final = timedelta(days=WINDOW_DAYS)


class SkillBook:
    """Facts about skills: those that lie there, and those that the tasks of 90 days used; both are read once."""

    def __init__(self, store: SqliteStore, installed: Installed, task_types: TaskTypes, *, now: datetime) -> None:
        self._store = store
        self._observed = ObservedVersions(store)
        self._installed = installed
        self._task_types = task_types
        self._now = now

    def skills(self) -> Skills:
        """Return all skills, the most used first."""
        records = skill_records(self._lying, self._observed.versions(), self._tasks)
        return Skills(tasks=len(self._tasks), skills=tuple(records))

    def skill(self, name: str) -> SkillDetail:
        """Return one skill, with its versions and what is known of their effects.

        Raises:
            NotFoundError: none of this name lies there or was used.
        """
        observed = self._observed.versions()
        records = skill_records(self._lying, observed, self._tasks)
        record = next((each for each in records if each.name == name), None)
        if record is None:
            raise NotFoundError(f"there is no skill {name!r}; grader-daemon skills lists all")
        versions = [each for each in observed if each.kind is InstalledKind.SKILL and each.name == name]
        changes = setup_changes(self._store, self._now - _WINDOW, self._now)
        return SkillDetail(
            skill=record,
            versions=tuple(reversed(versions)),
            effects=tuple(
                effect
                for effect in changes.effects
                if any(change.kind is SetupKind.SKILL and change.name == name for change in effect.changes)
            ),
        )

    def advice(self, task_type: str, *, span: Span) -> SkillAdvice:
        """Return what could help with a type of task; `span` are the days whose failures are looked at."""
        compared = compared_with_others(task_type, self._endings)
        issues = self._issues(task_type, span)
        skills = self._fitting(task_type, issues)
        reason = _no_need(compared.change)
        lessons: tuple[Lesson, ...] = ()
        if reason is None:
            lessons = tuple(islice(self._lessons(task_type, issues), _MOST_LESSONS))
            reason = None if skills or lessons else SkillReason.NOTHING_FITS
        return SkillAdvice(
            task_type=task_type,
            ended_badly=compared.now,
            others=compared.before,
            difference=compared.change,
            reason=reason,
            skills=skills,
            lessons=lessons,
        )

    def advice_on(self, name: str, *, span: Span) -> SkillAdvice | None:
        """Return the same for the type that a skill of that name is about; None if its words tell of none.

        Of several it is the one that ends badly most beyond doubt, then the one with most tasks.
        """
        lying = [skill for skill in self._lying if skill.name == name]
        told = " ".join([name, *(skill.description or "" for skill in lying)])
        compared = {each: compared_with_others(each, self._endings) for each in self._task_types.said(told)}
        if not compared:
            return None
        types = sorted(compared, key=lambda each: (-(compared[each].change.low or -1.0), -compared[each].now.sample))
        agents = {skill.agent for skill in lying} or {None}
        telling = [
            task
            for task in self._tasks
            if task.task_type == types[0] and task.skills is not None and agents & {None, task.agent}
        ]
        asked = AskedSkill(
            name=name,
            is_installed=bool(lying),
            task_types=tuple(types),
            used_in=sum(uses_skill(task, name) for task in telling),
            known_in=len(telling),
        )
        return replace(self.advice(types[0], span=span), asked=asked)

    @cached_property
    def _lying(self) -> list[InstalledSkill]:
        return self._installed.skills()

    @cached_property
    def _tasks(self) -> list[FinishedSession]:
        return self._store.grades.finished_tasks(since=self._now - _WINDOW, until=self._now, limit=MOST_SESSIONS)

    @cached_property
    def _endings(self) -> dict[str, list[float]]:
        return endings_by_type(self._tasks)

    def _fitting(self, task_type: str, issues: Sequence[IssueRow]) -> tuple[FittingSkill, ...]:
        return fitting_skills(self._words(task_type, issues), [t for t in self._tasks if t.task_type == task_type])

    def _issues(self, task_type: str, span: Span) -> list[IssueRow]:
        issues = self._store.issues
        found = (
            issues.issue(each, span, until=self._now) for each in issues.of_task_type(task_type, span, _MOST_ISSUES)
        )
        return [row for row in found if row is not None and row.ignored_at is None]

    def _words(self, task_type: str, issues: Sequence[IssueRow]) -> dict[InstalledSkill, frozenset[str]]:
        """Return what in the name and description of each skill is of a type: its words, and commands that fail."""
        failing = {row.sign.command for row in issues if row.sign.command}
        found = {}
        for skill in self._lying:
            told = f"{skill.name}. {skill.description or ''}"
            found[skill] = self._task_types.said(told).get(task_type, frozenset()) | _named(failing, told)
        return found

    def _lessons(self, task_type: str, issues: Iterable[IssueRow]) -> Iterator[Lesson]:
        for row in issues:
            step = lesson_step(steps_of(row))
            if step is None:
                continue
            proof = self._store.issues.where_helped(row.sign.fingerprint, task_type, step, _PROOF)
            if len(proof) == _PROOF:
                yield Lesson(
                    fingerprint=row.sign.fingerprint,
                    tool=row.sign.tool,
                    command=row.sign.command,
                    category=row.sign.category,
                    failures=row.failures,
                    sessions=row.sessions,
                    step=step,
                    proof=proof,
                )


def _no_need(difference: Estimate) -> SkillReason | None:
    """Return why nothing is suggested for a type that differs so from the others; None where it is surely worse."""
    if difference.low is None:
        return SkillReason.TOO_FEW
    return SkillReason.NOT_WORSE if difference.low <= 0 else None


def _named(commands: Iterable[str], text: str) -> frozenset[str]:
    """Return those commands, "git push", whose words stand in a text next to each other."""
    words = f" {' '.join(words_of(text.lower()))} "
    return frozenset(command for command in commands if f" {' '.join(words_of(command.lower()))} " in words)
