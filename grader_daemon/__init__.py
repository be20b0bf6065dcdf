"""Grades the sessions of LLM agents on this machine as they finish, without calling a model.

Layers, each importing only what stands below it (checked by import-linter)::

    cli                              commands; output.py is the only file that prints
    api | daemon                     SelfGrader; watcher, debouncer, queue, worker, scheduler
    bootstrap                        settings to working parts; reads the clock
    jobs                             what is done from time to time: reports, the watch on quality, delivery
    settings | log | pipeline        one file's way: read, parse, analyze, grade, save
    storage | rules | integrations   the only SQL; the rules and their file; what is told to the outside
    sources                          where settings come from: flags, environment, file
    parsing | analysis | grading     pure stages, each a function of values
    patterns | alerts | reports      pure too: many grades in, insight out
    domain                           the nouns
    errors
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader_daemon.api.grader import SelfGrader
    from grader_daemon.api.reader import Status
    from grader_daemon.domain.alert import Alert
    from grader_daemon.domain.analysis import Category, Failure, SessionState
    from grader_daemon.domain.calibration import Calibration
    from grader_daemon.domain.check import Check, CheckState
    from grader_daemon.domain.feedback import Feedback, Label
    from grader_daemon.domain.grade import Grade, Reason
    from grader_daemon.domain.insight import ErrorIssue, Patterns, WeeklyReport
    from grader_daemon.domain.quality import QualityCheck
    from grader_daemon.domain.session import Message, Session
    from grader_daemon.errors import GraderError, ScorerError, ScorerUnavailableError
    from grader_daemon.integrations.scorers import QualityScorer
    from grader_daemon.settings import Settings

__all__ = [
    "Alert",
    "Calibration",
    "Category",
    "Check",
    "CheckState",
    "ErrorIssue",
    "Failure",
    "Feedback",
    "Grade",
    "GraderError",
    "Label",
    "Message",
    "Patterns",
    "QualityCheck",
    "QualityScorer",
    "Reason",
    "ScorerError",
    "ScorerUnavailableError",
    "SelfGrader",
    "Session",
    "SessionState",
    "Settings",
    "Status",
    "WeeklyReport",
]
__version__ = "0.1.0"

_HOMES = {
    "api.grader": ("SelfGrader",),
    "api.reader": ("Status",),
    "domain.alert": ("Alert",),
    "domain.analysis": ("Category", "Failure", "SessionState"),
    "domain.calibration": ("Calibration",),
    "domain.check": ("Check", "CheckState"),
    "domain.feedback": ("Feedback", "Label"),
    "domain.grade": ("Grade", "Reason"),
    "domain.insight": ("ErrorIssue", "Patterns", "WeeklyReport"),
    "domain.quality": ("QualityCheck",),
    "domain.session": ("Message", "Session"),
    "errors": ("GraderError", "ScorerError", "ScorerUnavailableError"),
    "integrations.scorers": ("QualityScorer",),
    "settings": ("Settings",),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `--help` need not load everything."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
