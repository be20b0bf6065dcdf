"""The words of the command line, for completion.

A Tab reads them from `grader_daemon/cli/words.json`: importing all commands takes three times as long as a person is
willing to wait for.
"""

from __future__ import annotations

import json
from typing import Any

import click

from grader_daemon.api import filter_line
from grader_daemon.api.session_filter import ADDRESSED, FILTERS, Filter
from grader_daemon.cli.all_commands import program
from grader_daemon.cli.groups import CommandWithWays, GroupWithDefault, GroupWithWords
from grader_daemon.domain.rollup import Dimension

_ELSEWHERE = (Dimension.PROJECT, Dimension.HOST, Dimension.USER)
"""Names that the database of this machine does not have, or that are no words for a shell."""

_KINDS = {
    "session_id": "sessions",
    "issue_id": "issues",
    "number": "alerts",
    "week": "weeks",
    "error": "issues",
    "timezone": "zones",
    "line": "filters",
    **{each.name: each.takes for each in FILTERS if isinstance(each.takes, Dimension) and each.takes not in _ELSEWHERE},
}
"""What is meant by a parameter, by its name."""


def words_of(command: click.Command, parent: click.Context | None = None) -> dict[str, Any]:
    """Return the words of a command: its help, options and arguments with what they take, and commands of its own.

    An option that takes nothing has None; else a list of words, or the name of what is asked for: "file", "" for
    anything, "filters" for what stands beside all commands, or what `api.completions` knows.
    """
    ctx = click.Context(command, parent=parent, **command.context_settings)
    words: dict[str, Any] = {"help": command.get_short_help_str(100)}
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    words["options"] = {
        name: None if getattr(param, "is_flag", False) else _kind(command, param)
        for param in shown
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    }
    words["arguments"] = [_kind(command, param) for param in shown if isinstance(param, click.Argument)]
    if isinstance(command, click.Group):
        found = {name: command.get_command(ctx, name) for name in command.list_commands(ctx)}
        words["commands"] = {name: words_of(each, ctx) for name, each in found.items() if each is not None}
    if isinstance(command, CommandWithWays):
        words["ways"] = {name: words_of(command.way(name), ctx) for name in command.ways}
    if isinstance(command, GroupWithWords):
        words["arguments"] = words["commands"][command.default]["arguments"]
    if isinstance(command, GroupWithDefault):
        words["options"] |= words["commands"][command.default]["options"]
    return words


def _kind(command: click.Command, param: click.Parameter) -> list[str] | str:
    if isinstance(param.type, click.Choice):
        return [str(choice) for choice in param.type.choices]
    if isinstance(param.type, click.Path):
        return "file"
    if command.name in ("set", "unset") and param.name == "name":
        return "settings"
    return _KINDS.get(param.name or "", "")


def _taken(each: Filter) -> list[str] | str:
    if each.choices:
        return [value.replace("_", "-") for value in each.choices]
    return _KINDS.get(each.name, "")


def words_file() -> str:
    """Return what `words.json` holds: the words of all commands as they are now, and those of a line of filters."""
    names = {each.word: _taken(each) for each in ADDRESSED if not each.is_flag}
    words = {**words_of(program), "filters": {"words": filter_line.words(), "names": names}}
    return json.dumps(words, indent=1, ensure_ascii=False) + "\n"
