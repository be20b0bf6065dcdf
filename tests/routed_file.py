"""A file for routers, as the daemon writes it, of a home in which one model is better."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from grader_daemon.analysis.user_messages.task_types import TaskTypes
from grader_daemon.domain.routing import HALF_LIFE_DAYS, WINDOW_DAYS, Route, RouteCoverage
from grader_daemon.routing.choice import Router
from grader_daemon.routing.job import write_route
from grader_daemon.rules import load_rules
from tests.routed import several
from tests.strategies import NOW


def write_route_file(
    path: Path, *, cheap: str = "cheap", strong: str = "strong", default: str | None = "cheap", **aliases: str
) -> Path:
    """Write that the strong model is better at debugging, the cheap one at research, none at documentation."""
    sessions = [*several(200, 60, model=cheap), *several(200, 180, model=strong)]
    sessions += [*several(2000, 1600, model=cheap, task_type="research")]
    sessions += [*several(2000, 1200, model=strong, task_type="research")]
    sessions += [*several(2000, 1400, model=cheap, task_type="documentation", judged=True)]
    sessions += [*several(2000, 1400, model=strong, task_type="documentation", judged=True)]
    router = Router(sessions, [], now=NOW)
    write_route(path, whole_route(router, now=NOW, default=default and cheap, aliases=aliases))
    return path


def whole_route(
    router: Router,
    *,
    now: datetime,
    default: str | None = None,
    most_usd: float | None = None,
    explore: float = 0.0,
    aliases: Mapping[str, str] | None = None,
) -> Route:
    """Return the route of all types of task that a router knows, as the daemon makes it."""
    rules = load_rules()
    found = {each: router.route(each, default=default, most_usd=most_usd) for each in (*router.task_types, "")}
    return Route(
        made_at=now,
        prior_days=WINDOW_DAYS,
        half_life_days=HALF_LIFE_DAYS,
        rules_version=rules.version,
        coverage=RouteCoverage(sessions=0, graded=0, waiting=0),
        explore=explore,
        task_types={task_type: route for task_type, route in found.items() if task_type},
        others=found[""],
        words=TaskTypes(rules.task_types).words,
        aliases=dict(aliases or {}),
    )
