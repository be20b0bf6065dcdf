"""Change one thing of the code, and see whether its tests notice: ``python -m tests.mutants grading identity commit``.

Takes long and is run by hand. Comparisons, arithmetic, conditions, constants and returned values are changed, one at a
time, in a copy of the package, and the tests of that part run against it until one fails. What survives is printed with
its place: either a test is missing, or the change means the same.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

from grader_daemon.system.running import usable_cores

_ROOT = Path(__file__).parent.parent
_PACKAGE = "grader_daemon"
_SECONDS = 300
"""A mutant that has no end is noticed too."""

_PARTS = {
    "grading": ("grading/*.py", ("tests/unit/grading",)),
    "identity": ("domain/identity.py", ("tests/unit/domain/test_identity.py", "tests/unit/pipeline/test_commit.py")),
    "commit": ("pipeline/commit.py", ("tests/unit/pipeline",)),
}
"""Files of the package, and the tests that must notice."""

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


class Mutant(NamedTuple):
    """One change."""

    path: Path
    place: str
    source: str


def mutants(path: Path) -> Iterator[Mutant]:
    """Return each way in which a file can be changed."""
    tree = ast.parse(path.read_text("utf-8"))
    for number, node in enumerate(ast.walk(tree)):
        for changed in _changed(node):
            mutated = copy.deepcopy(tree)
            _replace(mutated, number, changed)
            told = f"{path.relative_to(_ROOT)}:{getattr(node, 'lineno', 0)}: {_told(node)}  →  {_told(changed)}"
            yield Mutant(path, told, ast.unparse(ast.fix_missing_locations(mutated)))


def _changed(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901  one case for each kind of change
    match node:
        case ast.Compare(left=left, ops=[operator, *others], comparators=right):
            yield ast.Compare(left, [_COMPARED[type(operator)](), *others], right)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _COUNTED:
            yield ast.BinOp(left, _COUNTED[type(operator)](), right)
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            yield ast.IfExp(test, otherwise, body)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))


def _replace(tree: ast.AST, number: int, changed: ast.AST) -> None:
    """Put a node in the place of the one that is found as that number."""
    target = next(node for index, node in enumerate(ast.walk(tree)) if index == number)
    target.__class__ = changed.__class__
    target.__dict__.update(copy.deepcopy(changed).__dict__)


def _told(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:90]


def survives(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Whether all tests pass against a copy of the package with this change."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        for name in (_PACKAGE, "tests", "pyproject.toml"):
            origin = _ROOT / name
            (shutil.copytree if origin.is_dir() else shutil.copy)(origin, Path(folder, name))
        Path(folder, mutant.path.relative_to(_ROOT)).write_text(mutant.source, "utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        environment = {**os.environ, "PYTHONPATH": folder, "HYPOTHESIS_PROFILE": "usual"}
        try:
            ended = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False
    return ended.returncode == 0


def main() -> int:
    """Try the mutants of some parts, and print those that nobody noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=_PARTS)
    parser.add_argument("--most", type=int, default=10_000, help="of each part, drawn by chance")
    parser.add_argument("--jobs", type=int, default=usable_cores())
    chosen = parser.parse_args()
    for part in chosen.parts:
        pattern, tests = _PARTS[part]
        made = [mutant for path in sorted((_ROOT / _PACKAGE).glob(pattern)) for mutant in mutants(path)]
        tried = Random(part).sample(made, min(chosen.most, len(made)))
        with ThreadPoolExecutor(chosen.jobs) as pool:
            unnoticed = list(pool.map(survives, tried, [tests] * len(tried)))
        survivors = [mutant for mutant, survived in zip(tried, unnoticed, strict=True) if survived]
        print(f"{part}: {len(tried)} of {len(made)} mutants tried, {len(survivors)} survive", flush=True)
        for mutant in survivors:
            print(f"  {mutant.place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
