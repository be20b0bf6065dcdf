"""``backup``: a checked copy of the database."""

from __future__ import annotations

from pathlib import Path

import click

from grader_daemon.api.keeping import back_up
from grader_daemon.cli import output
from grader_daemon.cli.options import read_settings, settings_options
from grader_daemon.domain.text import clean


@click.command("backup")
@settings_options
@click.argument("file", type=click.Path(path_type=Path))
def command(*, file: Path) -> None:
    """Copy the database to FILE while the daemon goes on; an older backup there is replaced."""
    made = back_up(read_settings(), file)
    output.line(clean(f"{made.path}: {made.grades:,} grades, {made.bytes:,} bytes, checked."))
