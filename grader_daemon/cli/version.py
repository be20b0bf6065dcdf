"""``version``: the same as ``--version``."""

from __future__ import annotations

import click

from grader_daemon._version import __version__
from grader_daemon.cli import output


@click.command("version")
def command() -> None:
    """Show the version."""
    output.line(f"grader-daemon, version {__version__}")
