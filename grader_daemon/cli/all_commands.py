"""Table of all commands, and the one command that has them below it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

import click
from click.core import ParameterSource

from grader_daemon._version import __version__
from grader_daemon.cli.groups import Group
from grader_daemon.cli.loading import loading
from grader_daemon.cli.options import days_option, fleet_option, settings_options
from grader_daemon.domain.text import nearest
from grader_daemon.wings import WINGS, CommandRow, Section, imported

_OF_THE_CORE: Final = {
    "list": CommandRow("listing", "List grades, the newest session first.", Section.EVERY_DAY),
    "show": CommandRow("show", "Show one grade.", Section.EVERY_DAY),
    "why": CommandRow("why", "Show the reasons of a grade, and the messages that prove them.", Section.EVERY_DAY),
    "report": CommandRow("report", "Show the weekly report, errors, patterns, usage or outcomes.", Section.EVERY_DAY),
    "alerts": CommandRow("alerts", "Show what got worse, since when, and why.", Section.EVERY_DAY),
    "status": CommandRow("status", "Show whether the daemon runs and how many files wait.", Section.EVERY_DAY),
    "run": CommandRow("run", "Watch the folders and grade sessions as they finish.", Section.SET_UP),
    "service": CommandRow("service", "Install the daemon as a service that starts automatically.", Section.SET_UP),
    "sources": CommandRow("sources", "List the agents found here, and choose which are graded.", Section.SET_UP),
    "grade": CommandRow("grade", "Grade sessions now: those not graded yet, files, or an archive.", Section.SET_UP),
    "config": CommandRow("config", "Show and change settings, and set up Tab completion.", Section.SET_UP),
    "label": CommandRow("label", "Say whether sessions did their tasks, one by one or by id.", Section.LEARN),
    "calibration": CommandRow(
        "calibration", "Show how reliable grades are, and learn from your labels.", Section.LEARN
    ),
    "doctor": CommandRow("doctor", "Check the machine and the set-up; repair what is safe.", Section.OPERATE),
    "backup": CommandRow("backup", "Copy the database while the daemon runs, or restore a copy.", Section.OPERATE),
}
"""Where each command is: `command` of that module unless it is named."""


_EARLIER_NAMES: Final = {
    "archive": "grade --archive",
    "backfill": "grade or grade --archive",
    "completion": "config completion",
    "demo": "grade --demo",
    "help": "--help",
    "install-completion": "config completion",
    "metrics": "export metrics",
    "push": "export scores, export metrics or fleet push",
    "regrade": "grade --again",
    "review": "label",
    "similar": "search --similar",
    "summary": "grader-daemon without a command",
    "trial": "changes trial",
    "version": "--version",
}
"""Commands that have another name now, and those that other programs have, each with what does the same."""

_EXAMPLES: Final = """\b
Examples:
  grader-daemon run --once              grade the sessions that are here
  grader-daemon list failed since:7d    list what failed in the last 7 days
  grader-daemon why 378dee5d            show why a session has its grade
"""
"""The end of the help; the first line keeps the lines as they are."""


def _commands() -> Iterator[tuple[str, CommandRow]]:
    """Yield all commands in the order of the help: by section, and there those of the core before those of wings."""
    found = {
        name: row._replace(where=f"grader_daemon.cli.{row.where if ':' in row.where else f'{row.where}:command'}")
        for name, row in _OF_THE_CORE.items()
    }
    for wing in WINGS:
        of_wing = {name: row for name, row in wing.commands.items() if row.section is not None}
        found |= {name: row._replace(where=f"grader_daemon.{wing.name}.{row.where}") for name, row in of_wing.items()}
    for section in Section:
        yield from ((name, row) for name, row in found.items() if row.section is section)


class _Commands(Group):
    """The group of all commands, in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(self.rows)

    def meant(self, ctx: click.Context, word: str) -> str:
        """Return which command may be meant; an earlier name and one that groups have count before a like spelling."""
        from grader_daemon.cli.completion import groups_with  # only a mistake needs the words of all commands

        if word in _EARLIER_NAMES:
            return f"; did you mean {_EARLIER_NAMES[word]}?"
        below = [f"{group} {word}" for group in groups_with(word)]
        if below:
            return f"; did you mean {' or '.join(below)}?"
        near = nearest(word, (*self.list_commands(ctx), *_EARLIER_NAMES))
        return "" if near is None else f"; did you mean {_EARLIER_NAMES.get(near, near)}?"

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, self.rows))
        for section, rows in groupby(self.rows.items(), key=lambda named: named[1].section):
            with formatter.section(str(section)):
                formatter.write_dl([(name.ljust(width), row.help_line) for name, row in rows])


@click.command(
    cls=_Commands,
    rows=dict(_commands()),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLES,
)
@settings_options
@fleet_option
@days_option(7, words="Without a command: number of days, today included.")
@click.option("--json", "as_json", is_flag=True, help="Without a command: print one JSON document.")
@click.version_option(__version__, "-V", "--version", prog_name="grader-daemon")
@click.pass_context
def program(ctx: click.Context, *, days: int, as_json: bool) -> int:
    """Grade the sessions that LLM agents leave on this machine, without calling a model.

    Without a command it shows on one screen whether the daemon runs, how the last days went, and what needs a look.
    """
    if ctx.invoked_subcommand is not None:
        _refuse_options_of_summary(ctx, ctx.invoked_subcommand)
        return 0
    with loading():
        summary = imported("grader_daemon.cli.summary:summary")
    return summary(days=days, as_json=as_json) or 0


def _refuse_options_of_summary(ctx: click.Context, command: str) -> None:
    """Refuse options that a command would not hear of.

    Raises:
        click.UsageError: there is one.
    """
    for name, option in {"days": "--days", "as_json": "--json"}.items():
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"{option} stands before {command}; write it behind {command}", ctx)
