"""What is generated below docs/ is as the code has it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from grader_daemon.cli.all_commands import program
from grader_daemon.log.events import EVENTS
from tests.reference import database, log_events
from tests.reference.blocks import renewed
from tests.reference.commands import EXAMPLES
from tests.reference.database import TABLES
from tests.reference.pages import ROOT, written
from tests.tables import for_each


@for_each(("path", "text"), lambda: written().items())
def test_page_says_what_the_code_says(path: Path, text: str) -> None:
    is_fresh = path.exists() and path.read_text("utf-8") == text

    assert is_fresh, f"{path.relative_to(ROOT)} is stale; renew it: python -m tests.reference"


def test_every_table_is_explained() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", database.tables(), re.MULTILINE)

    assert listed == list(TABLES)


def test_every_command_has_an_example() -> None:
    assert EXAMPLES.keys() == {"", *program.list_commands(click.Context(program))}


@for_each("example", [example for each in EXAMPLES.values() for example in each])
def test_example_of_a_command_is_one_that_the_command_takes(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("my-rules.toml", "labels.csv", "sessions"):
        (tmp_path / name).touch()

    _read_all(program.make_context("grader-daemon", shlex.split(example)))


def _read_all(ctx: click.Context) -> None:
    """Have the commands below read their arguments too, as a call would, and run none."""
    words = [*ctx._protected_args, *ctx.args]
    if isinstance(ctx.command, click.Group) and words:
        name, command, rest = ctx.command.resolve_command(ctx, words)
        assert command is not None
        _read_all(command.make_context(name, rest, parent=ctx))


def test_every_key_of_the_log_is_explained_and_no_other() -> None:
    assert set(log_events.KEYS) == {key for event in EVENTS.values() for key in event.keys.split()}


def test_what_is_written_by_hand_stays() -> None:
    page = "one\n<!-- from the code: a (python -m x) -->\nold\n<!-- end -->\ntwo\n"

    assert renewed(page, {"a": "new"}) == "one\n<!-- from the code: a (python -m x) -->\n\nnew\n\n<!-- end -->\ntwo\n"


@pytest.mark.parametrize("blocks", [{}, {"b": ""}], ids=["none-is-made", "another-is-made"])
def test_block_that_nothing_writes_is_refused(blocks: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="blocks of the page"):
        renewed("<!-- from the code: a -->\n<!-- end -->", blocks)
