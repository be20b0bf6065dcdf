"""Every regular expression that the package compiles, and how it is used: found by listening, not by a list.

What is compiled while modules are imported and rules are read is found, and what sessions make it compile. The source
tells how: a name that stands only before ``.match`` or ``.fullmatch`` is tried at one place of a text.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import grader_daemon
from grader_daemon.domain import late_pattern

_DOORS = ("compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
_ANCHORED = {"match", "fullmatch"}
FOLDER = Path(grader_daemon.__file__).parent


class Found(NamedTuple):
    """A pattern of the package, where it is compiled, and by which methods it is used if it is never searched for."""

    place: str
    pattern: re.Pattern[Any]
    tried_by: frozenset[str] = frozenset()


def every_pattern() -> list[Found]:
    """Give them all, each once."""
    listener = subprocess.run([sys.executable, "-m", __name__], capture_output=True, check=True, text=True)
    return [_found(*json.loads(line)) for line in sorted(set(listener.stdout.splitlines()))]


def _found(path: str, line: int, text: str, in_bytes: bool, flags: int) -> Found:
    pattern = re.compile(text.encode("latin-1") if in_bytes else text, flags)
    place = f"{Path(path).relative_to(FOLDER)}:{line}"
    return Found(place, pattern, _how_tried(_read(Path(path)), line))


@cache
def _read(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _how_tried(module: ast.Module, line: int) -> frozenset[str]:
    for node in module.body:
        if node.lineno <= line <= (node.end_lineno or 0) and isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name):
                name = target.id
                methods = _uses(module)[name] if name.startswith("_") else _uses_everywhere(name)
                return frozenset(methods if methods <= _ANCHORED else ())
    return frozenset()


def _uses_everywhere(name: str) -> set[str]:
    return {method for path, text in _texts().items() if name in text for method in _uses(_read(path))[name]}


@cache
def _texts() -> dict[Path, str]:
    return {path: path.read_text() for path in FOLDER.rglob("*.py")}


@cache
def _uses(module: ast.Module) -> dict[str, set[str]]:
    """Give what follows each name where it is read: a method, or "" for anything else."""
    nodes = list(ast.walk(module))
    methods = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute)}
    uses: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id].add(methods.get(id(node), ""))
    return uses


# -- the listener, in a process of its own -----------------------------------------------------------------------------


def _listen_while_all_is_used() -> None:
    late_pattern.late_pattern = partial(_listen, re.compile)
    for name in _DOORS:
        setattr(re, name, partial(_listen, getattr(re, name)))
    for module in pkgutil.walk_packages(grader_daemon.__path__, "grader_daemon."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    from tests.fuzz.examine import examine
    from tests.fuzz.seeds import seeds

    for seed in seeds():
        examine(seed)


def _listen(door: Any, pattern: Any, *arguments: Any, **named: Any) -> Any:
    caller = sys._getframe(1)
    if caller.f_globals["__name__"].startswith("grader_daemon."):
        compiled = door(pattern, *arguments, **named)
        if not isinstance(compiled, re.Pattern):
            compiled = re._compile(pattern, 0)  # type: ignore[attr-defined]
        _tell(compiled, caller.f_code.co_filename, caller.f_lineno)
    return door(pattern, *arguments, **named)


def _tell(compiled: re.Pattern[Any], path: str, line: int) -> None:
    in_bytes = isinstance(compiled.pattern, bytes)
    text = compiled.pattern.decode("latin-1") if in_bytes else compiled.pattern
    flags = compiled.flags if in_bytes else compiled.flags & ~re.UNICODE
    sys.stdout.write(json.dumps([path, line, text, in_bytes, flags]) + "\n")


if __name__ == "__main__":
    _listen_while_all_is_used()
