"""`Analysis` to scores: verdicts by rule, each with its reasons."""

from types import MappingProxyType

from grader_daemon.grading import completion, scores, standing
from grader_daemon.grading.grader import Grader

__all__ = ["CATALOG", "Grader"]

CATALOG = MappingProxyType(completion.SENTENCES | scores.SENTENCES | standing.SENTENCES)
"""Meaning of each rule id, in a sentence."""
