"""``config``: the settings, where each comes from, and changing them.

Each command loads what it needs itself: a shell waits for `config completion` whenever it starts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from getpass import getpass
from typing import TYPE_CHECKING

import click

from grader_daemon.cli import completion, output
from grader_daemon.cli.groups import Group
from grader_daemon.cli.loading import loading
from grader_daemon.cli.options import config_flag, json_option, quietly_read_settings, read_settings, settings_options
from grader_daemon.domain.text import clean
from grader_daemon.errors import InputError
from grader_daemon.setting_sources import config_file

if TYPE_CHECKING:
    from grader_daemon.api.configuration import SettingValue, Written

_FINDINGS = 1


@click.group("config", cls=Group)
def command() -> None:
    """Show settings and where they come from, change them, and set up Tab completion."""


command.add_command(completion.command)


@command.command("show")
@settings_options
@json_option
def show(*, as_json: bool) -> None:
    """Show every setting, its value and where the value comes from. Secrets are hidden."""
    with loading():
        from grader_daemon.api.configuration import setting_values

    values = setting_values(read_settings())
    if as_json:
        output.document(settings=values)
    else:
        output.table(("setting", "value", "source"), [(each.name, _words(each), each.said_by) for each in values])


@command.command("get")
@settings_options
@click.argument("name")
@json_option
def get(*, name: str, as_json: bool) -> None:
    """Print the value of one setting, in the form `config set` accepts. A list is printed with one item per line.

    Secrets are not shown.
    """
    with loading():
        from grader_daemon.api.configuration import setting_value
        from grader_daemon.settings import is_secret

    setting = setting_value(name, read_settings())
    if as_json:
        output.document(setting)
        return
    if is_secret(name):
        raise InputError(f"{name} is a secret and not shown; grader-daemon config show says whether it is set")
    for item in setting.value if isinstance(setting.value, list) else [setting.value]:
        if item is not None:
            output.line(clean(_plain(item)))


@command.command("path")
@settings_options
@json_option
def path(*, as_json: bool) -> None:
    """Print the path of the settings file, even if there is none yet."""
    file = config_file(config_flag())
    if as_json:
        output.document(path=str(file), exists=file.is_file())
        return
    output.line(clean(str(file)))
    if not file.is_file():
        output.error("The file does not exist yet; grader-daemon config set creates it.")


@command.command("check")
@settings_options
@json_option
def check(*, as_json: bool) -> int:
    """Check all settings and the files they name. Exit code 1 if a setting is suspicious, 2 if a setting is wrong."""
    with loading():
        from grader_daemon.api.configuration import check_settings
        from grader_daemon.domain.text import count

    settings = quietly_read_settings()
    warnings = check_settings(settings)
    if as_json:
        output.document(warnings=warnings)
    else:
        for words in warnings:
            output.warning(words)
        if not warnings:
            given = count(len(settings.given.sources), "setting")
            output.line(f"No problem found: {given} changed, all others have their default.")
    return _FINDINGS if warnings else 0


@command.command("set", context_settings={"ignore_unknown_options": True})  # a value may begin with a dash
@settings_options
@click.argument("name")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@json_option
def set_(*, name: str, values: tuple[str, ...], as_json: bool) -> None:
    """Write a setting to the settings file: `config set quiet_seconds 3`, `config set watch_roots ~/a ~/b`.

    The command checks the value first, and keeps the file's comments and order. With `-` as the value, it reads the
    value from standard input and does not show what you type, so that secrets stay out of your shell's history.
    """
    with loading():
        from grader_daemon.settings import is_secret

    is_read = values == ("-",)
    _write(name, (_read_value(name),) if is_read else values, as_json=as_json)
    if is_secret(name) and not is_read:
        output.warning(f"your shell's history may keep {name}; next time: grader-daemon config set {name} -")


def _read_value(name: str) -> str:
    """Return what is typed, or comes by a pipe, without the line break behind it."""
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass(f"{name}: ")
    value = "" if sys.stdin is None else sys.stdin.read().removesuffix("\n").removesuffix("\r")
    if not value:
        raise InputError(f"standard input has no value for {name}")
    return value


@command.command("unset")
@settings_options
@click.argument("name")
@json_option
def unset(*, name: str, as_json: bool) -> None:
    """Remove a setting from the settings file, so that its default applies again."""
    _write(name, (), as_json=as_json)


def _write(name: str, values: Sequence[str], *, as_json: bool) -> None:
    """Write a setting, or remove it if it has no values, and say what was done."""
    with loading():
        from grader_daemon.api.configuration import keep_setting

    _tell(keep_setting(name, values, config=config_flag()), as_json=as_json)


def _tell(written: Written, *, as_json: bool) -> None:
    if as_json:
        output.document(written)
        return
    taken_out = "is removed" if written.was_set else "was not set"
    said = taken_out if written.literal is None else f"is set to {written.literal}"
    output.line(clean(f"{written.name} {said}, in {written.file}."))
    for words in written.warnings:
        output.warning(words)
    if written.covered_by is not None:
        output.warning(f"{written.covered_by} overrides it")
    if written.daemon is not None:
        output.line(
            f"The daemon (pid {written.daemon}) uses the old value until you reload it: kill -HUP {written.daemon}"
        )


def _words(setting: SettingValue) -> str:
    """Return a value as it is written in the file, but for quotation marks; numbers are not rounded."""
    value = setting.value
    if isinstance(value, list):
        return output.cell(", ".join(map(str, value)))
    return output.cell(_plain(value) if isinstance(value, float) else value)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
