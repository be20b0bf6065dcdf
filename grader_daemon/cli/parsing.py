"""Commands as click parses them, with sentences of our own for what is wrong with their arguments."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Final

import click

from grader_daemon.cli import output
from grader_daemon.domain.text import nearest

_EARLIER_OPTIONS: Final = {"--standing": "--result"}


def parsed(command: click.Command, name: str) -> object:
    """Run a command with the arguments of this process; return its exit code, if it has one."""
    try:
        _refuse_empty(sys.argv[1:])
        return command.main(prog_name=name, standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        output.error(f"{name}: {_usage_words(error)}")
        return error.exit_code
    except click.Abort:
        return 130


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse what an unset variable of a script leaves, before anything is guessed from it.

    What stands behind ``--`` is no option, and may be the command of another program.

    Raises:
        click.UsageError: an argument is empty.
    """
    if "--" in arguments:
        arguments = arguments[: arguments.index("--")]
    for number, argument in enumerate(arguments):
        option = re.fullmatch(r"(--[\w-]+)=", argument)
        if not argument or option:
            of = option[1] if option else (["", *arguments][number] or "the first argument")
            raise click.UsageError(f"{of}: the value is empty; give a value, or leave it out")


def _usage_words(error: click.ClickException) -> str:
    """Return in one line what is wrong with the arguments, and where their help is."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    said = " ".join(error.format_message().split()).removesuffix(".")
    if ctx is None:
        return said
    if isinstance(error, click.NoSuchOption):
        said = f"there is no option {error.option_name}{_option_meant(error.option_name, ctx.command)}"
    said = said if said[1:2].isupper() else f"{said[0].lower()}{said[1:]}"  # a name such as SHARE stays as it is
    return f"{said}{' See' if said.endswith('?') else '; see'} '{ctx.command_path} --help'"


def _option_meant(name: str, command: click.Command) -> str:
    """Return which option may be meant; the dashes that all have make none alike."""
    known = [option for param in command.params for option in param.opts if option.startswith("--")]
    near = nearest(name.removeprefix("--"), [option.removeprefix("--") for option in known])
    meant = _EARLIER_OPTIONS.get(name, f"--{near}" if near else "")
    return f"; did you mean {meant}?" if meant in known else ""
