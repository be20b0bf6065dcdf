"""``self-grader``: the command line of the original design, kept as it was."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output, terminal
from grader_daemon.cli.calling import call
from grader_daemon.cli.grades import grade_table
from grader_daemon.cli.options import Whole, days_option, read_settings, settings_options, telling_upgrade
from grader_daemon.cli.parsing import parsed
from grader_daemon.reports.plain_text_report import render_text


@click.command("self-grader", context_settings={"help_option_names": ["-h", "--help"]})
@settings_options
@click.option("-g", "--grade", "grade_count", type=Whole(min=1), help="Grade the latest N ungraded sessions.")
@click.option("-s", "--summary", is_flag=True, help="Show a summary of the last 7 days.")
@days_option(7)
@click.option("-r", "--report", is_flag=True, help="Make the weekly report.")
@click.option("-f", "--file", "file", type=click.Path(path_type=Path, readable=False), help="Grade one session file.")
@click.pass_context
def command(
    ctx: click.Context, *, grade_count: int | None, summary: bool, days: int, report: bool, file: Path | None
) -> int:
    """Grade sessions and show the results."""
    if not (grade_count or summary or report or file):
        output.line(ctx.get_help())
        return 0
    with SelfGrader(settings=read_settings()) as grader, telling_upgrade(grader):
        if file is not None:
            grade_table([grader.grade_session_file(file)])
        if grade_count is not None:
            grades = grader.grade_latest_sessions(grade_count)
            grade_table(grades) if grades else output.line("No ungraded sessions.")
        if summary:
            output.line(grader.get_grades_summary(days))
        if report:
            output.line(render_text(grader.generate_weekly_report(), width=terminal.width()).rstrip("\n"))
    return 0


def main() -> None:
    """Entry point of ``self-grader``."""
    call(partial(parsed, command, "self-grader"), "self-grader")
