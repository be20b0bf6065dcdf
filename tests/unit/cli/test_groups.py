"""Commands that an option turns into others."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from grader_daemon.cli.groups import CommandWithWays
from grader_daemon.wings import CommandRow
from tests.unit.cli.conftest import Run


@click.command()
@click.argument("words", nargs=-1)
@click.option("--loud", is_flag=True)
def shout(*, words: tuple[str, ...], loud: bool) -> tuple[tuple[str, ...], bool]:
    """What `grade --shout` would be."""
    return words, loud


@click.command(cls=CommandWithWays, ways={"--shout": CommandRow(f"{__name__}:shout", "Shout.")})
@click.argument("words", nargs=-1)
def say(*, words: tuple[str, ...]) -> tuple[str, ...]:
    """What `grade` would be."""
    return words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["a", "shout"], ("a", "shout"), id="none"),
        pytest.param(["--shout", "a"], (("a",), False), id="first"),
        pytest.param(["a", "--loud", "--shout", "b"], (("a", "b"), True), id="among-its-options"),
        pytest.param(["--shout=a", "b"], (("a", "b"), False), id="with-its-first-argument"),
        pytest.param(["--", "--shout"], ("--shout",), id="no-option-behind-two-dashes"),
    ],
)
def test_an_option_makes_another_command(arguments: list[str], said: object) -> None:
    program = click.Group(commands={"say": say})

    assert program.main(["say", *arguments], standalone_mode=False) == said


def test_a_file_with_the_name_of_a_way_is_a_file(tmp_path: Path, run: Run) -> None:
    (tmp_path / "again").mkdir()
    (tmp_path / "archive").mkdir()

    told = json.loads(run(tmp_path, "grade", "again", "archive", "--json").stdout)

    assert [Path(each["file"]).name for each in told["errors"]] == ["again", "archive"]


def test_a_way_is_told_with_its_own_help(tmp_path: Path, run: Run) -> None:
    assert run(tmp_path, "grade", "--again", "--help").stdout.startswith(
        "Usage: grader-daemon grade --again [OPTIONS]\n"
    )


def test_the_first_sentence_on_a_command_is_never_cut(tmp_path: Path, run: Run) -> None:
    told = " ".join(run(tmp_path, "export", "scores", "--help").stdout.split())

    assert "otlp Send scores as OpenTelemetry events (gen_ai.evaluation.result) to the URL in otlp_logs_url." in told
