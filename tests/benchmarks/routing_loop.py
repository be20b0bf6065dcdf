"""What LiteLLM's plugin brings where it makes the sessions that it is told by: a closed loop, simulated.

Run it as ``python -m tests.benchmarks.routing_loop [--homes N] [--jobs N]``; it needs nothing beside the repository.

A home has five models and four types of task. How likely a model completes a type is drawn: on the logit scale a model
lies off the middle by 0.6, a model at a type by 0.3 more (standard deviations). Twelve tasks come a day for 180 days.
Each goes to one of the models that the plugin leaves, by chance, and its outcome is drawn and known, as a reward is.
Every second day the route is made anew, of the sessions of 90 days. What counts is how much less likely the chosen
model completes a task than the best one for its type: the mean of all tasks, and that of the last 60 days.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import statistics
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from grader_daemon.domain.routing import WINDOW_DAYS, FinishedSession, TaskRoute
from grader_daemon.routing.choice import Router
from grader_daemon.routing.litellm import GraderRouting
from tests.benchmarks import machine
from tests.benchmarks.truth.processes import in_processes

_START = datetime(2026, 1, 1, tzinfo=UTC)
_DAYS, _A_DAY, _EVERY, _LAST = 180, 12, 2, 60
_MODELS = tuple(f"model-{letter}" for letter in "abcde")
_TYPES = ("coding", "debugging", "research", "writing")
_SPREAD, _SPREAD_AT_TYPE = 0.6, 0.3
WAYS = ("chance", "plugin", "plugin, default set", "best score")
_HOMES = 24

Rates = dict[tuple[str, str], float]
Regrets = dict[str, tuple[float, float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each way loses for each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=int, default=_HOMES, help="homes (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    options = parser.parse_args(arguments)
    found = in_processes(home, None, list(range(options.homes)), jobs=options.jobs)
    rows = [(way, *(f"{statistics.fmean(each[way][part] for each in found):.3f}" for part in (0, 1))) for way in WAYS]
    machine.print_table(("way", "lost a task", "in the last 60 days"), rows)
    return 0


def home(_: None, seed: int) -> Regrets:
    """Return what each way loses in one home, over all days and over the last ones."""
    rates = _rates(random.Random(f"rates {seed}"))
    return {way: _lost(way, rates, random.Random(f"{way} {seed}")) for way in WAYS}


def _rates(chance: random.Random) -> Rates:
    off = {model: chance.gauss(0, _SPREAD) for model in _MODELS}
    return {
        (task_type, model): 1 / (1 + math.exp(-off[model] - chance.gauss(0, _SPREAD_AT_TYPE)))
        for task_type in _TYPES
        for model in _MODELS
    }


def _lost(way: str, rates: Rates, chance: random.Random) -> tuple[float, float]:
    sessions: list[FinishedSession] = []
    losses: list[float] = []
    route: dict[str, TaskRoute] = {}
    for day in range(_DAYS):
        now = _START + timedelta(days=day)
        if day % _EVERY == 0 and way != "chance":
            route = _route(sessions, now, default=_MODELS[0] if way == "plugin, default set" else None)
        for _ in range(_A_DAY):
            task_type = chance.choice(_TYPES)
            model = chance.choice(_left(way, route, task_type))
            losses.append(max(rates[task_type, each] for each in _MODELS) - rates[task_type, model])
            sessions.append(_session(len(sessions), now, task_type, model, chance.random() < rates[task_type, model]))
    return statistics.fmean(losses), statistics.fmean(losses[-_LAST * _A_DAY :])


def _route(sessions: Sequence[FinishedSession], now: datetime, *, default: str | None) -> dict[str, TaskRoute]:
    since = now - timedelta(days=WINDOW_DAYS)
    router = Router([each for each in sessions if each.ended_at >= since], [], now=now)
    return {task_type: router.route(task_type, default=default) for task_type in (*router.task_types, "")}


def _left(way: str, route: dict[str, TaskRoute], task_type: str) -> Sequence[str]:
    """Return the models to which a task may go."""
    if not route:
        return _MODELS
    if way == "best score":
        scores = route.get(task_type, route[""]).models
        return [max(scores, key=lambda score: score.score).model] if scores else _MODELS
    return _by_plugin(route, task_type)


class _Told(GraderRouting):
    """The plugin, told by a route in place of a file."""

    def __init__(self, route: dict[str, Any]) -> None:
        super().__init__("none")
        self._told = route

    def _current(self) -> dict[str, Any]:
        return self._told


class _Context:
    """A request, as LiteLLM hands it to a plugin."""

    def __init__(self, task_type: str) -> None:
        self.candidate_models = list(_MODELS)
        self.structured_messages: list[dict[str, Any]] = []
        self.metadata = {"task_type": task_type}
        self.signals: dict[str, Any] = {}


def _by_plugin(route: dict[str, TaskRoute], task_type: str) -> Sequence[str]:
    told = {name: msgspec.to_builtins(each) for name, each in route.items()}
    document = {"task_types": told, "others": told[""], "words": {}, "aliases": {}}
    context = _Context(task_type)
    asyncio.run(_Told(document).run(context))
    return context.candidate_models


def _session(number: int, now: datetime, task_type: str, model: str, completed: bool) -> FinishedSession:
    return FinishedSession(
        session_id=f"s{number}",
        ended_at=now,
        task_type=task_type,
        model=model,
        completed=completed,
        p_completed=None,
        judged=True,
        unsure=False,
        request=None,
        cost_usd=None,
    )


if __name__ == "__main__":
    sys.exit(main())
