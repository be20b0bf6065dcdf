"""A file for routers, as the daemon writes it, of a home in which one model is better."""

from __future__ import annotations

from pathlib import Path

from grader_daemon.analysis.user_messages.task_types import TaskTypes
from grader_daemon.domain.routing import Route, RouteCoverage
from grader_daemon.routing.choice import Router
from grader_daemon.routing.job import write_route
from grader_daemon.rules import load_rules
from tests.routed import several
from tests.strategies import NOW


def write_route_file(path: Path, *, cheap: str = "cheap", strong: str = "strong", **aliases: str) -> Path:
    """Write that the strong model is better at debugging, the cheap one at research, none at documentation."""
    sessions = [*several(200, 60, model=cheap), *several(200, 180, model=strong)]
    sessions += [*several(2000, 1600, model=cheap, task_type="research")]
    sessions += [*several(2000, 1200, model=strong, task_type="research")]
    sessions += [*several(2000, 1400, model=cheap, task_type="documentation", judged=True)]
    sessions += [*several(2000, 1400, model=strong, task_type="documentation", judged=True)]
    router = Router(sessions, [], now=NOW)
    rules = load_rules()
    route = Route(
        made_at=NOW,
        prior_days=90,
        half_life_days=30,
        rules_version=rules.version,
        coverage=RouteCoverage(sessions=len(sessions), graded=len(sessions), waiting=0),
        task_types={task_type: router.route(task_type, default=cheap) for task_type in router.task_types},
        others=router.route("", default=cheap),
        words=TaskTypes(rules.task_types).words,
        aliases=aliases,
    )
    write_route(path, route)
    return path
