"""The table of events is what the code tells: the same names, levels and keys."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grader_daemon
from grader_daemon.api.permissions import Exposed
from grader_daemon.api.ungraded import UngradedAgent
from grader_daemon.daemon.scanner import ScanReport
from grader_daemon.log.events import EVENTS
from tests.tables import for_each

_LEVELS = {"debug", "info", "warning", "error", "exception"}
_NAME = re.compile(r"[a-z_]+\.[a-z_]+")
_QUOTED = re.compile(f"""["']{_NAME.pattern}["']""")
_LOGGERS_OWN = {"level", "exc_info"}
_SPREAD = {
    "agent.ungraded": set(UngradedAgent.__struct_fields__),
    "place.exposed": set(Exposed.__struct_fields__),
    "reconcile.finished": set(ScanReport.__struct_fields__) - {"folders_below"} | {"folders"},
}
"""Keys of events that are told with `**`, by the value that is spread."""


def _functions() -> Iterator[ast.AST]:
    """Yield every function of a file that may tell of something."""
    for path in Path(grader_daemon.__file__).parent.rglob("*.py"):
        source = path.read_text("utf-8")
        if _QUOTED.search(source):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield node


@cache
def _told() -> dict[str, tuple[set[str], set[str]]]:
    """Return each event that is told anywhere, with the levels and keys of all its calls."""
    found: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for function in _functions():
        literals = {
            target.id: {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Constant):
                continue
            name = call.args[0].value
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if not isinstance(name, str) or not (method in _LEVELS or name in _SPREAD) or not _NAME.fullmatch(name):
                continue
            levels, keys = found[name]
            given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
            level = given.get("level")
            levels.add(str(level.value) if isinstance(level, ast.Constant) else method.replace("exception", "error"))
            keys |= given.keys() - _LOGGERS_OWN
            for keyword in call.keywords:
                if keyword.arg is None and isinstance(keyword.value, ast.Name):
                    keys |= {str(key) for key in literals[keyword.value.id]}
    return found


def test_every_event_is_in_the_table_and_no_other() -> None:
    assert _told().keys() == EVENTS.keys()


@for_each("name", EVENTS)
def test_an_event_has_the_level_and_keys_of_its_calls(name: str) -> None:
    levels, keys = _told()[name]
    event = EVENTS[name]

    assert levels - {""} <= {event.level}
    if name == "run.finished":  # the others are what became of files, by their names
        assert keys <= set(event.keys.split())
    else:
        assert keys | _SPREAD.get(name, set()) == set(event.keys.split())


def test_each_event_says_when_it_is_told() -> None:
    assert [name for name, event in EVENTS.items() if not event.when] == []
