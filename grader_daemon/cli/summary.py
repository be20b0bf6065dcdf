"""``summary``: the last days at a glance."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from grader_daemon.api.documents import SCHEMA_VERSION
from grader_daemon.api.reader import GradeReader
from grader_daemon.cli import output
from grader_daemon.cli.options import json_option, read_settings, settings_options


@click.command("summary")
@settings_options
@click.option("-d", "--days", type=click.FloatRange(min=0, min_open=True), default=7.0, show_default=True)
@json_option
def command(*, watch_roots: tuple[Path, ...], db_path: Path | None, days: float, as_json: bool) -> None:
    """Show counts, means and what failed most in the last days."""
    with GradeReader(settings=read_settings(watch_roots=watch_roots, db_path=db_path)) as grader:
        if as_json:
            content = {
                "schema_version": SCHEMA_VERSION,
                "summary": msgspec.to_builtins(grader.summary(days=days)),
                "patterns": msgspec.to_builtins(grader.identify_patterns(days)),
            }
            output.document(content)
        else:
            output.line(grader.get_grades_summary(days))
