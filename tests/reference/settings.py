"""The table of settings: what each is called everywhere, what it may be, and what it is for."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from grader_daemon.cli.all_commands import program
from grader_daemon.setting_sources import ENVIRONMENT_PREFIX
from grader_daemon.settings import Settings
from tests.reference.blocks import table

_KINDS = {"Path": "a path", "float": "a number", "int": "a whole number", "str": "text", "bool": "`true` or `false`"}
_BOUNDS = (("ge", "from {}"), ("gt", "above {}"), ("le", "up to {}"), ("lt", "below {}"))


def settings_table() -> str:
    """Return one row for each setting, in their order."""
    options = _options()
    return table(
        ("setting (key of the file)", "environment", "option", "may be", "default", "meaning"),
        [
            (
                f"`{name}`",
                f"`{ENVIRONMENT_PREFIX}{name.upper()}`",
                f"`{options[name]}`" if name in options else "–",
                _kind(field),
                _default(field),
                field.description or "",
            )
            for name, field in Settings.model_fields.items()
        ],
    )


def sample(before: str) -> str:
    """Return the sample of a settings file, with the words at its head as they were `before`."""
    shown = [
        f"# {field.description}\n# {name} = {_literal(field.examples[0] if field.examples else field.default)}\n"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join([f"{before.partition(chr(10) * 2)[0]}\n", *shown])


def _options() -> dict[str, str]:
    """Find the options of `run` that are settings."""
    run = program.get_command(click.Context(program), "run") if isinstance(program, click.Group) else None
    assert run is not None
    return {str(option.name): option.opts[0] for option in run.params if option.name in Settings.model_fields}


def _kind(field: FieldInfo) -> str:
    """Say what a value may be: its type, how large, and how many."""
    return ", ".join([_type_words(field.annotation), *_bounds(field.metadata)])


def _type_words(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(annotation))
    choices = [each for each in get_args(annotation) if each not in (type(None), Ellipsis)]
    if get_origin(annotation) is tuple:
        return f"a list; each: {_type_words(choices[0])}"
    if choices:  # one that may be missing, or one with bounds of its own
        inner = ", ".join(_bounds(list(getattr(annotation, "__metadata__", ()))))
        return f"{_type_words(choices[0])}{f' {inner}' if inner else ''}"
    if annotation is SecretStr:
        return "text, never shown"
    return _KINDS[annotation.__name__]


def _bounds(metadata: list[Any]) -> list[str]:
    bounds = [each for item in metadata for each in (*getattr(item, "metadata", ()), item)]
    said = [
        words.format(f"{getattr(bound, name):,}") for bound in bounds for name, words in _BOUNDS if hasattr(bound, name)
    ]
    lengths = [(getattr(bound, "min_length", None), getattr(bound, "max_length", None)) for bound in bounds]
    return [*said, *(f"at least {least} long" for least, _ in lengths if least and least > 1)]


def _default(field: FieldInfo) -> str:
    return "none" if field.default in (None, ()) else f"`{_literal(field.default)}`"


def _literal(value: object) -> str:
    """Write a value as it stands in a settings file."""
    if isinstance(value, tuple):
        value = [str(each) if isinstance(each, Path) else each for each in value]
    literal = json.dumps(str(value) if isinstance(value, Path) else value)
    assert tomllib.loads(f"x = {literal}")
    return literal
