"""``grade``: files and folders, now."""

from __future__ import annotations

from pathlib import Path

import click

from grader_daemon.api.documents import grade_document
from grader_daemon.api.grader import Outcomes, SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.grades import grade_table
from grader_daemon.cli.options import json_option, read_settings, settings_options
from grader_daemon.domain.schema import SCHEMA_VERSION


@click.command("grade")
@settings_options
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@json_option
@click.option("--dry-run", is_flag=True, help="Store nothing.")
def command(*, paths: tuple[Path, ...], as_json: bool, dry_run: bool) -> int:
    """Grade session files, or all of those in folders. Exit code 1 if one cannot be graded."""
    with SelfGrader(settings=read_settings()) as grader:
        outcomes = grader.grade_paths(paths, dry_run=dry_run)
    if as_json:
        output.document(_document(outcomes))
    else:
        _print(outcomes)
    return 1 if outcomes.errors else 0


def _document(outcomes: Outcomes) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "grades": [grade_document(grade, row_id, trust=outcomes.trust) for row_id, grade in outcomes.grades],
        "skipped": [{"file": file, "reason": reason} for file, reason in outcomes.skipped],
        "errors": [{"file": file, "error": error} for file, error in outcomes.errors],
    }


def _print(outcomes: Outcomes) -> None:
    if outcomes.grades:
        grade_table((grade for _, grade in outcomes.grades), outcomes.trust)
    for file, reason in outcomes.skipped:
        output.error(f"skipped {file}: {reason}")
    for file, error in outcomes.errors:
        output.error(f"cannot grade {file}: {error}")
