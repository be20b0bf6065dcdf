"""Options that say which sessions, and in which order: the same for ``list`` and ``export``."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter, SortKey
from grader_daemon.cli.options import since_of, since_options
from grader_daemon.domain.analysis import Category, SessionState
from grader_daemon.domain.claims import Support
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.verdict import Outcome, VerdictBy


def _folder(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return a folder as sessions name it."""
    return None if value is None else os.path.abspath(os.path.expanduser(value))


_OPTIONS = (
    click.option("--until", callback=since_of, metavar="UNTIL", help="Only before: 12h, 7d, 2w or 2026-11-01."),
    click.option("--state", type=click.Choice([each.value for each in SessionState]), help="In this state only."),
    click.option("--task-type", help="Of this task type only."),
    click.option("--agent", help="Of this agent only, as in claude-code."),
    click.option("--model", help="By this model only."),
    click.option("--platform", help="On this platform only."),
    click.option("--project", callback=_folder, metavar="FOLDER", help="Only of agents that worked in this folder."),
    click.option(
        "--kind",
        type=click.Choice([each.value for each in SessionKind]),
        help="Only those that were begun so; main: by a person.",
    ),
    click.option("--host", help="Of a fleet: on this machine only."),
    click.option("--user", help="Of a fleet: on machines of this user only."),
    click.option("--tool", help="Only those in which this tool was called."),
    click.option(
        "--error", type=click.Choice([each.value for each in Category]), help="Only those with such a failure."
    ),
    click.option("--issue", help="Only those with this error issue; the beginning of its id is enough."),
    click.option(
        "--claim", type=click.Choice([each.value for each in Support]), help="Only those with a claim that is this."
    ),
    click.option(
        "--verdict", type=click.Choice([each.replace("_", "-") for each in Outcome]), help="Only those of this verdict."
    ),
    click.option("--completed", is_flag=True, help="Only those whose task is done by the best guess, unsure ones too."),
    click.option(
        "--not-completed", is_flag=True, help="Only those whose task is not done by the best guess, unsure ones too."
    ),
    click.option("--unsure", is_flag=True, help="Only those of which the grader is not sure."),
    click.option("--person", is_flag=True, help="Only those on which a person's word stands."),
    click.option("--search", "text", metavar="TEXT", help="Only those that were asked for something with these words."),
    click.option(
        "--sort",
        type=click.Choice([each.value for each in SortKey]),
        default=SortKey.ENDED.value,
        show_default=True,
        help="By what to sort, the highest first.",
    ),
    click.option(
        "--worst",
        "sort",
        flag_value=SortKey.WORST.value,
        help="Those first that most likely failed, each with why; the same as --sort worst.",
    ),
    click.option("--reverse", is_flag=True, help="The lowest first."),
)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command, which has a `grader`, is given a `GradeFilter` as `which`."""

    @since_options
    @wraps(command)
    def filtered(*, grader: SelfGrader, since: datetime | None, **given: Any) -> Any:
        which, others = _taken(grader, since, given)
        return command(grader=grader, which=which, **others)

    for option in reversed(_OPTIONS):
        filtered = option(filtered)
    return filtered


def _taken(grader: SelfGrader, since: datetime | None, given: dict[str, Any]) -> tuple[GradeFilter, dict[str, Any]]:
    """Return the filter that the options make, and what was given beside them."""
    until: timedelta | datetime | None = given.pop("until")
    issue: str | None = given.pop("issue")
    verdict: str | None = given.pop("verdict")
    completed, not_completed = given.pop("completed"), given.pop("not_completed")
    if completed and not_completed:
        raise click.UsageError("give --completed or --not-completed, not both")
    if given["user"] is not None and grader.context.has_database and grader.context.fleet_view() is None:
        raise click.UsageError("--user needs a fleet: set fleet_read_url, or give --db; docs/fleet.md says how")
    which = GradeFilter(
        since=since,
        until=None if until is None else grader.grades.begin_of(until),
        issue=None if issue is None else grader.insight.find_issue(issue),
        completed=completed if completed or not_completed else None,
        unsure=given.pop("unsure") or None,
        verdict=None if verdict is None else Outcome(verdict.replace("-", "_")),
        verdict_by=VerdictBy.PERSON if given.pop("person") else None,
        sort=SortKey(given.pop("sort")),
        lowest_first=given.pop("reverse"),
        **{name: given.pop(name) for name in _AS_THEY_ARE},
    )
    return which, given


_AS_THEY_ARE = (
    *("state", "task_type", "agent", "model", "platform", "project", "kind", "host", "user", "tool", "error", "claim"),
    "text",
)
