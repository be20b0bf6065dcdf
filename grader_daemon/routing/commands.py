"""``route``: which model to prefer for which type of task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import Amount, json_option, reads
from grader_daemon.domain.routing import KnownBy, ModelScore, Route, RouteReason, TaskRoute
from grader_daemon.domain.text import clean, count
from grader_daemon.reports.money import usd_words

_WHY_NOT = {
    RouteReason.TOO_FEW: "too few sessions to compare",
    RouteReason.NOT_BETTER: "not better",
    RouteReason.STALE: "not used for a month",
    RouteReason.UNCALIBRATED: "not measurable yet: review some",
    RouteReason.ONE_MODEL: "only one model",
    RouteReason.TOO_DEAR: "costs too much",
}
_HEADINGS = (
    *("task type", "model", "not failed", "95 %", "raw", "sessions", "against default", "cost"),
    "advice",
)
_COMPARED = "against default"
_NOTE = (
    "not failed: share of sessions that no label, bad ending or tool result shows as failed; estimated from all"
    " sessions of a model, recent ones count more. raw: the same share, just counted. cost: per task that did not fail."
)

_NO_DEFAULT = f"{_COMPARED}: no default is set; give one with --default MODEL or the setting route_default."


@click.command("route")
@reads
@click.option("--task-type", metavar="TYPE", help="Show only this task type.")
@click.option("--default", metavar="MODEL", help="Keep this model unless another model is better.")
@click.option(
    "--max-cost",
    type=Amount(),
    metavar="USD",
    help="Never recommend a model that costs more than this many dollars per task that did not fail.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the JSON for a router to this file.",
)
@json_option
def command(
    *,
    grader: SelfGrader,
    task_type: str | None,
    default: str | None,
    max_cost: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show which model fails less at each task type, and which one to prefer, from the last 90 days."""
    route = grader.routing.route(task_type=task_type, default=default, most_usd=max_cost)
    if out is not None:
        grader.routing.write(route, out)
    elif as_json:
        output.document(route)
    else:
        _print(route)


def _print(route: Route) -> None:
    output.line(f"{count(route.coverage.sessions, 'session')} of the last {route.prior_days} days.")
    rows = [row for task_type, each in route.task_types.items() for row in _rows(task_type, each)]
    if not rows:
        return
    default = route.others.default
    if default is not None and all(score.model != default for score in route.others.models):
        output.paragraph("", f"The default {clean(default)} has no sessions, so no model can be compared with it.")
    output.line()
    compared = _HEADINGS.index(_COMPARED)
    of_nothing = () if any(row[compared] is not None for row in rows) else (_COMPARED,)
    output.table(_HEADINGS, rows, may_drop=(*of_nothing, "raw", "95 %", "cost"))
    if any(str(row[-1]).endswith("*") for row in rows):
        output.line("* by its results at other tasks")
    output.paragraph("", _NOTE if default is not None else f"{_NOTE} {_NO_DEFAULT}")


def _rows(task_type: str, route: TaskRoute) -> Iterator[tuple[object, ...]]:
    """Yield a row for what is recommended, the default and each model with sessions of the type, and one for others."""
    shown = [score for score in route.models if score.n or score.model in {route.recommended, route.default}]
    for score in shown:
        yield (
            clean(task_type),
            clean(score.model),
            _percent(score.score),
            f"{_percent(score.low)} to {_percent(score.high)}",
            None if score.raw is None else _percent(score.raw),
            score.n,
            _compared(score),
            usd_words(score.usd_per_completed),
            _advice(score, route),
        )
    others = len(route.models) - len(shown)
    if others:
        yield (clean(task_type), count(others, "other model"), *[None] * (len(_HEADINGS) - 3), "no sessions")


def _advice(score: ModelScore, route: TaskRoute) -> str:
    if score.model == route.recommended:
        told = "prefer it" if route.difference_shown else "no difference shown"
        return told if score.known_by is KnownBy.TYPE else f"{told}*"
    if score.model == route.default:
        return "default" if route.reason is None else f"default; nothing better known: {_WHY_NOT[route.reason]}"
    return "" if score.reason is None else _WHY_NOT[score.reason]


def _compared(score: ModelScore) -> str | None:
    gap = score.versus_default
    if gap is None or gap.difference == gap.low == gap.high:
        return None
    return f"{_points(gap.difference)} ({_points(gap.low)} to {_points(gap.high)})"


def _points(share: float) -> str:
    return f"{100 * share:+.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
