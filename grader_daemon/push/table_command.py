"""``export table``: many grades as tables for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter
from grader_daemon.api.tables import TableForm
from grader_daemon.cli import output
from grader_daemon.cli.filters import filter_options
from grader_daemon.cli.grades import write_grades
from grader_daemon.cli.options import reads
from grader_daemon.domain.text import clean, count
from grader_daemon.push.month_files import export_months
from grader_daemon.push.table_file import write_table


@click.command("table")
@reads
@filter_options
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice([each.value for each in TableForm]),
    default=TableForm.CSV.value,
    show_default=True,
    help="Write CSV with a line per grade, JSON lines, or Apache Parquet.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file or folder instead of printing.")
@click.option(
    "--partition",
    type=click.Choice(["month"]),
    help="Write one file per month to the folder --out; see docs/export.md.",
)
def command(*, grader: SelfGrader, which: GradeFilter, form: str, out: Path | None, partition: str | None) -> None:
    """Write all grades, or a selection, as a table for other programs.

    With --partition, it rewrites only the months in which something changed.
    """
    if out is None and (partition is not None or form == TableForm.PARQUET):
        raise click.UsageError("give a destination with --out")
    if out is None:
        write_grades(grader.grades.every(which), TableForm(form), grader.grades.trust())
    elif partition is None:
        written = write_table(out, grader.grades.every(which), TableForm(form), grader.grades.trust())
        output.line(clean(f"{count(written, 'grade')} written to {out}."))
    elif which != GradeFilter(since=which.since):
        raise click.UsageError("a folder by month holds all grades: the only filter allowed is --since")
    else:
        done = export_months(grader.context, out, TableForm(form), since=which.since)
        changed = [*(f"{month} written" for month in done.written), *(f"{month} removed" for month in done.removed)]
        for line in changed:
            output.line(line)
        unchanged = f"; {count(done.unchanged, 'month')} as before" if done.unchanged else ""
        output.line(clean(f"{count(done.grades, 'grade')} written to {out}{unchanged}."))
