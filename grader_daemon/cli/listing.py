"""``list``: many grades, for people and for other programs."""

from __future__ import annotations

import click
import msgspec

from grader_daemon.api.documents import grade_document
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter, SortKey
from grader_daemon.api.tables import TableForm
from grader_daemon.cli import output
from grader_daemon.cli.filters import filter_options
from grader_daemon.cli.grades import MAY_DROP, grade_table, write_grades
from grader_daemon.cli.options import Whole, json_option, reads


@click.command(
    "list",
    epilog="On a terminal of less than 100 columns it shows how long ago sessions ended, and leaves out columns that do"
    f" not fit, in this order: those with one value in all rows, {', '.join(MAY_DROP)}. A pipe gets all columns.",
)
@reads
@click.option(
    "-n", "--limit", type=Whole(min=1), default=20, show_default=True, help="Show at most this many sessions."
)
@filter_options
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json", "csv", "ndjson"]),
    default="table",
    show_default=True,
    help="Print in this format.",
)
@json_option
def command(*, grader: SelfGrader, limit: int, which: GradeFilter, form: str, as_json: bool) -> None:
    """List grades; the session that ended last comes first.

    You can also write filters as words, as on the page: failed model:opus since:7d
    """
    if as_json and form in ("csv", "ndjson"):
        raise click.UsageError(f"give --json or -o {form}, not both")
    page, trust = grader.grades.page(msgspec.structs.replace(which, limit=limit)), grader.grades.trust()
    grades = page.grades
    if as_json or form == "json":
        documents = [grade_document(stored.grade, stored.id, trust=trust) for stored in grades]
        output.document(grades=documents)
    elif form != "table":
        write_grades(grades, TableForm(form), trust)
    elif grades:
        is_by_worst = which.sort is SortKey.WORST
        grade_table(
            (stored.grade for stored in grades),
            short_id=grader.grades.short_id,
            with_worry=is_by_worst,
            now=grader.context.now(),
        )
        if page.next is not None:
            output.line(f"{len(grades):,} shown; show more with -n.")
    elif which == GradeFilter():
        output.line("No sessions are graded yet.")
    else:
        output.line("No matching sessions.")
