"""``help`` and ``version``: what ``--help`` and ``--version`` show, as commands."""

from __future__ import annotations

import click

from grader_daemon._version import __version__
from grader_daemon.cli import output


@click.command("help")
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def command(ctx: click.Context, *, names: tuple[str, ...]) -> None:
    """Show how a command is used: `grader-daemon help errors show`."""
    assert ctx.parent is not None
    asked = ctx.parent
    for name in names:
        if not isinstance(asked.command, click.Group):
            raise click.UsageError(f"{asked.command_path!r} has no subcommands", ctx)
        _, found, _ = asked.command.resolve_command(asked, [name])
        assert found is not None
        asked = click.Context(found, parent=asked, info_name=name)
    output.line(asked.get_help())


@click.command("version")
def version_command() -> None:
    """Show the version."""
    output.line(f"grader-daemon, version {__version__}")
