from __future__ import annotations

import click
import pytest

from grader_daemon.cli.all_commands import program
from grader_daemon.service import UNITS, named, without_systemd


def test_each_unit_is_installed_by_a_command_and_says_by_which() -> None:
    for name in UNITS:
        _, *groups, leaf = named(name).install.split()
        command: click.Command | None = program
        for group in groups:
            assert isinstance(command, click.Group), name
            command = command.get_command(click.Context(command), group)
        assert leaf == "install"
        assert leaf in command.commands  # type: ignore[union-attr]


def test_names_of_units_and_files_are_their_own() -> None:
    files = [file for name in UNITS for file in named(name).files]

    assert len({*files}) == len(files)


def test_without_systemd_each_has_a_command_for_the_foreground() -> None:
    assert without_systemd() == (
        "run `grader-daemon run`, `dashboard`, `fleet push --follow` or `fleet serve` in the foreground"
        " or under your own supervisor"
    )


def test_a_unit_that_nobody_gives_is_no_unit() -> None:
    with pytest.raises(KeyError):
        named("nothing")
