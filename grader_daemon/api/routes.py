"""Which model to prefer for which type of task."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from grader_daemon.api.context import GraderContext
from grader_daemon.domain.routing import Route, TaskRoute
from grader_daemon.errors import InputError
from grader_daemon.jobs.route_file import Routes, routes_of, write_route


class Routing:
    """What the finished sessions of the last 90 days say of models."""

    def __init__(self, context: GraderContext) -> None:
        self._context = context

    def route(
        self,
        *,
        task_type: str | None = None,
        models: Collection[str] | None = None,
        default: str | None = None,
        most_usd: float | None = None,
    ) -> Route:
        """Return the models to prefer, for all types of task of which there are sessions, or for one.

        Args:
            task_type: that one, which need not have any.
            models: those to choose from; without them all that are known.
            default: the one to compare with; without one that which is used most for a type.
            most_usd: a completed task may cost so much; a model whose price is not known is not preferred then.

        Raises:
            InputError: `most_usd` is not above 0.
        """
        if most_usd is not None and not most_usd > 0:
            raise InputError("what a completed task may cost is more than 0")
        return self._routes.route(
            self._context.now(), task_type=task_type, models=models, default=default, most_usd=most_usd
        )

    def recommend(self, task_type: str, models: Collection[str] | None = None, default: str | None = None) -> TaskRoute:
        """Return the model to prefer for one type of task, with what is known of the others; see `route`."""
        return self._routes.recommend(self._context.now(), task_type, models=models, default=default)

    @staticmethod
    def write(route: Route, path: str | os.PathLike[str]) -> None:
        """Write a route for a router to read: whole or not at all, for its owner alone.

        Raises:
            OutputError: it cannot be written there.
        """
        write_route(Path(path), route)

    @property
    def _routes(self) -> Routes:
        return routes_of(self._context.settings, self._context.store)
