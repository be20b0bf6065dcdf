"""How agents are set up: what changed of it, and whether that mattered."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from grader_daemon.api.context import GraderContext
from grader_daemon.domain.calendar import beginning
from grader_daemon.domain.setup_changes import SetupChanges
from grader_daemon.jobs.change_effects import setup_changes

_USUAL: Final = timedelta(days=90)


class Setup:
    """How agents are set up, by what their sessions and their files show."""

    def __init__(self, context: GraderContext) -> None:
        self._context = context

    def changes(self, since: timedelta | datetime = _USUAL) -> SetupChanges:
        """Return what changed since then, the newest first, and how work went before and since.

        Args:
            since: a span back from now, or a moment; one without a zone is in that of the settings.
        """
        now = self._context.now()
        begin = beginning(since, now, self._context.settings.zone)
        return setup_changes(self._context.store, since=begin, until=now)
