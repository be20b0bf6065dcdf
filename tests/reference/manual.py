"""The manual page: what the pages of commands say, for `man grader-daemon`; the wheel puts it in place."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from grader_daemon import __version__
from grader_daemon.cli.all_commands import program
from tests.reference.commands import PROGRAM, below, context

_PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
_FILES = (
    ("~/.config/grader-daemon/config.toml", "Settings; `config show` names all, and what each is set to."),
    ("~/.timmy/uniwizard/session_grades.db", "The database of grades."),
)
_EXIT = (
    ("0", "Fine."),
    ("1", "Findings: a file that cannot be graded, a problem of `doctor`, an open alert with `--exit-code`."),
    ("2", "Wrong usage, configuration or input, or no database to ask."),
    ("3", "The daemon does not run: `status`, `service status`."),
)


def manual() -> str:
    """Return the page as roff."""
    top = context(program, None, PROGRAM)
    lines = [
        f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM} {__version__}" "User Commands"',
        ".SH NAME",
        f"{_text(PROGRAM)} \\- {_text(_PROJECT['description'].rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_text(PROGRAM)}",
        _text("[OPTIONS] [COMMAND] [ARGUMENTS]"),
        ".SH DESCRIPTION",
        *_described(top),
        ".SH COMMANDS",
        *(line for name, command in below(top) for line in _command(command, top, name)),
        ".SH FILES",
        *_terms(_FILES),
        ".SH EXIT STATUS",
        *_terms(_EXIT),
        ".SH SEE ALSO",
        _text(_PROJECT["urls"]["Documentation"]),
    ]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    ctx = context(command, parent, name)
    usage = " ".join((ctx.command_path, *command.collect_usage_pieces(ctx)))
    yield f'.SS "{_text(usage)}"'
    yield from _described(ctx)
    for inner, its_command in below(ctx):
        yield from _command(its_command, ctx, inner)


def _described(ctx: click.Context) -> Iterator[str]:
    paragraphs = inspect.cleandoc(ctx.command.help or "").split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        yield _text(paragraph.replace("\b", "").replace("\n", " ").strip())
    records = (param.get_help_record(ctx) for param in ctx.command.get_params(ctx))
    yield from _terms(record for record in records if record is not None)


def _terms(terms: Iterator[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Iterator[str]:
    for term, meaning in terms:
        yield from (".TP", f".B {_text(term)}", _text(meaning))


def _text(text: str) -> str:
    """Return text as roff has it: no character of it is taken for a word of roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
