"""``list``: many grades, one line each."""

from __future__ import annotations

from datetime import datetime

import click

from grader_daemon.api.documents import grade_document
from grader_daemon.api.reader import GradeReader
from grader_daemon.cli import output
from grader_daemon.cli.options import Whole, asks, json_option, since_options
from grader_daemon.domain.schema import SCHEMA_VERSION


@click.command("list")
@asks(GradeReader)
@click.option("-n", "--limit", type=Whole(min=1), default=20, show_default=True, help="At most so many.")
@since_options
@click.option("--state", type=click.Choice(["complete", "interrupted", "open"]), help="In this state only.")
@click.option("--task-type", help="Of this task type only.")
@click.option("--model", help="By this model only.")
@click.option("--completed", is_flag=True, help="Only those whose task was completed.")
@click.option("--not-completed", is_flag=True, help="Only those whose task was not completed.")
@json_option
def command(
    *,
    grader: GradeReader,
    limit: int,
    since: datetime | None,
    state: str | None,
    task_type: str | None,
    model: str | None,
    completed: bool,
    not_completed: bool,
    as_json: bool,
) -> None:
    """List grades, the session that ended last first."""
    if completed and not_completed:
        raise click.UsageError("give --completed or --not-completed, not both")
    grades = grader.grades(
        since=since,
        state=state,
        task_type=task_type,
        model=model,
        completed=completed if completed or not_completed else None,
        limit=limit,
    )
    if as_json:
        documents = [grade_document(stored.grade, stored.id) for stored in grades]
        output.document({"schema_version": SCHEMA_VERSION, "grades": documents})
    elif grades:
        output.grade_table(stored.grade for stored in grades)
    else:
        output.line("No such sessions are graded yet.")
