"""``summary``: the last days at a glance."""

from __future__ import annotations

import click
import msgspec

from grader_daemon.api.insight import InsightReader
from grader_daemon.cli import output
from grader_daemon.cli.options import asks, days_option, json_option
from grader_daemon.domain.schema import SCHEMA_VERSION


@click.command("summary")
@asks(InsightReader)
@days_option(7)
@json_option
def command(*, grader: InsightReader, days: int, as_json: bool) -> None:
    """Show counts, means and what failed most in the last days."""
    if as_json:
        content = {
            "schema_version": SCHEMA_VERSION,
            "summary": msgspec.to_builtins(grader.summary(days=days)),
            "patterns": msgspec.to_builtins(grader.identify_patterns(days)),
        }
        output.document(content)
    else:
        output.line(grader.get_grades_summary(days))
