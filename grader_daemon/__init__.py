"""Grades the sessions of LLM agents on this machine as they finish, without calling a model.

Each room imports only what stands below it: `docs/architecture.md` draws them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grader_daemon._version import __version__ as __version__

if TYPE_CHECKING:
    from grader_daemon.api.calibration import CalibrationState as CalibrationState
    from grader_daemon.api.documents import as_dict as as_dict
    from grader_daemon.api.documents import as_frame as as_frame
    from grader_daemon.api.explanation import Explanation as Explanation
    from grader_daemon.api.explanation import FeatureEffect as FeatureEffect
    from grader_daemon.api.forget import Fate as Fate
    from grader_daemon.api.forget import Forgotten as Forgotten
    from grader_daemon.api.grader import SelfGrader as SelfGrader
    from grader_daemon.api.grades import Child as Child
    from grader_daemon.api.grading import GradingResult as GradingResult
    from grader_daemon.api.labels import LabelledFile as LabelledFile
    from grader_daemon.api.outline import Outline as Outline
    from grader_daemon.api.overview import Overview as Overview
    from grader_daemon.api.review import ReviewAnswer as ReviewAnswer
    from grader_daemon.api.review import ReviewItem as ReviewItem
    from grader_daemon.api.said_and_happened import Happened as Happened
    from grader_daemon.api.said_and_happened import SaidAndHappened as SaidAndHappened
    from grader_daemon.api.status import Status as Status
    from grader_daemon.api.transcript import Transcript as Transcript
    from grader_daemon.domain.alert import Alert as Alert
    from grader_daemon.domain.alert import Stream as Stream
    from grader_daemon.domain.analysis import Category as Category
    from grader_daemon.domain.analysis import Failure as Failure
    from grader_daemon.domain.analysis import SessionState as SessionState
    from grader_daemon.domain.calibration import Calibration as Calibration
    from grader_daemon.domain.calibration import GraderChange as GraderChange
    from grader_daemon.domain.calibration import LevelGuess as LevelGuess
    from grader_daemon.domain.calibration import Trust as Trust
    from grader_daemon.domain.check import Check as Check
    from grader_daemon.domain.check import CheckState as CheckState
    from grader_daemon.domain.completion_model import CompletionModel as CompletionModel
    from grader_daemon.domain.difference import RegradeDiff as RegradeDiff
    from grader_daemon.domain.early import EarlyErrors as EarlyErrors
    from grader_daemon.domain.early import EarlyReason as EarlyReason
    from grader_daemon.domain.early import EarlyWorth as EarlyWorth
    from grader_daemon.domain.error_groups import ErrorIssue as ErrorIssue
    from grader_daemon.domain.error_groups import IssueState as IssueState
    from grader_daemon.domain.error_groups import StepCount as StepCount
    from grader_daemon.domain.estimate import Estimate as Estimate
    from grader_daemon.domain.estimate import Figure as Figure
    from grader_daemon.domain.feedback import AnswerEffect as AnswerEffect
    from grader_daemon.domain.feedback import Feedback as Feedback
    from grader_daemon.domain.feedback import FeedbackSource as FeedbackSource
    from grader_daemon.domain.feedback import Label as Label
    from grader_daemon.domain.feedback import Sampling as Sampling
    from grader_daemon.domain.feedback import Standing as Standing
    from grader_daemon.domain.grade import Grade as Grade
    from grader_daemon.domain.grade import Reason as Reason
    from grader_daemon.domain.insight import DayFigures as DayFigures
    from grader_daemon.domain.insight import DaySpending as DaySpending
    from grader_daemon.domain.insight import Group as Group
    from grader_daemon.domain.insight import Patterns as Patterns
    from grader_daemon.domain.insight import Spending as Spending
    from grader_daemon.domain.insight import WeeklyReport as WeeklyReport
    from grader_daemon.domain.quality import QualityCheck as QualityCheck
    from grader_daemon.domain.quality import QualityScorer as QualityScorer
    from grader_daemon.domain.rollup import Dimension as Dimension
    from grader_daemon.domain.routing import ModelDifference as ModelDifference
    from grader_daemon.domain.routing import ModelScore as ModelScore
    from grader_daemon.domain.routing import Route as Route
    from grader_daemon.domain.routing import RouteCoverage as RouteCoverage
    from grader_daemon.domain.routing import RouteReason as RouteReason
    from grader_daemon.domain.routing import TaskRoute as TaskRoute
    from grader_daemon.domain.routing import TaskWords as TaskWords
    from grader_daemon.domain.session import Message as Message
    from grader_daemon.domain.session import Session as Session
    from grader_daemon.domain.session import SessionKind as SessionKind
    from grader_daemon.domain.similar import ModelRecord as ModelRecord
    from grader_daemon.domain.similar import Similar as Similar
    from grader_daemon.domain.similar import SimilarSession as SimilarSession
    from grader_daemon.domain.similar import SkillOutcome as SkillOutcome
    from grader_daemon.domain.skills import FittingSkill as FittingSkill
    from grader_daemon.domain.skills import Lesson as Lesson
    from grader_daemon.domain.skills import SkillAdvice as SkillAdvice
    from grader_daemon.domain.skills import SkillDetail as SkillDetail
    from grader_daemon.domain.skills import SkillReason as SkillReason
    from grader_daemon.domain.skills import SkillRecord as SkillRecord
    from grader_daemon.domain.skills import Skills as Skills
    from grader_daemon.domain.skills import SkillTasks as SkillTasks
    from grader_daemon.domain.summary import Summary as Summary
    from grader_daemon.domain.unit import Found as Found
    from grader_daemon.domain.unit import Unit as Unit
    from grader_daemon.domain.usage_by_day import FailedSpending as FailedSpending
    from grader_daemon.domain.usage_by_day import UsageByDay as UsageByDay
    from grader_daemon.domain.usage_by_day import UsageDay as UsageDay
    from grader_daemon.domain.usage_by_day import UsageGroup as UsageGroup
    from grader_daemon.domain.usage_by_day import UsageSplit as UsageSplit
    from grader_daemon.domain.verdict import VerdictCounts as VerdictCounts
    from grader_daemon.errors import ConfigurationError as ConfigurationError
    from grader_daemon.errors import GraderError as GraderError
    from grader_daemon.errors import InputError as InputError
    from grader_daemon.errors import ScorerError as ScorerError
    from grader_daemon.errors import ScorerUnavailableError as ScorerUnavailableError
    from grader_daemon.errors import StoreError as StoreError
    from grader_daemon.errors import UngradableError as UngradableError
    from grader_daemon.pipeline.commit import IngestOutcome as IngestOutcome
    from grader_daemon.pipeline.commit import IngestResult as IngestResult
    from grader_daemon.settings import Settings as Settings
    from grader_daemon.storage.maintenance.backup import Backup as Backup
    from grader_daemon.storage.records import Change as Change
    from grader_daemon.storage.records import ChangeKind as ChangeKind
    from grader_daemon.storage.records import GradeFilter as GradeFilter
    from grader_daemon.storage.records import Page as Page
    from grader_daemon.storage.records import StoredGrade as StoredGrade

_HOMES = {
    "api.calibration": "CalibrationState",
    "api.explanation": "Explanation FeatureEffect",
    "api.forget": "Fate Forgotten",
    "api.grader": "SelfGrader",
    "api.grading": "GradingResult",
    "api.grades": "Child",
    "domain.summary": "Summary",
    "api.labels": "LabelledFile",
    "api.outline": "Outline",
    "api.said_and_happened": "Happened SaidAndHappened",
    "api.overview": "Overview",
    "api.review": "ReviewAnswer ReviewItem",
    "api.status": "Status",
    "api.documents": "as_dict as_frame",
    "api.transcript": "Transcript",
    "domain.alert": "Alert Stream",
    "domain.analysis": "Category Failure SessionState",
    "domain.calibration": "Calibration GraderChange LevelGuess Trust",
    "domain.check": "Check CheckState",
    "domain.completion_model": "CompletionModel",
    "domain.difference": "RegradeDiff",
    "domain.early": "EarlyErrors EarlyReason EarlyWorth",
    "domain.estimate": "Estimate Figure",
    "domain.feedback": "AnswerEffect Feedback FeedbackSource Label Sampling Standing",
    "domain.grade": "Grade Reason",
    "domain.error_groups": "ErrorIssue IssueState StepCount",
    "domain.insight": "DayFigures DaySpending Group Patterns Spending WeeklyReport",
    "domain.quality": "QualityCheck QualityScorer",
    "domain.rollup": "Dimension",
    "domain.routing": "ModelDifference ModelScore Route RouteCoverage RouteReason TaskRoute TaskWords",
    "domain.session": "Message Session SessionKind",
    "domain.similar": "ModelRecord Similar SimilarSession SkillOutcome",
    "domain.skills": "FittingSkill Lesson SkillAdvice SkillDetail SkillReason SkillRecord SkillTasks Skills",
    "domain.unit": "Found Unit",
    "domain.usage_by_day": "FailedSpending UsageByDay UsageDay UsageGroup UsageSplit",
    "domain.verdict": "VerdictCounts",
    "errors": "ConfigurationError GraderError InputError ScorerError ScorerUnavailableError StoreError UngradableError",
    "pipeline.commit": "IngestOutcome IngestResult",
    "settings": "Settings",
    "storage.maintenance.backup": "Backup",
    "storage.records": "Change ChangeKind GradeFilter Page StoredGrade",
}
"""The module of each public name: what `__getattr__` finds and the imports above tell type checkers."""

__all__ = sorted(name for names in _HOMES.values() for name in names.split())  # noqa: PLE0605  the imports above say it


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `--help` need not load everything."""
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
