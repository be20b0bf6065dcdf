"""Grades the sessions of LLM agents on this machine as they finish, without calling a model.

Layers, each importing only what stands below it (checked by import-linter)::

    cli                              commands; output.py is the only file that prints
    api | daemon                     SelfGrader; watcher, debouncer, queue, worker, scheduler
    bootstrap                        settings to working parts; reads the clock
    jobs                             what is done from time to time: reports, the watch on quality, delivery
    settings | log | pipeline        one file's way: read, parse, analyze, grade, save
    storage | rules | integrations   the only SQL; the rules and their file; what is told to the outside
    sources                          where sessions lie, how they are found, read and decoded
    analysis | grading               pure stages, each a function of values
    patterns | alerts | reports      pure too: many grades in, insight out
    redaction                        what takes secrets out of text; nothing leaves without it
    domain                           the nouns
    errors
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grader_daemon._version import __version__ as __version__

if TYPE_CHECKING:
    from grader_daemon.api.calibration import CalibrationState
    from grader_daemon.api.documents import as_dict, as_frame
    from grader_daemon.api.explanation import Explanation
    from grader_daemon.api.forget import Fate, Forgotten
    from grader_daemon.api.grader import SelfGrader
    from grader_daemon.api.grading import GradingResult
    from grader_daemon.api.insight import Summary
    from grader_daemon.api.labels import LabelledFile
    from grader_daemon.api.overview import Overview
    from grader_daemon.api.review import ReviewItem
    from grader_daemon.api.status import Status
    from grader_daemon.api.transcript import Transcript
    from grader_daemon.domain.alert import Alert, Stream
    from grader_daemon.domain.analysis import Category, Failure, SessionState
    from grader_daemon.domain.calibration import Calibration, Trust
    from grader_daemon.domain.check import Check, CheckState
    from grader_daemon.domain.completion_model import CompletionModel
    from grader_daemon.domain.difference import RegradeDiff
    from grader_daemon.domain.estimate import Estimate, Figure
    from grader_daemon.domain.feedback import Feedback, FeedbackSource, Label, Sampling, Standing
    from grader_daemon.domain.grade import Grade, Reason
    from grader_daemon.domain.insight import ErrorIssue, Group, IssueState, Patterns, WeeklyReport
    from grader_daemon.domain.quality import QualityCheck
    from grader_daemon.domain.rollup import Dimension
    from grader_daemon.domain.session import Message, Session
    from grader_daemon.errors import (
        ConfigurationError,
        GraderError,
        InputError,
        ScorerError,
        ScorerUnavailableError,
        StoreError,
        UngradableError,
    )
    from grader_daemon.integrations.scorers import QualityScorer
    from grader_daemon.pipeline.commit import IngestOutcome, IngestResult
    from grader_daemon.settings import Settings
    from grader_daemon.sources.discovery import FoundFile
    from grader_daemon.storage.maintenance.backup import Backup
    from grader_daemon.storage.records import GradeFilter, Page, StoredGrade

__all__ = [
    "Alert",
    "Backup",
    "Calibration",
    "CalibrationState",
    "Category",
    "Check",
    "CheckState",
    "CompletionModel",
    "ConfigurationError",
    "Dimension",
    "ErrorIssue",
    "Estimate",
    "Explanation",
    "Failure",
    "Fate",
    "Feedback",
    "FeedbackSource",
    "Figure",
    "Forgotten",
    "FoundFile",
    "Grade",
    "GradeFilter",
    "GraderError",
    "GradingResult",
    "Group",
    "IngestOutcome",
    "IngestResult",
    "InputError",
    "IssueState",
    "Label",
    "LabelledFile",
    "Message",
    "Overview",
    "Page",
    "Patterns",
    "QualityCheck",
    "QualityScorer",
    "Reason",
    "RegradeDiff",
    "ReviewItem",
    "Sampling",
    "ScorerError",
    "ScorerUnavailableError",
    "SelfGrader",
    "Session",
    "SessionState",
    "Settings",
    "Standing",
    "Status",
    "StoreError",
    "StoredGrade",
    "Stream",
    "Summary",
    "Transcript",
    "Trust",
    "UngradableError",
    "WeeklyReport",
    "as_dict",
    "as_frame",
]


_HOMES = {
    "api.calibration": ("CalibrationState",),
    "api.explanation": ("Explanation",),
    "api.forget": ("Fate", "Forgotten"),
    "api.grader": ("SelfGrader",),
    "api.grading": ("GradingResult",),
    "api.insight": ("Summary",),
    "api.labels": ("LabelledFile",),
    "api.overview": ("Overview",),
    "api.review": ("ReviewItem",),
    "api.status": ("Status",),
    "api.documents": (
        "as_dict",
        "as_frame",
    ),
    "api.transcript": ("Transcript",),
    "domain.alert": (
        "Alert",
        "Stream",
    ),
    "domain.analysis": (
        "Category",
        "Failure",
        "SessionState",
    ),
    "domain.calibration": ("Calibration", "Trust"),
    "domain.check": (
        "Check",
        "CheckState",
    ),
    "domain.completion_model": ("CompletionModel",),
    "domain.difference": ("RegradeDiff",),
    "domain.estimate": (
        "Estimate",
        "Figure",
    ),
    "domain.feedback": (
        "Feedback",
        "FeedbackSource",
        "Label",
        "Sampling",
        "Standing",
    ),
    "domain.grade": (
        "Grade",
        "Reason",
    ),
    "domain.insight": (
        "ErrorIssue",
        "Group",
        "IssueState",
        "Patterns",
        "WeeklyReport",
    ),
    "domain.quality": ("QualityCheck",),
    "domain.rollup": ("Dimension",),
    "domain.session": (
        "Message",
        "Session",
    ),
    "errors": (
        "ConfigurationError",
        "GraderError",
        "InputError",
        "ScorerError",
        "ScorerUnavailableError",
        "StoreError",
        "UngradableError",
    ),
    "integrations.scorers": ("QualityScorer",),
    "sources.discovery": ("FoundFile",),
    "pipeline.commit": (
        "IngestOutcome",
        "IngestResult",
    ),
    "settings": ("Settings",),
    "storage.maintenance.backup": ("Backup",),
    "storage.records": (
        "GradeFilter",
        "Page",
        "StoredGrade",
    ),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `--help` need not load everything."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
