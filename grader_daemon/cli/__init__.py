"""The command line: one small module per command, imported when it is called.

Exit codes: 0 fine, 1 findings, 2 wrong usage, configuration or input, 3 daemon not running.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Final

import click
from click.core import ParameterSource

from grader_daemon._version import __version__
from grader_daemon.cli import output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.loading import loading
from grader_daemon.cli.options import days_option, fleet_option, settings_options
from grader_daemon.domain.text import nearest
from grader_daemon.errors import ConfigurationError, GraderError, NoDatabaseError, OutputError
from grader_daemon.setting_sources import TRACEBACK_VARIABLE
from grader_daemon.wings import WINGS, CommandRow, Section, imported

_COMPLETION = "_GRADER_DAEMON_COMPLETE"
"""By this variable a shell asks what a Tab may mean."""

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
_EARLIER_OPTIONS: Final = {"--standing": "--result"}

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


def main() -> None:
    """Entry point of ``grader-daemon``."""
    if os.environ.get(_COMPLETION):
        _complete(os.environ[_COMPLETION])
    else:
        call(program, "grader-daemon")


def call(command: click.Command, name: str) -> None:
    """Run a command and end the process: one line for whatever goes wrong, never a traceback."""
    _prepare()
    os.umask(os.umask(0o077) & 0o077)  # one that takes from the owner too leaves files that we cannot open again
    try:
        _refuse_names_that_cannot_be_read()
        _refuse_empty(sys.argv[1:])
        code = command.main(prog_name=name, standalone_mode=False)
        output.flush()
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as error:
        output.error(f"{name}: {_usage_words(error)}")
        code = error.exit_code
    except GraderError as error:
        hint = "; start: grader-daemon run" if isinstance(error, NoDatabaseError) else ""
        output.error(f"{name}: {error}{hint}")
        code = 2
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except SystemExit:  # click ends so, with 1, where nobody reads its help any more
        output.abandon()
        code = 0
    except OSError as error:
        output.abandon()
        output.error(f"{name}: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}")
        code = 2
    except Exception as error:  # noqa: BLE001  whatever it is, a person is told in one line
        _tell_unexpected(name, error)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def _tell_unexpected(name: str, error: Exception) -> None:
    """Print one line on what nobody thought of; where it comes from is for the journal, and for who asks."""
    from grader_daemon.system.open_files import is_journal

    if os.environ.get(TRACEBACK_VARIABLE) or is_journal(sys.stderr):
        import traceback

        traceback.print_exception(error)
    said = " ".join(str(error).split())
    kind = type(error).__name__
    output.error(
        f"{name}: a bug in grader-daemon: {f'{kind}: {said}' if said else kind}; {TRACEBACK_VARIABLE}=1 before the"
        " command shows where; please report it"
    )


def _complete(instruction: str) -> None:
    """Answer a shell; whether it still listens is its own affair."""
    from grader_daemon.cli.completion import answer

    _prepare()
    with suppress(click.exceptions.Exit, OutputError):
        output.line(answer(instruction))
        output.flush()


def _prepare() -> None:
    output.prepare()
    atexit.register(gc.freeze)  # an ending process would look for rubbish in all it loaded: a fifth of a short command


def _refuse_names_that_cannot_be_read() -> None:
    """Refuse to begin where Python was told to take file names for something else than UTF-8: by ``PYTHONUTF8=0``.

    Raises:
        ConfigurationError: it was.
    """
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        raise ConfigurationError(
            f"Python reads file names as {encoding} and could not open some files; set PYTHONUTF8=1 or LC_ALL=C.UTF-8"
        )


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
    return f"{said[0].lower()}{said[1:]}{' See' if said.endswith('?') else '; see'} '{ctx.command_path} --help'"


def _option_meant(name: str, command: click.Command) -> str:
    """Return which option may be meant; the dashes that all have make none alike."""
    known = [option for param in command.params for option in param.opts if option.startswith("--")]
    near = nearest(name.removeprefix("--"), [option.removeprefix("--") for option in known])
    meant = _EARLIER_OPTIONS.get(name, f"--{near}" if near else "")
    return f"; did you mean {meant}?" if meant in known else ""
