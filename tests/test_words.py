"""Words that no user should meet: a list of patterns, refused in pages, help, settings, templates and output.

`docs/style.md` says what to write instead. A list, no grammar: each pattern was written once, and read twice.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import pytest

from grader_daemon.cli.all_commands import program
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
        | whoever | nearly\ so | (?:is|are)\ asked\ to | got\ a\ verdict | so\ that\ (?:it|they)\ holds?
        | (?:things?|which|that)\ needs?\ you | the\ previous\ one | answer\ starts\ here
        | (?:this|it)\ is\ so\ here
        | (?:is|are|was|were)\ looked\ at | tells?\ of | labels?\ given | given\ this\ week | on\ all\ days
    )(?!\w)
    | (?:^|[.:;]\ |>)(?:What\ was\ added | The\ same,\ even | Output\ format | Maximum\ number\ to)
    | (?:^|[.:;]\ |>)there\ is\ none\ yet
    | \bDefault:\ [a-z]+(?:_[a-z]+)+ | too\ few\ \(
    | \bcompletes:
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)

_PACKAGE = ROOT / "grader_daemon"
_READERS = _PACKAGE / "analysis"
"""Its strings are what people and agents write, and none that is printed."""
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
        "You see it, or the agent is asked to check.",
        "Whoever reaches it can run programs.",
        "3 in the same words, 0 nearly so",
        "3 things need you",
        "Read a fleet's grades. Default: fleet_read_url.",
        "The same, even while typing",
        "What was added since then took it back.",
        "too few (2 sessions with failures)",
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
    yield from chain.from_iterable(
        _printed(path) for path in sorted(_PACKAGE.rglob("*.py")) if _READERS not in path.parents
    )


def _printed(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the sentences in a module's code: strings with a space that are no docstring; "…" stands for values."""
    tree = ast.parse(path.read_text("utf-8"))
    left_out = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.JoinedStr):
            left_out |= set(map(id, each.values))
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in each.values)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in left_out:
            text = each.value
        else:
            continue
        if " " in text:
            yield f"{path.relative_to(ROOT)}:{each.lineno}", text


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
