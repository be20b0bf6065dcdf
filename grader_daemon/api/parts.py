"""Parts of `SelfGrader` that wings give: their public methods, which the core knows, and no more of them."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Protocol

from grader_daemon.domain.routing import Route, TaskRoute


class Routing(Protocol):
    """Models to prefer, by the finished sessions of the last 90 days."""

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

    def recommend(self, task_type: str, models: Collection[str] | None = None, default: str | None = None) -> TaskRoute:
        """Return the model to prefer for one type of task, with what is known of the others; see `route`."""

    @staticmethod
    def write(route: Route, path: str | os.PathLike[str]) -> None:
        """Write a route for a router to read: whole or not at all, for its owner alone.

        Raises:
            OutputError: it cannot be written there.
        """
