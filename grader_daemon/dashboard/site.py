"""Site that all visits share: the settings, the database, and how pages are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
from jinja2 import Environment, PackageLoader, StrictUndefined

from grader_daemon import bootstrap
from grader_daemon.alerts.settlement import is_news
from grader_daemon.api.change_watch import ChangeWatch
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter
from grader_daemon.dashboard.access import Access
from grader_daemon.dashboard.addresses import BAR, GRADER, PROBLEMS
from grader_daemon.dashboard.assets import Assets
from grader_daemon.dashboard.examination import Examination
from grader_daemon.dashboard.first_grading import FirstGrading
from grader_daemon.dashboard.label_trial import LabelTrial
from grader_daemon.dashboard.live import Live
from grader_daemon.dashboard.shortcuts import for_page, for_script
from grader_daemon.dashboard.words import filters, shown
from grader_daemon.domain.grade import Grade
from grader_daemon.errors import StoreError
from grader_daemon.reports.told_apart import title_among

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

Answer = TypeVar("Answer")

THEMES: Final = ("light", "dark")
THEME_COOKIE: Final = "grader_theme"

_RECENT: Final = timedelta(minutes=1)
_MOST_RECENT: Final = 8

_FOR_THE_OWNER: Final = ("/review",)
"""Pages that are closed to whoever only reads."""

_NEWEST: Final = GradeFilter(limit=100)
"""What a beginning that many requests share is looked for in."""


class Site:
    """State that visits share. They are answered one at a time by `in_turn`."""

    def __init__(
        self,
        settings: Settings,
        door: Callable[[], Access],
        *,
        clock: bootstrap.Clock = bootstrap.utc_now,
        first_grading: FirstGrading | None = None,
    ) -> None:
        """`door` is asked at each request who may look now; without `first_grading` the pages begin none."""
        self.settings = settings
        self.reads_only = door().reads_only
        self._door = door
        self.clock = clock
        self.assets = Assets()
        self.examination = Examination(settings, clock)
        self.label_trial = LabelTrial(settings, clock)
        self.live = Live(ChangeWatch(settings), lambda: self.work_mark)
        self.first_grading = first_grading
        self._grader: SelfGrader | None = None
        self._is_read = False
        self._recent: dict[str, tuple[datetime, Any]] = {}
        self._turn: anyio.CapacityLimiter | None = None

    @property
    def access(self) -> Access:
        """Access as it is now."""
        return self._door()

    @property
    def grader(self) -> SelfGrader:
        """Grader that answers about the database that stands at its path now.

        Raises:
            StoreError: it is to be the copy of a fleet, and nothing of that is in it yet.
        """
        if self._grader is not None and not self._grader.is_in_place:
            self._grader.close()
            self._grader = None
            self._recent.clear()
            self._is_read = False
        if self._grader is None:
            self._grader = SelfGrader(settings=self.settings, clock=self.clock)
        if self.reads_only and not self._is_read:
            self._is_read = self._grader.context.has_database and self._grader.context.fleet_view() is not None
            if not self._is_read:
                raise StoreError("the fleet has not been read yet: reload in a moment")
        return self._grader

    def recent(self, key: str, make: Callable[[], Answer]) -> tuple[datetime, Answer]:
        """Return what was made of this database in the last minute under a key, and when; else make it now.

        For what takes longer than a page may: the report of a week that goes on.
        """
        now = self.grader.context.now()
        known = self._recent.pop(key, None)
        made = known if known is not None and timedelta(0) <= now - known[0] < _RECENT else (now, make())
        self._recent[key] = made
        while len(self._recent) > _MOST_RECENT:
            del self._recent[next(iter(self._recent))]
        return made

    @property
    def work_mark(self) -> str:
        """Mark that is another one while something goes on in the background, so that open pages hear of its end."""
        state = None if self.first_grading is None else self.first_grading.state
        grades = state is not None and state.goes_on
        return f"{'+' if grades else ''}{'*' if self.label_trial.goes_on else ''}"

    def take_over(self, settings: Settings) -> None:
        """Answer by other settings from now on."""
        if self._grader is not None:
            self._grader.close()
            self._grader = None
        self.settings = settings
        self.examination = Examination(settings, self.clock)
        self.label_trial = LabelTrial(settings, self.clock)

    async def in_turn(self, answer: Callable[[], Answer]) -> Answer:
        """Answer in a thread of its own, when those before it are answered."""
        self._turn = self._turn or anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(answer, limiter=self._turn)

    def close(self) -> None:
        """Close the database, and end the first grading."""
        if self.first_grading is not None:
            self.first_grading.close()
        if self._grader is not None:
            self._grader.close()

    def render(self, template: str, *, cookies: Mapping[str, str], values: dict[str, Any]) -> str:
        """Return a page as HTML, in the colours that a cookie asks for."""
        theme = cookies.get(THEME_COOKIE, "")
        return self._templates.get_template(template).render(
            theme=theme if theme in THEMES else "auto",
            **(values if "alert_news" in values else values | {"alert_news": self._alert_news()}),
        )

    def title(self, grade: Grade) -> str:
        """Return what was asked for, as far as it differs from what the newest sessions were asked for."""
        newest = self.recent(
            "titles", lambda: [_asked_for(each.grade) for each in self.grader.grades.page(_NEWEST).grades]
        )
        return title_among(_asked_for(grade), newest[1])

    def _alert_news(self) -> int:
        """Count the open alerts that nobody acknowledged or silenced."""
        if not self.grader.context.has_database:
            return 0
        insight = self.grader.insight
        silences = insight.silences()
        return sum(is_news(alert, silences) for alert in insight.alerts())

    @cached_property
    def _templates(self) -> Environment:
        made = Environment(
            loader=PackageLoader("grader_daemon.dashboard"),
            autoescape=True,
            finalize=shown,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        made.filters |= filters(self.settings.zone)
        closed = _FOR_THE_OWNER if self.reads_only else ()
        made.globals |= {
            "bar": BAR,
            "grader_pages": [each for each in GRADER if each.address not in closed],
            "problems": PROBLEMS,
            "assets": self.assets,
            "title_of": self.title,
            "reads_only": self.reads_only,
            "form_token": lambda: self.access.form_token,
            "shortcuts": partial(for_page, closed=closed),
            "keys": partial(for_script, closed=closed),
        }
        return made


def _asked_for(grade: Grade) -> str:
    return grade.task_summary or grade.session_id
