"""Groups of commands, and commands of which an option makes another; each is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from grader_daemon.cli import output
from grader_daemon.cli.loading import loading
from grader_daemon.setting_sources import meant
from grader_daemon.wings import CommandRow, imported

_WHOLE: Final = 1_000
"""More characters than a sentence has."""


class Group(click.Group):
    """A group of commands: of a command that is none it says which may be meant.

    Alone it shows its help, unless it has something better to do. `rows` are commands beside those that are added to
    it, by their names.
    """

    def __init__(self, *args: Any, rows: Mapping[str, CommandRow] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.rows = dict(rows or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *self.rows])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, which is imported now if it has a row."""
        return _of_row(self.rows[cmd_name]) if cmd_name in self.rows else super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line on each command; none is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._help_line(name)) for name in self.list_commands(ctx)])

    def _help_line(self, name: str) -> str:
        """Return the first sentence on a command, whole: one that is cut off says too little."""
        return self.rows[name].help_line if name in self.rows else self.commands[name].get_short_help_str(_WHOLE)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help where nothing is given."""
        if not (args or self.invoke_without_command or ctx.resilient_parsing):
            output.line(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {args[0]!r}{self.meant(ctx, args[0])}")
        return super().resolve_command(ctx, args)

    def meant(self, ctx: click.Context, word: str) -> str:
        """Return which command may be meant by a word that is none; "" if none is like it."""
        return meant(word, self.list_commands(ctx))


class GroupWithDefault(Group):
    """A group of commands that calls one of them when none is named; options then are those of this command."""

    def __init__(self, *args: Any, default: str = "list", **more: Any) -> None:
        super().__init__(*args, **more)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the default where no command is named."""
        is_help = bool(args) and args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if is_help else self.named(args))

    def named(self, words: list[str]) -> list[str]:
        """Return words with the command that they call in front."""
        return words if words and not words[0].startswith("-") else [self.default, *words]

    def default_command(self, ctx: click.Context) -> click.Command:
        """Return the command that is called when none is named."""
        command = self.get_command(ctx, self.default)
        assert command is not None
        return command


class GroupWithWords(GroupWithDefault):
    """A group whose default takes words: a first word that names no command is one of them."""

    def named(self, words: list[str]) -> list[str]:
        """Return words with the command that they call in front."""
        is_named = bool(words) and (words[0] in self.rows or words[0] in self.commands)
        return words if is_named else [self.default, *words]


class CommandWithWays(click.Command):
    """A command that an option turns into another one, with options of its own, as `grade` and `grade --again`.

    `ways` are these options. A word without a dash, such as a file, is never taken for one.
    """

    def __init__(self, *args: Any, ways: Mapping[str, CommandRow], **more: Any) -> None:
        super().__init__(*args, **more)
        self.ways = ways
        self.params += [
            click.Option([name], is_flag=True, expose_value=False, help=row.help_line) for name, row in ways.items()
        ]

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the arguments: by the way that is among them, if there is one."""
        way, others = self.way_among(args)
        if way is None:
            return super().make_context(info_name, args, parent, **extra)
        return self.way(way).make_context(f"{info_name} {way}", others, parent, **extra)

    def way_among(self, words: Sequence[str]) -> tuple[str | None, list[str]]:
        """Return the first way among words, None if there is none, and all other words; `--way=x` is one with an x."""
        for place, word in enumerate(words):
            name, equals, value = word.partition("=")
            if word == "--":
                break
            if name in self.ways:
                return name, [*words[:place], *([value] if equals else []), *words[place + 1 :]]
        return None, list(words)

    def way(self, name: str) -> click.Command:
        """Return the command of a way, which is imported now."""
        return _of_row(self.ways[name])


def _of_row(row: CommandRow) -> click.Command:
    with loading():
        command = imported(row.where)
    assert isinstance(command, click.Command)
    return command
