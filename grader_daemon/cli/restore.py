"""``restore``: a backup takes the place of the database."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.backups import restore
from grader_daemon.cli import output
from grader_daemon.cli.options import json_option, read_settings, settings_options
from grader_daemon.domain.schema import SCHEMA_VERSION
from grader_daemon.domain.text import clean


@click.command("restore")
@settings_options
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def command(*, file: Path, as_json: bool) -> None:
    """Put the backup FILE in the place of the database; the daemon must not run."""
    done = restore(read_settings(), file, clock=bootstrap.utc_now)
    if as_json:
        output.document({"schema_version": SCHEMA_VERSION, **msgspec.to_builtins(done)})
        return
    output.line(clean(f"{done.path}: {done.grades:,} grades again."))
    if done.kept is not None:
        output.line(clean(f"The database that was there is kept as {done.kept}"))
    output.line("Sessions since the backup are graded by the next run of the daemon.")
