"""``report``: the weekly report, and reports on errors, patterns, usage and outcomes below it."""

from __future__ import annotations

import click

from grader_daemon.cli.groups import GroupWithDefault
from grader_daemon.wings import CommandRow, rows_below

_HELP_LINES = {
    "week": "Show the weekly report: work done, errors, and what to do next.",
    "errors": "Show errors by their cause, and what helped.",
    "patterns": "Show task types, tools, models and errors of the last days.",
    "usage": "Show tokens and money, by day and model, project or agent.",
}


@click.group(
    "report",
    cls=GroupWithDefault,
    default="week",
    rows={
        **{name: CommandRow(f"grader_daemon.cli.report_{name}:command", line) for name, line in _HELP_LINES.items()},
        **rows_below("report"),
    },
)
def command() -> None:
    """Show the weekly report, or one on errors, patterns, usage or outcomes.

    `report` alone does the same as `report week`, and takes its options.
    """
