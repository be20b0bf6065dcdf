"""``report``: the weekly report."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output, terminal
from grader_daemon.cli.options import reads
from grader_daemon.domain.calendar import week_name
from grader_daemon.domain.text import clean
from grader_daemon.reports.renderers import RENDERERS
from grader_daemon.reports.text import render_text

_SHOWN: Final = 3


@click.command("report")
@reads
@click.option("--week", metavar="WEEK", help="ISO week such as 2026-W47. Default: the last full week.")
@click.option(
    "--format", "form", type=click.Choice(list(RENDERERS)), default="text", show_default=True, help="Output format."
)
@click.option("--json", "form", flag_value="json", help="Print JSON; the same as --format json.")
@click.option(
    "--all", "everything", is_flag=True, help=f"Show everything, not only the first {_SHOWN} items of each kind."
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file.")
def command(*, grader: SelfGrader, week: str | None, form: str, everything: bool, out: Path | None) -> None:
    """Show a weekly report: work done, errors, changes, and what to do next."""
    report = grader.insight.weekly_report(week)
    if out is not None:
        output.file(out, RENDERERS[form](report))
        output.line(clean(f"{out} is written."))
    elif form == "text":
        output.line(render_text(report, width=terminal.width(), most=None if everything else _SHOWN).rstrip("\n"))
        if week is None and not report.total_sessions:
            this_week = week_name(grader.context.today)
            output.line(f"\nThis was last week. This week so far: grader-daemon report --week {this_week}")
    else:
        output.line(RENDERERS[form](report).rstrip("\n"))
