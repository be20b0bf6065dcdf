from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[3] / "grader_daemon"


def test_the_store_can_do_nothing_that_nobody_asks_of_it() -> None:
    asked = {
        node.attr
        for file in _PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert [name for name in _can_do() if name.rpartition(".")[2] not in asked] == []


def _can_do() -> Iterator[str]:
    for file in sorted((_PACKAGE / "storage" / "sqlite").glob("*.py")):
        for part in ast.parse(file.read_text("utf-8")).body:
            if isinstance(part, ast.ClassDef):
                yield from (
                    f"{part.name}.{each.name}"
                    for each in part.body
                    if isinstance(each, ast.FunctionDef) and not each.name.startswith("__")
                )
