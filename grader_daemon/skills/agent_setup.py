"""Set-up of agents: what changed of it, whether that mattered, and which skills they have and could use."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from grader_daemon.analysis.user_messages.task_types import TaskTypes
from grader_daemon.domain.calendar import beginning, day_of, last_days
from grader_daemon.domain.insight import Patterns
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.routing import WINDOW_DAYS
from grader_daemon.domain.setup_changes import USUAL_SPAN, SetupChange, SetupChanges
from grader_daemon.domain.skills import SkillAdvice, SkillDetail, Skills
from grader_daemon.errors import InputError
from grader_daemon.reports.suggestions import unused_skills
from grader_daemon.rules import load_rules
from grader_daemon.skills.places import Installed
from grader_daemon.skills.read_changes import changes_between, setup_changes
from grader_daemon.skills.skill_book import SkillBook
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.api.context import GraderContext
    from grader_daemon.settings import Settings


class Setup:
    """Set-up of agents, by what their sessions and their files show."""

    def __init__(self, context: GraderContext) -> None:
        self._context = context

    def changes(self, since: timedelta | datetime = USUAL_SPAN) -> SetupChanges:
        """Return the changes since then, the newest first, with results before and after each.

        Args:
            since: a span back from now, or a moment; one without a zone is in that of the settings.
        """
        now = self._context.now()
        begin = beginning(since, now, self._context.settings.zone)
        return setup_changes(self._context.store, begin, now)

    def changes_alone(self, since: timedelta | datetime = USUAL_SPAN) -> list[SetupChange]:
        """Return the changes since then, in order, without results, which take longer.

        Args:
            since: as of `changes`.
        """
        now = self._context.now()
        begin = beginning(since, now, self._context.settings.zone)
        return changes_between(self._context.store, begin, now)

    def skills(self) -> Skills:
        """Return the installed skills and those used by tasks of the last 90 days, the most used first."""
        return self._book.skills()

    def skill(self, name: str) -> SkillDetail:
        """Return one skill with its versions, the newest first, and results before and after each.

        Raises:
            NotFoundError: none of this name lies here or was used.
        """
        return self._book.skill(name)

    def suggest_skill(self, name: str) -> SkillAdvice:
        """Return advice for a task type, if its tasks clearly end badly more often than all others.

        Args:
            name: a type of task, or a skill, here or not, whose words tell which type it is about.

        Raises:
            InputError: it is neither.
        """
        book, span = self._book, last_days(WINDOW_DAYS, self._context.today)
        try:
            self._context.check_task_type(name)
        except InputError:
            advice = book.advice_on(name, span=span)
            if advice is None:
                raise
            return advice
        return book.advice(name, span=span)

    def unused_skills(self, patterns: Patterns) -> tuple[str, ...]:
        """Return a sentence on each task type that needs an installed skill which is hardly used there."""
        context = self._context
        advice_on = skill_advice(context.settings, context.store, context.now())
        return tuple(unused_skills(patterns.groups[Dimension.TASK_TYPE], patterns.overall, advice_on))

    @property
    def _book(self) -> SkillBook:
        context = self._context
        installed, task_types = Installed.of(context.settings), TaskTypes(context.rules.task_types)
        return SkillBook(context.store, installed, task_types, now=context.now())


def skill_advice(settings: Settings, store: SqliteStore, until: datetime) -> Callable[[str], SkillAdvice]:
    """Return what finds how a type of task ended in the 90 days before a moment, and which skill could help."""
    span = last_days(WINDOW_DAYS, day_of(until, settings.zone))

    @cache
    def book() -> SkillBook:
        task_types = TaskTypes(load_rules(settings.rules_file).task_types)
        return SkillBook(store, Installed.of(settings), task_types, now=until)

    return lambda task_type: book().advice(task_type, span=span)
