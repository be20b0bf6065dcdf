"""The route: which model to prefer for which type of task, and the file in which routers find it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from grader_daemon._version import SCHEMA_VERSION
from grader_daemon.analysis.user_messages.task_types import TaskTypes
from grader_daemon.domain.ledger import FileState
from grader_daemon.domain.routing import HALF_LIFE_DAYS, MOST_SESSIONS, WINDOW_DAYS, Route, RouteCoverage, TaskRoute
from grader_daemon.domain.text import escaped
from grader_daemon.errors import OutputError
from grader_daemon.integrations.files import replace_file
from grader_daemon.pipeline.save_labels import labels
from grader_daemon.routing.choice import Router
from grader_daemon.rules import load_rules
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_AT_MOST_EVERY: Final = timedelta(minutes=1)
_AT_LEAST_EVERY: Final = timedelta(hours=12)
"""Highest age of a file though no session ends: sessions age, and readers take an old one for abandoned."""
_OTHER: Final = ""
"""The name of no type of task."""


class Routes:
    """Makes routes of what a database holds."""

    def __init__(self, store: SqliteStore, settings: Settings) -> None:
        """`settings` have default, limit of cost, share that explores, and other names of models.

        Raises:
            ConfigurationError: the rules file is wrong.
        """
        self._store = store
        self._settings = settings
        self._rules = load_rules(settings.rules_file)

    def route(
        self,
        now: datetime,
        *,
        task_type: str | None = None,
        models: Collection[str] | None = None,
        default: str | None = None,
        most_usd: float | None = None,
    ) -> Route:
        """Choose models for all types of task of which there are sessions, or for one; see `Router.route`."""
        router, sessions = self._router(now)
        default, most_usd = self._set(default, most_usd)
        types = router.task_types if task_type is None else [task_type]
        found = {
            each: router.route(each, models=models, default=default, most_usd=most_usd) for each in (*types, _OTHER)
        }
        status = self._store.daemon.status()
        return Route(
            made_at=now,
            prior_days=WINDOW_DAYS,
            half_life_days=HALF_LIFE_DAYS,
            rules_version=self._rules.version,
            coverage=RouteCoverage(
                sessions=sessions,
                graded=self._store.file_counts().get(FileState.GRADED, 0),
                waiting=0 if status is None else status.backlog,
            ),
            explore=self._settings.route_explore,
            task_types={each: found[each] for each in types},
            others=found[_OTHER],
            words=TaskTypes(self._rules.task_types).words,
            aliases=dict(alias.split("=", 1) for alias in self._settings.route_aliases),
        )

    def recommend(
        self, now: datetime, task_type: str, *, models: Collection[str] | None, default: str | None
    ) -> TaskRoute:
        """Choose a model for one type of task; see `Router.route`."""
        default, most_usd = self._set(default, None)
        return self._router(now)[0].route(task_type, models=models, default=default, most_usd=most_usd)

    def _set(self, default: str | None, most_usd: float | None) -> tuple[str | None, float | None]:
        """Return what is asked for, else what is set."""
        settings = self._settings
        return (
            settings.route_default if default is None else default,
            settings.route_max_cost if most_usd is None else most_usd,
        )

    def _router(self, now: datetime) -> tuple[Router, int]:
        since = now - timedelta(days=WINDOW_DAYS)
        sessions = self._store.grades.finished_tasks(since=since, limit=MOST_SESSIONS)
        judged = [session.session_id for session in sessions if session.judged]
        return Router(sessions, labels(self._store, judged), now=now), len(sessions)


class RouteJob:
    """Job that keeps the file up to date, when nothing waits to be graded that might belong in it."""

    name = "route"

    def __init__(self, store: SqliteStore, routes: Routes, path: Path, *, is_settled: Callable[[], bool]) -> None:
        self._store = store
        self._routes = routes
        self._path = path
        self._is_settled = is_settled
        self._written_at: datetime | None = None
        self._change = -1

    def run(self, now: datetime) -> bool:
        """Write the file if a grade or a label changed since, if it is gone or old; once a minute at most.

        Returns:
            whether it was written.

        Raises:
            OutputError: it cannot be written there.
        """
        change = self._store.changes.newest()
        if not self._is_due(now, change):
            return False
        write_route(self._path, self._routes.route(now))
        self._written_at, self._change = now, change
        return True

    def _is_due(self, now: datetime, change: int) -> bool:
        if self._written_at is None or now < self._written_at:
            return True
        age = now - self._written_at
        if age < _AT_MOST_EVERY:
            return False
        if age >= _AT_LEAST_EVERY or not os.path.exists(self._path):
            return True
        return change != self._change and self._is_settled()


def route_jobs(settings: Settings, store: SqliteStore, *, is_settled: Callable[[], bool]) -> list[RouteJob]:
    """Return the job that keeps the file of the setting `route_file`; none without it.

    Raises:
        ConfigurationError: the rules file is wrong.
    """
    if settings.route_file is None:
        return []
    return [RouteJob(store, Routes(store, settings), settings.route_file, is_settled=is_settled)]


def route_document(route: Route) -> str:
    """Return a route as the JSON that is written for other programs."""
    fields = {"schema_version": SCHEMA_VERSION, **msgspec.structs.asdict(route)}
    return escaped(msgspec.json.format(msgspec.json.encode(fields), indent=1).decode()) + "\n"


def write_route(path: Path, route: Route) -> None:
    """Write a route to a file, whole or not at all, readable by its owner alone.

    Raises:
        OutputError: it cannot be written there.
    """
    try:
        replace_file(path, route_document(route))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
