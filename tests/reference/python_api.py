"""The lists of the Python page: the methods of `SelfGrader` and its parts, and every public name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from typing import Any

import grader_daemon
from grader_daemon.api import grader as api_grader
from grader_daemon.sources import api as sources_api
from tests.reference.blocks import table


def methods() -> str:
    """Return one row for each method, the parts one after the other."""
    rows: list[tuple[str, ...]] = [*_methods("grader", grader_daemon.SelfGrader)]
    for name, part in parts():
        rows += _methods(f"grader.{name}", part)
    return table(("call", "gives", "does"), rows)


def names() -> str:
    """Return one row for each public name."""
    found = [(name, getattr(grader_daemon, name)) for name in grader_daemon.__all__]
    return table(("name", "is"), [(f"`{name}`", _sentence(value)) for name, value in found])


def adapter_names() -> str:
    """Return one row for each name that adapters are promised, but for values that have no text of their own."""
    found = [(name, getattr(sources_api, name)) for name in sources_api.__all__]
    rows = [
        (f"`{name}`", _sentence(value)) for name, value in found if inspect.isclass(value) or inspect.isfunction(value)
    ]
    return table(("name", "is"), [row for row in rows if row[1] and row[0] != "`Stamp`"])


def parts() -> Iterator[tuple[str, Any]]:
    """Yield the name and the class of each part of `SelfGrader`."""
    for name, member in vars(grader_daemon.SelfGrader).items():
        if isinstance(member, cached_property):
            yield name, _class_named(str(member.func.__annotations__["return"]))


def _class_named(name: str) -> Any:
    """Find a class that is imported for types only."""
    module = re.search(rf"from (\S+) import (?:\w+, )*{name}\b", inspect.getsource(api_grader))
    assert module is not None
    return getattr(import_module(module[1]), name)


def _methods(prefix: str, part: Any) -> Iterator[tuple[str, str, str]]:
    for name, member in vars(part).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            signature = inspect.signature(member)
            shown = ", ".join(_parameters(signature))
            yield f"`{prefix}.{name}({shown})`", f"`{signature.return_annotation}`", _sentence(member)


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    is_keyword = False
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            yield "*"
        default = parameter.default
        yield parameter.name if default is parameter.empty else f"{parameter.name}={_default(default)}"


def _default(value: object) -> str:
    if isinstance(value, StrEnum):
        return f"{type(value).__name__}.{value.name}"
    return "…" if callable(value) else repr(value)


def _sentence(value: Any) -> str:
    """Return the first paragraph of a docstring, as one line."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
