"""``backup``: a checked copy of the database, and the way back."""

from __future__ import annotations

from pathlib import Path

import click

from grader_daemon import bootstrap
from grader_daemon.api.backups import back_up, back_up_into, restore
from grader_daemon.cli import output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.options import Whole, json_option, read_settings, settings_options
from grader_daemon.domain.text import clean


@click.group("backup", cls=Group)
def command() -> None:
    """Copy the database while the daemon runs, or restore it from a copy."""


@command.command("create")
@settings_options
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--keep", type=Whole(min=1), help="Keep the newest N backups in the folder FILE.")
@json_option
def create(*, file: Path, keep: int | None, as_json: bool) -> None:
    """Copy the database to FILE while the daemon runs. An older backup in FILE is replaced.

    With --keep, FILE is a folder. The name of the copy is its time, and only the newest N copies stay.
    """
    settings = read_settings()
    made = back_up(settings, file) if keep is None else back_up_into(settings, file, keep=keep, clock=bootstrap.utc_now)
    if as_json:
        output.document(made)
        return
    output.line(clean(f"{made.path}: {made.grades:,} grades, {made.bytes:,} bytes, checked."))


@command.command("restore")
@settings_options
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def restored(*, file: Path, as_json: bool) -> None:
    """Replace the database with the backup FILE. Stop the daemon first."""
    done = restore(read_settings(), file, clock=bootstrap.utc_now)
    if as_json:
        output.document(done)
        return
    output.line(clean(f"{done.path}: {done.grades:,} grades again."))
    if done.kept is not None:
        output.line(clean(f"The former database is kept as {done.kept}"))
    output.line("The next run of the daemon grades the sessions since the backup.")
