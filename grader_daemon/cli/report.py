"""``report``: the weekly report, and reports on errors, patterns, usage and outcomes below it."""

from __future__ import annotations

import click

from grader_daemon.cli.groups import GroupWithDefault
from grader_daemon.wings import CommandRow, rows_below

_ROWS = {
    "week": CommandRow("week", "Show the weekly report: work done, errors, and what to do next."),
    "errors": CommandRow("errors", "Show errors by their cause, and what helped."),
    "patterns": CommandRow("patterns", "Show task types, tools, models and errors of the last days."),
    "usage": CommandRow("usage", "Show tokens and money, by day and model, project or agent."),
}


@click.group(
    "report",
    cls=GroupWithDefault,
    default="week",
    rows={
        **{name: row._replace(where=f"grader_daemon.cli.report_{row.where}:command") for name, row in _ROWS.items()},
        **rows_below("report"),
    },
)
def command() -> None:
    """Show the weekly report, or one on errors, patterns, usage or outcomes.

    `report` alone does the same as `report week`, and takes its options.
    """
