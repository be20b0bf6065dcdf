"""The skills that agents have: of what lies on disk and what the database holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from msgspec.structs import replace

from grader_daemon.analysis.user_messages.task_types import TaskTypes
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.insight import IssueRow
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
    """Facts about skills: those that lie there, and those that the tasks of 90 days used."""

    def __init__(self, store: SqliteStore, installed: Installed, task_types: TaskTypes) -> None:
        self._store = store
        self._observed = ObservedVersions(store)
        self._installed = installed
        self._task_types = task_types

    def skills(self, now: datetime) -> Skills:
        """Return all skills, the most used first."""
        tasks = self._tasks(now)
        records = skill_records(self._installed.skills(), self._observed.versions(), tasks)
        return Skills(tasks=len(tasks), skills=tuple(records))

    def skill(self, name: str, now: datetime) -> SkillDetail:
        """Return one skill, with its versions and what is known of their effects.

        Raises:
            NotFoundError: none of this name lies there or was used.
        """
        observed = self._observed.versions()
        records = skill_records(self._installed.skills(), observed, self._tasks(now))
        record = next((each for each in records if each.name == name), None)
        if record is None:
            raise NotFoundError(f"no skill is called {name!r}; `grader-daemon skills` names all")
        versions = [each for each in observed if each.kind is InstalledKind.SKILL and each.name == name]
        changes = setup_changes(self._store, now - _WINDOW, now)
        return SkillDetail(
            skill=record,
            versions=tuple(reversed(versions)),
            effects=tuple(
                effect
                for effect in changes.effects
                if any(change.kind is SetupKind.SKILL and change.name == name for change in effect.changes)
            ),
        )

    def advice(self, task_type: str, now: datetime, *, span: Span) -> SkillAdvice:
        """Return what could help with a type of task; `span` are the days whose failures are looked at."""
        return self._advice(task_type, self._tasks(now), now, span)

    def advice_on(self, name: str, now: datetime, *, span: Span) -> SkillAdvice | None:
        """Return the same for the type that a skill of that name is about; None if its words tell of none.

        Of several it is the one that ends badly most beyond doubt, then the one with most tasks.
        """
        lying = [skill for skill in self._installed.skills() if skill.name == name]
        told = " ".join([name, *(skill.description or "" for skill in lying)])
        tasks = self._tasks(now)
        found = [self._advice(task_type, tasks, now, span) for task_type in self._task_types.said(told)]
        if not found:
            return None
        ordered = sorted(found, key=lambda each: (-(each.difference.low or -1.0), -each.ended_badly.sample))
        telling = [task for task in tasks if task.task_type == ordered[0].task_type and task.skills is not None]
        asked = AskedSkill(
            name=name,
            is_installed=bool(lying),
            task_types=tuple(each.task_type for each in ordered),
            used_in=sum(uses_skill(task, name) for task in telling),
            known_in=len(telling),
        )
        return replace(ordered[0], asked=asked)

    def unused(self, task_type: str, now: datetime, *, span: Span) -> tuple[FittingSkill, ...]:
        """Return the skills that lie here, are about a type of task, and are not used there."""
        return self._fitting(task_type, self._tasks(now), self._issues(task_type, span, now))

    def _fitting(
        self, task_type: str, tasks: Iterable[FinishedSession], issues: Sequence[IssueRow]
    ) -> tuple[FittingSkill, ...]:
        return fitting_skills(self._words(task_type, issues), [t for t in tasks if t.task_type == task_type])

    def _advice(self, task_type: str, tasks: Sequence[FinishedSession], now: datetime, span: Span) -> SkillAdvice:
        compared = compared_with_others(task_type, tasks)
        issues = self._issues(task_type, span, now)
        skills = self._fitting(task_type, tasks, issues)
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

    def _tasks(self, now: datetime) -> list[FinishedSession]:
        return self._store.grades.finished_tasks(since=now - _WINDOW, limit=MOST_SESSIONS)

    def _issues(self, task_type: str, span: Span, now: datetime) -> list[IssueRow]:
        issues = self._store.issues
        found = (issues.issue(each, span, until=now) for each in issues.of_task_type(task_type, span, _MOST_ISSUES))
        return [row for row in found if row is not None and row.ignored_at is None]

    def _words(self, task_type: str, issues: Sequence[IssueRow]) -> dict[InstalledSkill, frozenset[str]]:
        """Return what in the name and description of each skill is of a type: its words, and commands that fail."""
        failing = {row.sign.command for row in issues if row.sign.command}
        found = {}
        for skill in self._installed.skills():
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
