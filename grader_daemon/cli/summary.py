"""``summary``: the first look, on one screen."""

from __future__ import annotations

import click
import msgspec

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.overview import overview
from grader_daemon.cli import output
from grader_daemon.cli.options import asks, days_option, json_option
from grader_daemon.cli.overview import print_overview
from grader_daemon.domain.schema import SCHEMA_VERSION


@click.command("summary")
@asks
@days_option(7)
@json_option
def command(*, grader: SelfGrader, days: int, as_json: bool) -> None:
    """Show on one screen whether it runs, how good the last days were, and what to look at."""
    seen = overview(grader, days=days)
    if as_json:
        summary = None if seen.patterns is None else msgspec.to_builtins(grader.insight.summary(days=days))
        output.document({"schema_version": SCHEMA_VERSION, "summary": summary, **msgspec.to_builtins(seen)})
    else:
        print_overview(seen)
