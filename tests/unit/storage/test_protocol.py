from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_PACKAGE = Path(__file__).parents[3] / "grader_daemon"
_STORAGE = _PACKAGE / "storage"


def asked_for() -> Iterator[str]:
    """Each method that a protocol of the store has."""
    for file in sorted((_STORAGE / "protocol").glob("*.py")):
        for part in ast.parse(file.read_text("utf-8")).body:
            if isinstance(part, ast.ClassDef):
                yield from (f"{part.name}.{each.name}" for each in part.body if isinstance(each, ast.FunctionDef))


USED = {
    node.attr
    for file in _PACKAGE.rglob("*.py")
    if _STORAGE not in file.parents
    for node in ast.walk(ast.parse(file.read_text("utf-8")))
    if isinstance(node, ast.Attribute)
}


@pytest.mark.parametrize("method", list(asked_for()))
def test_every_method_of_a_protocol_is_used(method: str) -> None:
    assert method.partition(".")[2] in USED
