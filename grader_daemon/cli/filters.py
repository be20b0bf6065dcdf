"""Options that say which sessions, and in which order: the same for ``list`` and ``export``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import wraps
from typing import Any

import click
import msgspec

from grader_daemon.api.filter_line import has_open_quote, read_line
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter
from grader_daemon.api.session_filter import EVERY, PROMPTED, Filter, Home, Text, filter_of
from grader_daemon.cli.options import Words, since_of, since_options
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.text import clean
from grader_daemon.errors import InputError


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command, which has a `grader`, is given a `GradeFilter` as `which`."""

    @since_options
    @wraps(command)
    def filtered(*, grader: SelfGrader, since: datetime | None, **options: Any) -> Any:
        asked = {each.name: options.pop(each.name) for each in PROMPTED}
        given = {name: text for name, text in asked.items() if text is not None} | _line(grader, options.pop("line"))
        _check(grader, given)
        which = _which(grader, given)
        if since is not None:
            which = msgspec.structs.replace(which, since=since)
        return command(grader=grader, which=which, **options)

    for each in reversed(PROMPTED):
        filtered = _option(each)(filtered)
    return click.argument("line", nargs=-1, metavar="[FILTER]...")(filtered)


def _line(grader: SelfGrader, said: Sequence[str]) -> dict[str, str]:
    """Return what the words of a line ask for."""
    line = " ".join(said)
    if has_open_quote(line):
        raise InputError(f"{clean(line)}: the quote is not closed")
    return read_line(line, grader.grades.names) if said else {}


def _option(each: Filter) -> Callable[..., Any]:
    """Make the option of a filter; what it hands over is a text, or None."""
    return click.option(f"--{each.word.replace('_', '-')}", each.name, help=each.help, **_taken(each))


def _taken(each: Filter) -> dict[str, Any]:
    if each.is_flag:
        return {"flag_value": "1"}
    if each.choices:
        return _chosen(each)
    if each.takes is Text.MOMENT:
        return {"callback": _moment, "metavar": each.name.upper()}
    return {"callback": _folder, "metavar": "FOLDER"} if each.takes is Dimension.PROJECT else {"metavar": "TEXT"}


def _chosen(each: Filter) -> dict[str, Any]:
    default: StrEnum | None = getattr(GradeFilter(), each.name)
    return {"type": Words(each.choices, also=each.also), "default": default and default.value, "show_default": True}


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse what is no moment."""
    since_of(ctx, param, value)
    return value


def _folder(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return a folder as sessions name it."""
    return None if value is None else os.path.abspath(os.path.expanduser(value))


def _which(grader: SelfGrader, given: Mapping[str, str]) -> GradeFilter:
    def find_issue(prefix: str) -> str:
        return grader.insight.find_issue(prefix)  # which takes long to load

    return filter_of(EVERY, given, Home(grader.grades.begin_of, find_issue, grader.grades.names))


def _check(grader: SelfGrader, given: Mapping[str, str]) -> None:
    if {"completed", "not_completed"} <= given.keys():
        raise click.UsageError("give --completed or --not-completed, not both")
    if "user" in given and grader.context.has_database and grader.context.fleet_view() is None:
        raise click.UsageError("--user needs a fleet: set fleet_read_url, or give --db; see docs/fleet.md")
