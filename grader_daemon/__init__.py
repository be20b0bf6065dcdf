"""Grades the sessions of LLM agents on this machine as they finish, without calling a model.

Layers, each importing only what stands below it (checked by import-linter)::

    cli                              commands; output.py is the only file that prints
    api | daemon                     SelfGrader; watcher, debouncer, queue, worker
    bootstrap                        settings to working parts; reads the clock
    settings | log | pipeline        one file's way: read, parse, analyze, grade, save
    storage | rules                  the only SQL; the rules and their file
    parsing | analysis | grading     pure stages, each a function of values
    domain                           the nouns
    errors
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader_daemon.api.grader import SelfGrader
    from grader_daemon.api.reader import Patterns, Status
    from grader_daemon.domain.analysis import Category, Failure, SessionState
    from grader_daemon.domain.grade import Grade, Reason
    from grader_daemon.domain.session import Message, Session
    from grader_daemon.errors import GraderError
    from grader_daemon.settings import Settings

__all__ = [
    "Category",
    "Failure",
    "Grade",
    "GraderError",
    "Message",
    "Patterns",
    "Reason",
    "SelfGrader",
    "Session",
    "SessionState",
    "Settings",
    "Status",
]
__version__ = "0.1.0"

_HOMES = {
    "api.grader": ("SelfGrader",),
    "api.reader": ("Patterns", "Status"),
    "domain.analysis": ("Category", "Failure", "SessionState"),
    "domain.grade": ("Grade", "Reason"),
    "domain.session": ("Message", "Session"),
    "errors": ("GraderError",),
    "settings": ("Settings",),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `--help` need not load everything."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
