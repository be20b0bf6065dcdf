"""``export``: grades as tables in files, scores sent to other programs, and metrics."""

from __future__ import annotations

import click

from grader_daemon.cli.groups import GroupWithWords
from grader_daemon.wings import CommandRow, rows_below


@click.group(
    "export",
    cls=GroupWithWords,
    default="table",
    rows={
        "scores": CommandRow(
            "grader_daemon.push.score_commands:command", "Send scores to OpenTelemetry, Langfuse, Phoenix."
        ),
        "table": CommandRow("grader_daemon.push.table_command:command", "Write grades as CSV, JSON lines or Parquet."),
        **rows_below("export"),
    },
)
def command() -> None:
    """Write grades as a table, send scores to other programs, or print metrics.

    `export` alone does the same as `export table`, and takes its options and filters.
    """
