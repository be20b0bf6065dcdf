"""`SelfGrader`, which other programs call."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from grader_daemon import bootstrap
from grader_daemon.api.context import GraderContext, paths_of
from grader_daemon.errors import InputError
from grader_daemon.wings import part

if TYPE_CHECKING:
    from grader_daemon.api.calibration import Calibrations
    from grader_daemon.api.grades import Grades
    from grader_daemon.api.grading import Grading
    from grader_daemon.api.insight import Insight
    from grader_daemon.api.labels import Labels
    from grader_daemon.api.overview import Overview
    from grader_daemon.api.parts import Routing, Setup
    from grader_daemon.api.review import Reviews
    from grader_daemon.api.status import Status
    from grader_daemon.domain.calibration import Calibration
    from grader_daemon.domain.check import Check
    from grader_daemon.domain.grade import Grade
    from grader_daemon.domain.insight import Patterns, WeeklyReport
    from grader_daemon.domain.routing import TaskRoute
    from grader_daemon.domain.skills import SkillAdvice
    from grader_daemon.settings import Settings
    from grader_daemon.storage.maintenance.backup import Backup
    from grader_daemon.storage.sqlite.store import SqliteStore


class SelfGrader:
    """Grades sessions and answers questions about grades; safe beside a running daemon, and in several threads.

    Its parts: `grading` grades sessions, `grades` reads their grades, `insight` combines many grades, `labels` holds
    people's labels, and `review` selects the sessions that people should label next. `calibration` says how far
    verdicts can be trusted, and `routing` which model to prefer. `setup` lists changes of the set-up with their
    effects, and the skills of agents. Each part is imported when it is first used, so that `status` starts fast. The
    methods of the original design are here too.

    Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        *,
        db_path: str | os.PathLike[str] | None = None,
        watch_roots: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        settings: Settings | None = None,
        clock: bootstrap.Clock = bootstrap.utc_now,
        store: SqliteStore | None = None,
        fleet: str | None = None,
    ) -> None:
        """Use the daemon's own settings, but for what is given here; a single text is one folder.

        `clock` returns the time, aware; `store` is an open database in place of the one at `db_path`. `fleet` is the
        URL of a team's PostgreSQL, of which a copy is asked in place of this machine's grades: see `read_fleet`.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        self.settings = settings or _loaded(
            db_path=None if db_path is None else os.fspath(db_path),
            watch_roots=None if watch_roots is None else paths_of(watch_roots),
        )
        if fleet is not None:
            self.settings = part("copies").settings_of(_loaded(fleet_read_url=fleet))
        self.context = GraderContext(self.settings, clock=clock, store=store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; no method works afterwards."""
        self.context.close()

    # -- the parts -------------------------------------------------------------------------------------------------

    @cached_property
    def grading(self) -> Grading:
        """Grading: from session files to grades."""
        from grader_daemon.api.grading import Grading

        return Grading(self.context)

    @cached_property
    def grades(self) -> Grades:
        """The grades that are stored."""
        from grader_daemon.api.grades import Grades

        return Grades(self.context)

    @cached_property
    def insight(self) -> Insight:
        """Insight from many grades together: patterns, error issues, weekly reports, alerts."""
        from grader_daemon.api.insight import Insight

        return Insight(self.context)

    @cached_property
    def labels(self) -> Labels:
        """Labels: what people say of grades."""
        from grader_daemon.api.labels import Labels

        return Labels(self.context)

    @cached_property
    def review(self) -> Reviews:
        """Reviews: what people, or a scorer, should judge next."""
        from grader_daemon.api.review import Reviews

        return Reviews(self.context)

    @cached_property
    def calibration(self) -> Calibrations:
        """Calibration: how far verdicts can be trusted, and learning from labels."""
        from grader_daemon.api.calibration import Calibrations

        return Calibrations(self.context)

    @cached_property
    def routing(self) -> Routing:
        """Routing: which model to prefer for which type of task."""
        routing: Routing = part("routing")(self.context)
        return routing

    @cached_property
    def setup(self) -> Setup:
        """Set-up of agents: what changed in it, whether it mattered, and which skills they have."""
        setup: Setup = part("setup")(self.context)
        return setup

    @property
    def is_in_place(self) -> bool:
        """True if the database that was opened, if any was, still stands at its path; else use a new `SelfGrader`."""
        return self.context.is_in_place

    # -- the whole -------------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return whether the daemon runs on this database, and what it has done. Never creates a database."""
        from grader_daemon.api.status import read_status

        return read_status(self.context)

    def overview(self, *, days: int = 7) -> Overview:
        """Return a summary: the daemon's state, problems, and the last days compared with the days before."""
        from grader_daemon.api.overview import overview

        return overview(self.context, days=days)

    def doctor(self, *, full: bool = False) -> list[Check]:
        """Check the machine and the set-up; each check that is not ok says what to do. Changes nothing.

        Of a database above 100 MB a sample is checked, unless `full`.
        """
        from grader_daemon.api.doctor import examine

        return examine(lambda: self.settings, clock=self.context.now, full=full)

    def read_fleet(self) -> int:
        """Read new rows of this grader's fleet; returns the number of sessions.

        Raises:
            InputError: it is of none.
            DeliveryError: the fleet's database is away.
            CallError, StoreError: it cannot be read.
        """
        if self.context.fleet is None:
            raise InputError("this SelfGrader reads this machine; for a fleet use SelfGrader(fleet=URL)")
        return sum(self.context.fleet.catch_up(self.context.now))

    def migrate(self) -> None:
        """Upgrade a database of an older version, as every writing method does; there may be no database."""
        if self.context.has_database:
            self.context.make_store()

    def backup(self, path: str | os.PathLike[str]) -> Backup:
        """Copy the database to the file `path` while programs keep writing to it; replaces an older backup.

        Raises:
            InputError: `path` is the database itself, or a file that is no backup.
            StoreError: the database cannot be read, or `path` not be written.
        """
        from grader_daemon.api.backups import back_up

        return back_up(self.settings, path)

    # -- the names of the original design --------------------------------------------------------------------------

    def grade_session_file(self, path: str | os.PathLike[str]) -> Grade:
        """Grade one file and store the grade; see `Grading.grade_file`."""
        return self.grading.grade_file(path)

    def grade_latest_sessions(self, n: int = 10) -> list[Grade]:
        """Grade up to `n` ungraded sessions, the last written first."""
        return self.grading.grade_latest(n)

    def identify_patterns(self, days: float = 7) -> Patterns:
        """Return common patterns in the finished sessions of the last `days` days; see `Insight.patterns`."""
        return self.insight.patterns(days)

    def generate_weekly_report(self, week: str | date | None = None) -> WeeklyReport:
        """Return the report of an ISO week; see `Insight.weekly_report`."""
        return self.insight.weekly_report(week)

    def get_grades_summary(self, days: float = 7) -> str:
        """Return a summary of the last days as text for people."""
        return self.insight.summary_text(days)

    def get_task_score(self, task_type: str, *, days: float | None = None) -> float:
        """Return the mean session score (1-5) of a task type; `math.nan` without sessions.

        Raises:
            InputError: no session is of this type, and no rule gives it.
        """
        score = self.insight.task_score(task_type, days=days)
        return math.nan if score is None else score

    def recommend_model(
        self, task_type: str, models: Collection[str] | None = None, default: str | None = None
    ) -> TaskRoute:
        """Return the recommended model for a task type, if one is known to be better; see `Routing.recommend`."""
        return self.routing.recommend(task_type, models, default)

    def recommend_skill(self, name: str) -> SkillAdvice:
        """Return a skill to use or to write for a task type that needs one; see `Setup.suggest_skill`.

        Args:
            name: a type of task, or a skill: then the advice is for the type that it is about.

        Raises:
            InputError: it is neither.
        """
        return self.setup.suggest_skill(name)

    def calibrate(self) -> Calibration:
        """Learn from all current labels; see `Calibrations.learn`."""
        return self.calibration.learn()


def _loaded(**flags: Any) -> Settings:
    from grader_daemon.settings import load_settings  # who has settings need not wait for it

    return load_settings(**flags)
