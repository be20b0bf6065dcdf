"""``export``: all grades, for other programs."""

from __future__ import annotations

import click

from grader_daemon.api.grades import GradeFilter, GradeReader
from grader_daemon.cli.filters import filter_options
from grader_daemon.cli.grades import write_grades
from grader_daemon.cli.options import asks


@click.command("export")
@asks(GradeReader)
@filter_options
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["csv", "ndjson"]),
    default="csv",
    show_default=True,
    help="A table with a line for each grade, or a JSON document on each line.",
)
def command(*, grader: GradeReader, which: GradeFilter, form: str) -> None:
    """Write all grades, or those that are asked for, to standard output."""
    write_grades(grader.all_grades(which), form, grader.trust())
