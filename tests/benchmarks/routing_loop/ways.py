"""Ways of choosing a model: the product's own, and those of the literature that it is compared with."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol

from grader_daemon.domain.routing import WINDOW_DAYS, FinishedSession
from grader_daemon.routing.choice import Router
from grader_daemon.routing.job import route_document
from grader_daemon.routing.litellm import GraderRouting
from tests.benchmarks.routing_loop.worlds import World
from tests.routed import finished
from tests.routed_file import whole_route

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_EVERY_DAYS: Final = 2


class Task(NamedTuple):
    """A task that was done: on which day, of which type, by which model, and was it seen to fail?"""

    day: int
    task_type: str
    model: str
    failed: bool


class Way(Protocol):
    """A way of choosing."""

    def choose(self, day: int, task_type: str) -> str:
        """Return the model of a task."""

    def learn(self, task: Task) -> None:
        """Take note of what came of one."""


class Fixed:
    """Always the same model, as long as it may be asked; any where `model` is None."""

    def __init__(self, world: World, chance: random.Random, model: str | None) -> None:
        self._world, self._chance, self._model = world, chance, model

    def choose(self, day: int, task_type: str) -> str:  # noqa: ARG002  of a `Way`
        """Return the model of a task."""
        return self._chance.choice(self._world.allowed(day)) if self._model is None else self._model

    def learn(self, task: Task) -> None:
        """Take note of nothing."""


class Setting(NamedTuple):
    """Constants of a bandit: days after which a task counts half, whether types are told apart, and how it explores."""

    half_life_days: float
    by_type: bool
    exploring: float = 0.0


class Bandit:
    """A discounted bandit over the models that may be asked: counts of what was done and of what failed."""

    def __init__(self, world: World, chance: random.Random, setting: Setting) -> None:
        self.world, self.chance, self.setting = world, chance, setting
        self.done: dict[tuple[str, str], float] = {}
        self.failed: dict[tuple[str, str], float] = {}
        self._day = 0

    def choose(self, day: int, task_type: str) -> str:
        """Return the model of a task."""
        self._age(day)
        models = list(self.world.allowed(day))
        self.chance.shuffle(models)
        return max(models, key=lambda model: self.worth(self._cell(task_type, model)))

    def learn(self, task: Task) -> None:
        """Take note of what came of one."""
        counts = self.failed if task.failed else self.done
        cell = self._cell(task.task_type, task.model)
        counts[cell] = counts.get(cell, 0.0) + 1

    def worth(self, cell: tuple[str, str]) -> float:
        """Return by how much a model is to be asked; here its rate."""
        done, failed = self.done.get(cell, 0.0), self.failed.get(cell, 0.0)
        return (done + 1) / (done + failed + 2)

    def _cell(self, task_type: str, model: str) -> tuple[str, str]:
        return (task_type if self.setting.by_type else "", model)

    def _age(self, day: int) -> None:
        keeps = 0.5 ** ((day - self._day) / self.setting.half_life_days)
        self._day = day
        if keeps < 1:
            for counts in (self.done, self.failed):
                counts.update({cell: keeps * count for cell, count in counts.items()})


class EpsilonGreedy(Bandit):
    """The best rate, and with a chance of `exploring` any model."""

    def choose(self, day: int, task_type: str) -> str:
        """Return the model of a task."""
        best = super().choose(day, task_type)
        return self.chance.choice(self.world.allowed(day)) if self.chance.random() < self.setting.exploring else best


class Thompson(Bandit):
    """The best of one draw from the posterior of each (discounted: Raj and Kalyani, arXiv 1707.09727)."""

    def worth(self, cell: tuple[str, str]) -> float:
        """Return a draw."""
        return self.chance.betavariate(1 + self.done.get(cell, 0.0), 1 + self.failed.get(cell, 0.0))


class UpperBound(Bandit):
    """The best upper bound (discounted: Garivier and Moulines, arXiv 0805.3415), its width times `exploring`."""

    def worth(self, cell: tuple[str, str]) -> float:
        """Return the bound; without tasks it has none."""
        seen = self.done.get(cell, 0.0) + self.failed.get(cell, 0.0)
        if seen < 1:
            return math.inf
        scope = [count for counts in (self.done, self.failed) for (of, _), count in counts.items() if of == cell[0]]
        return super().worth(cell) + self.setting.exploring * math.sqrt(2 * math.log(sum(scope)) / seen)


class Advised:
    """The product: a route of the sessions so far, written as for routers, and LiteLLM's plugin that reads it."""

    def __init__(self, world: World, chance: random.Random, *, judged: bool, **options: Any) -> None:
        """`options` are those of a route; `judged` says that the outcome is known by a word, else by facts."""
        self._world, self._chance, self._judged, self._options = world, chance, judged, options
        self._sessions: list[FinishedSession] = []
        self._plugin = _Told({})
        self._made_on = -_EVERY_DAYS

    def choose(self, day: int, task_type: str) -> str:
        """Return one of the models that the plugin leaves."""
        if day >= self._made_on + _EVERY_DAYS:
            self._plugin, self._made_on = _Told(self._route(day)), day
        context = _Context(self._world.models(day), task_type)
        self._plugin._choose(context)
        return self._chance.choice(context.candidate_models)

    def learn(self, task: Task) -> None:
        """Take note of what came of one."""
        self._sessions.append(
            finished(
                session_id=f"s{len(self._sessions)}",
                ended_at=_START + timedelta(days=task.day),
                task_type=task.task_type,
                model=task.model,
                completed=not task.failed,
                judged=self._judged,
                unsure=not self._judged,
                ended_badly=task.failed,
                cost_usd=self._world.usd[task.model],
            )
        )

    def _route(self, day: int) -> dict[str, Any]:
        now = _START + timedelta(days=day)
        since = now - timedelta(days=WINDOW_DAYS)
        router = Router([each for each in self._sessions if each.ended_at >= since], [], now=now)
        document: dict[str, Any] = json.loads(route_document(whole_route(router, now=now, **self._options)))
        return document


class _Told(GraderRouting):
    """The plugin, told by a route in place of a file."""

    def __init__(self, route: dict[str, Any]) -> None:
        super().__init__("none")
        self._told = route

    def _current(self) -> dict[str, Any]:
        return self._told


class _Context:
    """A request, as LiteLLM hands it to a plugin."""

    def __init__(self, models: Sequence[str], task_type: str) -> None:
        self.candidate_models = list(models)
        self.structured_messages: list[dict[str, Any]] = []
        self.metadata = {"task_type": task_type}
        self.signals: dict[str, Any] = {}
