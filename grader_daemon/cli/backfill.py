"""``backfill``: everything that is not graded yet, with a progress bar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

import click

from grader_daemon import IngestOutcome, IngestResult
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import Whole, asks, json_option, since_options
from grader_daemon.cli.status import file_words
from grader_daemon.domain.text import clean
from grader_daemon.reports.numbers import count
from grader_daemon.settings import ROOTS

_TROUBLE = (IngestOutcome.QUARANTINED, IngestOutcome.RETRY_SCHEDULED, IngestOutcome.UNRECORDED)


@click.command("backfill")
@asks
@since_options
@click.option("--source", type=click.Choice(list(ROOTS)), help="Only of this source, whether it is enabled or not.")
@click.option("--jobs", type=Whole(1, 64), default=1, show_default=True, help="Processes that examine files.")
@click.option("--dry-run", is_flag=True, help="Only say what would be graded.")
@json_option
def command(
    *, grader: SelfGrader, since: datetime | None, source: str | None, jobs: int, dry_run: bool, as_json: bool
) -> int:
    """Grade everything that is not graded yet. It may be stopped at any time and started again."""
    if not dry_run:
        grader.migrate()
    files = grader.grading.ungraded_files(since=since, source=source)
    missing = grader.grading.missing_roots() if source is None else []
    for root in missing:
        output.error(f"grader-daemon: {root}: no such folder; the others are looked through")
    if dry_run:
        _list_files([str(found.unit) for found in files], as_json=as_json)
        return 1 if missing else 0
    outcomes = graded_with_progress("Grading", len(files), grader.grading.backfill(files, jobs=jobs))
    tell_outcomes(outcomes, as_json=as_json)
    return 1 if missing or is_trouble(outcomes) else 0


def graded_with_progress(title: str, total: int, batches: Iterable[Sequence[IngestResult]]) -> Counter[IngestOutcome]:
    """Go through what comes of each batch, with a progress bar; whoever stops it is told how far it came."""
    outcomes: Counter[IngestOutcome] = Counter()
    try:
        with output.progress(title, total) as advance:
            for recorded in batches:
                outcomes.update(each.outcome for each in recorded)
                advance(len(recorded))
    except KeyboardInterrupt:
        done = outcomes.total()
        output.error(f"Stopped: {done:,} of {total:,} files are done and saved. Start it again for the rest.")
        raise
    return outcomes


def tell_outcomes(outcomes: Counter[IngestOutcome], *, as_json: bool) -> None:
    """Print how many files came to what."""
    counts = sorted(outcomes.items())
    if as_json:
        output.document(files=dict(counts))
    else:
        output.line(", ".join(f"{number} {file_words(what)}" for what, number in counts) or "Nothing to do.")


def is_trouble(outcomes: Counter[IngestOutcome]) -> bool:
    """Whether there is a file that could not be graded."""
    return any(outcomes[each] for each in _TROUBLE)


def _list_files(paths: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        output.document(files=paths)
        return
    for path in paths:
        output.line(clean(path))
    output.line(f"{count(len(paths), 'file')} would be graded.")
