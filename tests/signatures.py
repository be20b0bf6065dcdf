"""What programs of others rely on: ``python -m tests.signatures`` records it anew, and the diff can be reviewed."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType

import grader_daemon
from grader_daemon.sources import api
from grader_daemon.testing import source_contract

RECORDED = Path(__file__).parent / "data" / "signatures.txt"

_BESIDE = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=\w)|'|<function | at 0x\w+>")
"""Where a class lies is no promise, and whether an annotation was a text or where a function is says nothing."""

_REFERENCE = re.compile(r"ForwardRef\('([^']*)'\)")


def signatures() -> list[str]:
    """Return each public name with what it takes, and below `SelfGrader` what it and its parts can do."""
    own = [line for name in grader_daemon.__all__ for line in _lines(name, getattr(grader_daemon, name))]
    return [*own, *_names_of(api, "sources.api"), *_names_of(source_contract, "testing.source_contract")]


def _names_of(module: ModuleType, shown: str) -> Iterator[str]:
    """Names that adapters are promised; of classes to build on, what they have too."""
    for name in module.__all__:
        value = getattr(module, name)
        if not callable(value) or value in (str, bytes):
            yield f"{shown}.{name} = {value!r}"
            continue
        yield from (f"{shown}.{line}" for line in _lines(name, value))
        if inspect.isclass(value) and not issubclass(value, enum.Enum | BaseException):
            yield from _members(f"{shown}.{name}", value)


def _lines(name: str, value: object) -> Iterator[str]:
    if value is grader_daemon.Settings:
        yield from (f"{name}.{field}" for field in grader_daemon.Settings.model_fields)
    elif not inspect.isclass(value):
        yield f"{name}{_signature(value)}"
    elif issubclass(value, enum.Enum):
        yield f"{name}: {' | '.join(str(member.value) for member in value)}"
    elif issubclass(value, BaseException):
        yield f"{name}({value.__mro__[1].__name__})"
    else:
        yield f"{name}{_signature(value)}"
        if value is grader_daemon.SelfGrader:
            yield from _members(name, value)


def _members(name: str, of: type) -> Iterator[str]:
    """Public methods, and those of the parts that it is composed of."""
    for member, value in sorted(vars(of).items()):
        if member.startswith("_"):
            continue
        if isinstance(value, cached_property):
            part = type(getattr(grader_daemon.SelfGrader(), member))
            yield f"{name}.{member}: {part.__name__}"
            yield from _members(f"{name}.{member}", part)
        elif inspect.isfunction(value):
            yield f"{name}.{member}{_signature(value)}"


def _signature(of: object) -> str:
    assert callable(of)
    parameters = inspect.signature(of).parameters.values()
    lines = [f"    {_parameter(each)}" for each in parameters if each.name != "self"]
    returned = inspect.signature(of).return_annotation
    gives = "" if returned in {None, inspect.Signature.empty} else f" -> {_BESIDE.sub('', str(returned))}"
    return "\n".join([gives, *lines])


def _parameter(parameter: inspect.Parameter) -> str:
    by_name = "* " if parameter.kind is inspect.Parameter.KEYWORD_ONLY else ""
    return by_name + _BESIDE.sub("", _REFERENCE.sub(r"\1", str(parameter)))


if __name__ == "__main__":
    RECORDED.write_text("\n".join([*signatures(), ""]), "utf-8")
