"""Words that no user should meet: a list of patterns, refused in pages, help, settings and templates.

`docs/style.md` says what to write instead. A list, no grammar: each pattern was written once, and read twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from grader_daemon.cli import program
from grader_daemon.settings import Settings
from tests.documents import PAGES, ROOT, Page

_REFUSED = re.compile(
    r"""
    (?:^|[.:;]\ |>)(?:Watched|Compared|Counted|Drawn|Kept|Shown|Told|Found|Looked\ at|Left\ out|Not\ (?:counted|read))
        \ (?:is|are|was|were)\b
    | (?:^|[.:;]\ |>)(?:In|By)\ which\b
    | \b(?:
        of\ which | with\ which | that\ no\ person | where\ they\ part | the\ judge
        | (?:gets?|got)\ over | dearest | (?:borne?|bears?)\ out
        | passed\ over | told\ (?:of|apart|nothing) | (?:be|is|are|was|were)\ told(?!\ to\b)
        | harmful\ failures? | your\ word | person's\ word | p\(done\)
    )(?!\w)
    | \bcompletes:
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)

_TEMPLATING = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)


def test_no_refused_word_reaches_a_user() -> None:
    found = [
        f"{where}: {match[0]}"
        for where, text in _texts()
        for match in _REFUSED.finditer(re.sub(r"(?<!\n)\n *(?!\n)", " ", text))
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "sentence",
    [
        "Watched are the tasks of people.",
        "All of it counts. Compared is work of the same type.",
        "Of which fleet it is a copy.",
        "Sessions of which the grader is not sure.",
        "Failures that it got over.",
        "Nothing is told of it.",
        "The rest is passed over.",
        "It stands below your word.",
    ],
)
def test_refused_sentence_is_noticed(sentence: str) -> None:
    assert _REFUSED.search(sentence)


def _texts() -> Iterator[tuple[str, str]]:
    """Yield what users read, each with where it stands."""
    pages = (*PAGES, Page(ROOT / "CHANGELOG.md"))
    yield from ((page.name, page.prose) for page in pages if page.name != "docs/style.md")
    for path in sorted((ROOT / "grader_daemon" / "dashboard" / "templates").glob("*.html")):
        yield str(path.relative_to(ROOT)), _TEMPLATING.sub("", path.read_text("utf-8"))
    yield from ((f"setting {name}", field.description or "") for name, field in Settings.model_fields.items())
    yield from _helps(program)


def _helps(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the help of a command, of its options, and of the commands below it."""
    yield f"{command.name}", command.help or ""
    yield from (
        (f"{command.name} {each.name}", each.help or "") for each in command.params if isinstance(each, click.Option)
    )
    if isinstance(command, click.Group):
        below = click.Context(command)
        for name in command.list_commands(below):
            if found := command.get_command(below, name):
                yield from _helps(found)
