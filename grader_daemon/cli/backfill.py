"""``backfill``: everything that is not graded yet, with a progress bar."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import Whole, asks, since_options
from grader_daemon.domain.text import clean


@click.command("backfill")
@asks(SelfGrader)
@since_options
@click.option(
    "--jobs",
    type=Whole(1, 64),
    default=1,
    show_default=True,
    help="Processes that examine files.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be graded.")
def command(*, grader: SelfGrader, since: datetime | None, jobs: int, dry_run: bool) -> int:
    """Grade everything that is not graded yet. It may be stopped at any time and started again."""
    files = grader.ungraded_files(since=since)
    if dry_run:
        for file in files:
            output.line(clean(file.path))
        output.line(f"{len(files)} files would be graded.")
        return 0
    counts: Counter[str] = Counter()
    with output.progress("Grading", len(files)) as advance:
        for recorded in grader.backfill(files, jobs=jobs):
            counts.update(each.happened for each in recorded)
            advance(len(recorded))
    output.line(
        ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in sorted(counts.items())) or "Nothing to do."
    )
    return 1 if counts.keys() & {"quarantined", "retry_scheduled", "unrecorded"} else 0
