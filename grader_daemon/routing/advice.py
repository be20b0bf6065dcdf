"""The choice of a model for each type of task, as Python asks for it."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from grader_daemon.api.context import GraderPart
from grader_daemon.domain.routing import Route, TaskRoute
from grader_daemon.errors import InputError
from grader_daemon.routing.job import Routes, write_route


class Advice(GraderPart):
    """The part `routing` of `SelfGrader`; see `api.parts.Routing`."""

    def route(
        self,
        *,
        task_type: str | None = None,
        models: Collection[str] | None = None,
        default: str | None = None,
        most_usd: float | None = None,
    ) -> Route:
        """Return the models to prefer, for all types of task or for one."""
        if most_usd is not None and not most_usd > 0:
            raise InputError("the maximum cost of a done task must be above 0")
        if task_type is not None:
            self._context.check_task_type(task_type)
        return self._routes.route(
            self._context.now(), task_type=task_type, models=models, default=default, most_usd=most_usd
        )

    def recommend(self, task_type: str, models: Collection[str] | None = None, default: str | None = None) -> TaskRoute:
        """Return the model to prefer for one type of task."""
        return self._routes.recommend(self._context.now(), task_type, models=models, default=default)

    @staticmethod
    def write(route: Route, path: str | os.PathLike[str]) -> None:
        """Write a route for a router to read."""
        write_route(Path(path), route)

    @property
    def _routes(self) -> Routes:
        return Routes(self._context.store, self._context.settings)
