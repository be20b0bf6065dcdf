"""`Analysis` to scores: verdicts by rule, each with its reasons."""

from types import MappingProxyType

from grader_daemon.domain.session_result import EVIDENCE_SENTENCES
from grader_daemon.grading import completion_rules, scores
from grader_daemon.grading.grade_session import Grader

__all__ = ["CATALOG", "Grader"]

CATALOG = MappingProxyType(completion_rules.SENTENCES | scores.SENTENCES | EVIDENCE_SENTENCES)
"""Meaning of each rule id, in a sentence."""
