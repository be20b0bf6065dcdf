"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from grader_daemon.api.reader import GradeReader
from grader_daemon.settings import Settings, load_settings


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--watch-root`` and ``--db-path``, which stand above environment and configuration file."""
    for option in (
        click.option("--db-path", type=click.Path(path_type=Path), help="The database of grades."),
        click.option(
            "--watch-root",
            "watch_roots",
            multiple=True,
            type=click.Path(path_type=Path),
            help="A folder with sessions; may be given several times.",
        ),
    ):
        command = option(command)
    return command


def asks(reader: type[GradeReader]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command a reader of the database as its argument `grader`, and the options that say which."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @settings_options
        @wraps(command)
        def ask(*, watch_roots: tuple[Path, ...], db_path: Path | None, **arguments: Any) -> Any:
            with reader(settings=read_settings(watch_roots=watch_roots, db_path=db_path)) as grader:
                return command(grader=grader, **arguments)

        return ask

    return decorate


def read_settings(*, watch_roots: tuple[Path, ...] = (), **flags: Any) -> Settings:
    """Read the settings under what was given as flags.

    Raises:
        ConfigurationError: one is wrong.
    """
    return load_settings(watch_roots=watch_roots or None, **flags)


class ListedByDefault(click.Group):
    """A group of commands that lists when none of them is named; options then are those of its ``list``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name ``list`` where no command is named."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


class _Days(click.FloatRange):
    """A number of days that is one: neither NaN nor without end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        days: float = super().convert(value, param, ctx)
        if not math.isfinite(days):
            self.fail(f"{value!r} is no number of days", param, ctx)
        return days


DAYS = _Days(min=0, min_open=True)
"""The type of a number of days."""

days_option = click.option(
    "-d",
    "--days",
    type=DAYS,
    default=7.0,
    show_default=True,
    help="Up to and with today.",
)
"""``-d DAYS``, for commands about the last days."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
"""``--json``, the same for every command that has it."""
