"""``backfill``: everything that is not graded yet, with a progress bar; archives are of a wing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.groups import GroupWithDefault
from grader_daemon.cli.options import asks, jobs_option, json_option, since_options
from grader_daemon.cli.outcome_lines import graded_with_progress, is_trouble, tell_outcomes
from grader_daemon.cli.source_name import SourceName
from grader_daemon.domain.text import clean
from grader_daemon.reports.numbers import count
from grader_daemon.setting_sources import ROOTS
from grader_daemon.wings import rows_below


@click.group("backfill", cls=GroupWithDefault, rows=rows_below("backfill"), default="folders")
def command() -> None:
    """Grade all existing sessions that are not graded yet, in your agents' folders or in an archive.

    `backfill` alone does the same as `backfill folders`, and takes its options.
    """


@command.command("folders")
@asks
@since_options
@click.option("--source", type=SourceName(), help="Grade only sessions of this agent, even if its grading is off.")
@jobs_option
@click.option("--dry-run", is_flag=True, help="Only show what would be graded.")
@json_option
def folders(
    *, grader: SelfGrader, since: datetime | None, source: str | None, jobs: int | None, dry_run: bool, as_json: bool
) -> int:
    """Grade all sessions in your agents' folders that are not graded yet.

    You can stop it at any time and start it again.
    """
    if not dry_run:
        grader.migrate()
    files = grader.grading.ungraded_files(since=since, source=source)
    missing = grader.grading.missing_roots() if source is None else []
    for root in missing:
        output.error(f"grader-daemon: {root}: no such folder; the others are searched")
    failed = grader.grading.failed_sources()
    for name, error in failed.items():
        output.error(f"grader-daemon: files of {name} are left out because of a bug {_of_whom(name)}: {clean(error)}")
    if dry_run:
        _list_files([str(found.unit) for found in files], as_json=as_json)
        return 1 if missing or failed else 0
    outcomes = graded_with_progress("Grading", len(files), grader.grading.backfill(files, jobs=jobs))
    tell_outcomes(outcomes, as_json=as_json)
    return 1 if missing or failed or is_trouble(outcomes) else 0


def _list_files(paths: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        output.document(files=paths)
        return
    for path in paths:
        output.line(clean(path))
    output.line(f"{count(len(paths), 'file')} would be graded.")


def _of_whom(source: str) -> str:
    return "in grader-daemon" if source in ROOTS else "in its adapter"
