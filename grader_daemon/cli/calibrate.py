"""``calibrate``: learn from labels how sure grades are."""

from __future__ import annotations

import click

from grader_daemon.api.documents import calibration_document
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import asks, json_option
from grader_daemon.domain.schema import SCHEMA_VERSION
from grader_daemon.reports.reliability import calibration_lines


@click.command("calibrate")
@asks
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would be adopted.")
@json_option
def command(*, grader: SelfGrader, dry_run: bool, as_json: bool) -> None:
    """Learn from labels; adopt what is shown to be better, and grade by it from then on."""
    with output.busy("Learning from labels …"):
        made = grader.calibration.try_out() if dry_run else grader.calibrate()
    if as_json:
        output.document({"schema_version": SCHEMA_VERSION, "dry_run": dry_run, **calibration_document(made)})
        return
    for line in calibration_lines(made):
        output.line(line)
    if dry_run:
        output.line("Nothing was written.")
    elif made.number is None:
        output.line("Another calibration was adopted at the same time; this one was given up.")
    elif made.completion_policy.version != made.evidence.before:
        output.line("A daemon that runs grades everything again within a minute; without one: grader-daemon regrade.")
