"""``export``: all grades, for other programs."""

from __future__ import annotations

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter
from grader_daemon.cli.filters import filter_options
from grader_daemon.cli.grades import write_grades
from grader_daemon.cli.options import asks


@click.command("export")
@asks
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
def command(*, grader: SelfGrader, which: GradeFilter, form: str) -> None:
    """Write all grades, or those that are asked for, to standard output."""
    write_grades(grader.grades.every(which), form, grader.grades.trust())
