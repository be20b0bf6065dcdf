"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import click

from grader_daemon.cli import output
from grader_daemon.cli.loading import loading
from grader_daemon.domain.text import nearest
from grader_daemon.errors import InputError, NoDatabaseError
from grader_daemon.setting_sources import database_path, unknown_zone

if TYPE_CHECKING:
    from grader_daemon.api.grader import SelfGrader
    from grader_daemon.settings import Settings

_FLAGS = "grader_daemon.flags"
_LARGEST = 1_000_000_000
_OPTIONS = {"timezone": "--timezone", "config": "--config", "db_path": "--db-path", "watch_roots": "--watch-root"}
"""Options of `settings_options`, by the names of settings."""


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep a flag for `read_settings`; one that stands behind a command counts more than before it."""
    if value not in (None, ()):
        ctx.meta.setdefault(_FLAGS, {})[param.name] = value


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that stand above environment and configuration file; `read_settings` knows what they say."""
    for names, more in (
        (("--timezone",), {"metavar": "ZONE", "help": "Show days and times in this time zone, such as Europe/Berlin."}),
        (("--config",), {"type": click.Path(), "metavar": "FILE", "help": "Read settings from this file."}),
        (("--db-path",), {"type": click.Path(), "metavar": "FILE", "help": "Use the database of grades in this file."}),
        (
            ("--watch-root", "watch_roots"),
            {
                "type": click.Path(),
                "metavar": "FOLDER",
                "multiple": True,
                "help": "Look for Hermes sessions here, not in the usual folder. Repeatable.",
            },
        ),
    ):
        command = click.option(*names, **more, expose_value=False, callback=_keep)(command)
    return command


fleet_option = click.option(
    "--db",
    "fleet_read_url",
    metavar="URL",
    expose_value=False,
    callback=_keep,
    help="Read a fleet (the grades of many machines) at this URL, not at the one in the setting fleet_read_url.",
)
"""``--db``, for commands that can ask a fleet; `read_settings` knows what it says."""


def config_flag() -> str | None:
    """Return the file of settings that a flag names."""
    named: str | None = click.get_current_context().meta.get(_FLAGS, {}).get("config")
    return named


def database_of_flags() -> Path:
    """Return where the database is, without reading the other settings, which takes ten times as long.

    Raises:
        ConfigurationError: it cannot be known.
    """
    given = click.get_current_context().meta.get(_FLAGS, {})
    return database_path(given.get("db_path"), config=given.get("config"))


def is_database_named() -> bool:
    """True if a flag says which database is meant: one that a person names must be there."""
    return "db_path" in click.get_current_context().meta.get(_FLAGS, {})


def asks(command: Callable[..., Any]) -> Callable[..., Any]:
    """Hand a command what answers about the database as its argument `grader`, and add the options that say which."""

    @settings_options
    @wraps(command)
    def ask(**arguments: Any) -> Any:
        with loading():
            from grader_daemon import bootstrap  # `--help` must not wait for it
            from grader_daemon.api.grader import SelfGrader

        settings = read_settings()
        with (
            _of_this_machine(settings),
            SelfGrader(settings=settings, clock=bootstrap.utc_now) as grader,
            telling_upgrade(grader),
        ):
            return command(grader=grader, **arguments)

    return ask


@contextmanager
def _of_this_machine(settings: Settings) -> Iterator[None]:
    """Have a command that finds no database here tell that it does not ask the fleet of the settings."""
    try:
        yield
    except NoDatabaseError as error:
        if settings.fleet_read_url is None:
            raise
        name = " ".join(click.get_current_context().command_path.split()[1:])
        raise InputError(
            f"`{name}` does not read the fleet in fleet_read_url, only sessions of this machine; {error}"
        ) from error


def reads(command: Callable[..., Any]) -> Callable[..., Any]:
    """Do as `asks`, and add ``--db``, by which the grades of a fleet are asked in place of this machine's.

    Where the fleet is served, its server is asked in place of a copy.
    """

    @settings_options
    @fleet_option
    @wraps(command)
    def ask(**arguments: Any) -> Any:
        with loading():
            from grader_daemon.cli.reading import grader_of, is_served  # `--help` must not wait for it

        settings = read_settings()
        if is_served(settings):
            from grader_daemon.cli.served import ask_server

            return ask_server(settings)
        with grader_of(settings) as grader, telling_upgrade(grader):
            return command(grader=grader, **arguments)

    return ask


@contextmanager
def telling_upgrade(grader: SelfGrader) -> Iterator[None]:
    """Report at the end that the database of a command was upgraded, if it was, and how to go back."""
    try:
        yield
    finally:
        if grader.context.upgrade is not None:
            output.notice(str(grader.context.upgrade))


def read_settings(**flags: Any) -> Settings:
    """Read the settings under `flags` and what `settings_options` took, and say what is probably not meant by them.

    Raises:
        ConfigurationError: one is wrong.
    """
    settings = _used(_checked, flags)
    tell_doubts(settings)
    return settings


def tell_doubts(settings: Settings) -> None:
    """Print a warning of what is probably not meant by settings."""
    for words in (*settings.warnings, *(unknown_zone() if settings.zone is None else ())):
        output.warning(words)


def quietly_read_settings(**flags: Any) -> Settings:
    """Check and read them without a word, whatever is kept of them.

    Raises:
        ConfigurationError: one is wrong.
    """
    return _used(_read, flags)


def _used(read: Callable[[Mapping[str, Any]], Settings], flags: Mapping[str, Any]) -> Settings:
    """Read settings. From then on times are shown in the zone that is set."""
    with loading():
        from grader_daemon.cli.times import show_times_in  # `--help` must not wait for it

        settings = read(given_flags(**flags))
    show_times_in(settings.zone)
    return settings


def _checked(flags: Mapping[str, Any]) -> Settings:
    """Return the settings as they were checked before, unless the library that does so is loaded anyway."""
    from grader_daemon.kept_settings import checked_settings, is_library_loaded
    from grader_daemon.plain_settings import plain

    if is_library_loaded():
        return _read(flags)
    return cast("Settings", checked_settings(flags, lambda given: plain(_read(given))))


def _read(flags: Mapping[str, Any]) -> Settings:
    from grader_daemon.settings import load_settings

    return load_settings(**flags)  # pydantic makes its checks when they are used first


def given_flags(**flags: Any) -> dict[str, Any]:
    """Return `flags`, and what `settings_options` took, by the names of settings."""
    return {**click.get_current_context().meta.get(_FLAGS, {}), **flags}


def flags_again() -> list[str]:
    """Return the flags that `settings_options` took, as another command of ours is given them."""
    given = given_flags()
    again: list[str] = []
    for name, option in _OPTIONS.items():
        value = given.get(name, ())
        for each in value if isinstance(value, tuple) else (value,):
            again += [option, str(each)]
    return again


class Words(click.Choice[str]):
    """The type of a value of a few words: not-done, or not_done as in JSON, which is what a command is given.

    `also` are other words that mean one of the values.
    """

    def __init__(self, values: Iterable[str], *, also: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__([value.replace("_", "-") for value in values])
        self._also = {word.replace("_", "-"): value.replace("_", "-") for word, value in also.items()}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read either spelling."""
        word = str(value).replace("_", "-")
        word = self._also.get(word, word)
        near = None if word in self.choices else nearest(word, (*self.choices, *self._also))
        if near is not None:
            self.fail(f"{value!r} is not a value; did you mean {near}?", param, ctx)
        return super().convert(word, param, ctx).replace("-", "_")


class Whole(click.IntRange):
    """The type of a whole number, which is never larger than what dates and databases can hold."""

    name = "whole number"

    def __init__(self, min: int = 0, max: int = _LARGEST) -> None:  # noqa: A002  click's names
        super().__init__(min, max)

    def get_metavar(self, *_: object, **__: object) -> str:
        """Return its name in a line of help."""
        return "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a number, and refuse one beyond its range with what can be given."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a valid {self.name}", param, ctx)
        assert self.min is not None
        assert self.max is not None
        if number < self.min:
            self.fail(f"{number} is too small; give {self._describe_range()}", param, ctx)
        if number > self.max:
            self.fail(f"{number} is too large; give at most {self.max:,}", param, ctx)
        return number

    def _describe_range(self) -> str:
        """Return its range as help says it."""
        return f"{self.min} or more" if self.max == _LARGEST else f"{self.min} to {self.max}"


class Amount(click.FloatRange):
    """The type of a number above 0, whole or not: seconds, or dollars."""

    name = "number"

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number, and refuse one that is not above 0 or not finite."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            self.fail(f"{value!r} is not a number above 0; give one, such as 2.5", param, ctx)
        return number

    def _describe_range(self) -> str:
        """Return its range as help says it."""
        return "above 0"


DAYS = Whole(min=1)
"""The type of a number of days: calendar days where the person lives, up to and with today."""


def since_of(ctx: click.Context, param: click.Parameter, value: str | None) -> timedelta | datetime | None:
    """Read what ``--since`` says; `Grades.begin_of` makes a moment of it. A callback of an option."""
    from grader_daemon.domain.calendar import read_since  # `--help` must not wait for it

    try:
        return None if value is None else read_since(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def days_option(default: int, *, words: str = "Show the last DAYS days, today included.") -> Callable[..., Any]:
    """Add ``-d DAYS``, for commands about the last days; `words` are its help."""
    return click.option(
        "-d",
        "--days",
        type=DAYS,
        metavar="DAYS",
        default=default,
        show_default=True,
        help=words,
    )


def since_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-d DAYS`` and ``--since``; the command, which has a `grader`, is given the moment as `since`, or None."""

    @click.option("-d", "--days", type=DAYS, metavar="DAYS", help="Only the last DAYS days, today included.")
    @click.option(
        "--since",
        "given",
        callback=since_of,
        metavar="SINCE",
        help="Only sessions since this time: 12h, 7d, 2w or 2026-11-01.",
    )
    @wraps(command)
    def resolved(*, grader: SelfGrader, days: int | None, given: timedelta | datetime | None, **arguments: Any) -> Any:
        if days is not None and given is not None:
            raise click.UsageError("give -d or --since, not both")
        span = days if days is not None else given
        return command(grader=grader, since=None if span is None else grader.grades.begin_of(span), **arguments)

    return resolved


jobs_option = click.option(
    "--jobs",
    type=Whole(1, 64),
    help="Read files in this many processes. Default: 1; for 1,000 files or more, one per processor, up to 4.",
)
"""``--jobs``, for commands that grade many files; None is for the api to choose."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
"""``--json``, the same for every command that has it."""
