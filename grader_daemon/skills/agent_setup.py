"""Set-up of agents: what changed of it, whether that mattered, and which skills they have and could use."""

from __future__ import annotations

from datetime import datetime, timedelta

from grader_daemon.analysis.user_messages.task_types import TaskTypes
from grader_daemon.api.context import GraderContext
from grader_daemon.domain.calendar import beginning, last_days
from grader_daemon.domain.routing import WINDOW_DAYS
from grader_daemon.domain.setup_changes import USUAL_SPAN, SetupChange, SetupChanges
from grader_daemon.domain.skills import SkillAdvice, SkillDetail, Skills
from grader_daemon.skills.places import Installed
from grader_daemon.skills.read_changes import changes_between, setup_changes
from grader_daemon.skills.skill_book import SkillBook


class Setup:
    """Set-up of agents, by what their sessions and their files show."""

    def __init__(self, context: GraderContext) -> None:
        self._context = context

    def changes(self, since: timedelta | datetime = USUAL_SPAN) -> SetupChanges:
        """Return what changed since then, the newest first, and how work went before and since.

        Args:
            since: a span back from now, or a moment; one without a zone is in that of the settings.
        """
        now = self._context.now()
        begin = beginning(since, now, self._context.settings.zone)
        return setup_changes(self._context.store, begin, now)

    def changes_alone(self, since: timedelta | datetime = USUAL_SPAN) -> list[SetupChange]:
        """Return what changed since then, in order, without how work went, which takes longer.

        Args:
            since: as of `changes`.
        """
        now = self._context.now()
        begin = beginning(since, now, self._context.settings.zone)
        return changes_between(self._context.store, begin, now)

    def skills(self) -> Skills:
        """Return the skills that lie here, and those that tasks of the last 90 days used, the most used first."""
        return self._book.skills(self._context.now())

    def skill(self, name: str) -> SkillDetail:
        """Return one skill with its versions, the newest first, and how work went before and since each.

        Raises:
            NotFoundError: none of this name lies here or was used.
        """
        return self._book.skill(name, self._context.now())

    def suggest_skill(self, task_type: str) -> SkillAdvice:
        """Return what could help with a type of task, if its tasks surely end badly more often than all others.

        Raises:
            InputError: no session is of this type, and no rule gives it.
        """
        self._context.check_task_type(task_type)
        return self._book.advice(task_type, self._context.now(), span=last_days(WINDOW_DAYS, self._context.today))

    @property
    def _book(self) -> SkillBook:
        installed = Installed.of(self._context.settings)
        return SkillBook(self._context.store, installed, TaskTypes(self._context.rules.task_types))
