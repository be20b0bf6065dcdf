"""``backfill``: everything that is not graded yet, with a progress bar."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import click

from grader_daemon import bootstrap
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import read_settings, settings_options
from grader_daemon.domain.text import clean

_SPANS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def _moment(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    """Read ``2026-11-01``, a full time, or a span back from now such as ``7d``."""
    if value is None:
        return None
    span = re.fullmatch(r"(\d{1,5})([hdw])", value)
    if span:
        return bootstrap.utc_now() - int(span.group(1)) * _SPANS[span.group(2)]
    try:
        return datetime.fromisoformat(value).astimezone()
    except ValueError as error:
        raise click.BadParameter("a date like 2026-11-01 or a span like 7d (h, d, w) is expected") from error


@click.command("backfill")
@settings_options
@click.option("--since", callback=_moment, help="Only files written since: 2026-11-01, or a span like 7d.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes that examine files.")
@click.option("--dry-run", is_flag=True, help="Only say what would be graded.")
def command(
    *, watch_roots: tuple[Path, ...], db_path: Path | None, since: datetime | None, jobs: int, dry_run: bool
) -> int:
    """Grade everything that is not graded yet. It may be stopped at any time and started again."""
    with SelfGrader(settings=read_settings(watch_roots=watch_roots, db_path=db_path)) as grader:
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
